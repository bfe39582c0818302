//! One pass over a chunk of whole texts.

use std::ops::Range;

use crate::encoder::kernel::tile::{COLUMNS, ROWS};
use crate::encoder::kernel::{Lanes, Work};
use crate::encoder::layers::attention::Attend;
use crate::encoder::layers::codes::{GeluRows, RoundRows};
use crate::encoder::layers::embedding::Embed;
use crate::encoder::layers::even;
use crate::encoder::layers::linear::{ByPanel, ByRow, Residual};
use crate::encoder::layers::norm::{Norm, NormRows};
use crate::encoder::layers::pooling::{Pool, Pooling};
use crate::encoder::model::{Layer, Model};
use crate::encoder::scratch::Scratch;

/// Texts share a pass up to this many tokens; a longer one has a pass of its own. Each pass reads all weights.
pub(super) const CHUNK: usize = 16 * ROWS;

/// Rows that go through the feed-forward step together, so that what is inside of it stays near the second-level cache.
pub(super) const BLOCK: usize = 8 * ROWS;

/// The vectors of some texts, [texts, dimensions]. No text is empty or longer than the window, no id is unknown, and
/// together they have [`CHUNK`] tokens at most, or there is only one.
pub(super) struct Forward<'a> {
    pub model: &'a Model,
    pub pooling: Pooling,
    pub texts: &'a [&'a [u32]],
    pub scratch: &'a mut Scratch,
    pub vectors: &'a mut [f32],
}

impl Work for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        let Self { model, pooling, texts, scratch, vectors } = self;
        let mut pass = Pass { model, texts, scratch, rows: texts.iter().map(|text| text.len()).sum() };
        pass.embed::<L>();
        for layer in &model.layers {
            pass.attend::<L>(layer);
            for block in even(pass.rows, BLOCK) {
                pass.feed::<L>(layer, block);
            }
        }
        pass.pool::<L>(pooling, vectors);
    }
}

struct Pass<'a> {
    model: &'a Model,
    texts: &'a [&'a [u32]],
    scratch: &'a mut Scratch,
    /// Tokens in all.
    rows: usize,
}

/// The rows of each text.
fn places<'a>(texts: &'a [&'a [u32]]) -> impl Iterator<Item = Range<usize>> + 'a {
    texts.iter().scan(0, |start, text| {
        let rows = *start..*start + text.len();
        *start = rows.end;
        Some(rows)
    })
}

impl Pass<'_> {
    /// Panels of a hidden row.
    fn panels(&self) -> usize {
        self.scratch.row.len() / COLUMNS
    }

    #[inline(always)]
    fn embed<L: Lanes>(&mut self) {
        let stride = self.panels() * COLUMNS;
        for (text, rows) in self.texts.iter().zip(places(self.texts)) {
            let hidden = &mut self.scratch.hidden[rows.start * stride..rows.end * stride];
            let (words, positions) = (&self.model.words, &self.model.positions);
            L::outline(Embed { words, positions, text, hidden, stride });
        }
        self.norm::<L>(&self.model.norm, 0..self.rows);
    }

    #[inline(always)]
    fn norm<L: Lanes>(&mut self, norm: &Norm, rows: Range<usize>) {
        let stride = self.panels() * COLUMNS;
        let Scratch { hidden, codes, row, .. } = self.scratch;
        let hidden = &mut hidden[rows.start * stride..rows.end * stride];
        L::outline(NormRows { norm, hidden, stride, codes, first: rows.start, onward: row.as_chunks_mut().0 });
    }

    /// From the codes of all rows to those of what attention makes of them.
    #[inline(always)]
    fn attend<L: Lanes>(&mut self, layer: &Layer) {
        let (rows, sizes) = (self.rows, &self.model.sizes);
        let Scratch { codes, qkv, mixed, mixed_stride: stride, room, .. } = &mut *self.scratch;
        layer.qkv.apply::<L>(codes, 0..rows, &mut ByPanel { outputs: qkv.as_chunks_mut().0, rows });
        let panels = qkv.as_chunks().0;
        for text in places(self.texts) {
            L::outline(Attend { heads: sizes.heads, panels, rows, text, mixed, stride: *stride, room });
        }
        let numbers = &mixed[..rows * *stride];
        L::outline(RoundRows { numbers, stride: *stride, width: sizes.dimensions, codes });
    }

    /// The rest of a layer, for one block of rows.
    #[inline(always)]
    fn feed<L: Lanes>(&mut self, layer: &Layer, block: Range<usize>) {
        self.residual::<L>(layer, block.clone());
        self.norm::<L>(&layer.attention_norm, block.clone());
        self.widen::<L>(layer, block.clone());
        self.narrow::<L>(layer, block.clone());
        self.norm::<L>(&layer.feed_norm, block);
    }

    #[inline(always)]
    fn residual<L: Lanes>(&mut self, layer: &Layer, block: Range<usize>) {
        let panels = self.panels();
        let Scratch { hidden, codes, .. } = &mut *self.scratch;
        let hidden = &mut hidden.as_chunks_mut().0[block.start * panels..];
        layer.attention_out.apply::<L>(codes, block, &mut Residual { hidden, panels });
    }

    #[inline(always)]
    fn widen<L: Lanes>(&mut self, layer: &Layer, block: Range<usize>) {
        let rows = block.len();
        let Scratch { codes, wide, wide_stride: stride, wide_codes, .. } = &mut *self.scratch;
        layer.feed_in.apply::<L>(
            codes,
            block,
            &mut ByRow { outputs: wide.as_chunks_mut().0, stride: *stride / COLUMNS },
        );
        let (numbers, width) = (&mut wide[..rows * *stride], layer.feed_in.panels() * COLUMNS);
        L::outline(GeluRows { numbers, stride: *stride, width, codes: wide_codes });
    }

    #[inline(always)]
    fn narrow<L: Lanes>(&mut self, layer: &Layer, block: Range<usize>) {
        let panels = self.panels();
        let Scratch { hidden, wide_codes, .. } = &mut *self.scratch;
        let hidden = &mut hidden.as_chunks_mut().0[block.start * panels..];
        layer.feed_out.apply::<L>(wide_codes, 0..block.len(), &mut Residual { hidden, panels });
    }

    #[inline(always)]
    fn pool<L: Lanes>(&mut self, pooling: Pooling, vectors: &mut [f32]) {
        let (stride, dimensions) = (self.panels() * COLUMNS, self.model.sizes.dimensions);
        let Scratch { hidden, row: sums, .. } = &mut *self.scratch;
        for (rows, vector) in places(self.texts).zip(vectors.chunks_exact_mut(dimensions)) {
            let hidden = &hidden[rows.start * stride..rows.end * stride];
            L::outline(Pool { pooling, hidden, stride, vector, sums: sums.as_chunks_mut().0 });
        }
    }
}
