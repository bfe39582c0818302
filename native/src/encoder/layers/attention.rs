//! Attention within one text, in single precision.
//!
//! Scores are computed transposed, 16 queries side by side in the lanes, so that the softmax needs nothing across
//! lanes. Queries carry `log2(e) / √(head size)` already.

use std::ops::Range;

use crate::encoder::buffer::Buffer;
use crate::encoder::kernel::curves::exp2;
use crate::encoder::kernel::tile::{COLUMNS, ROWS, for_each_row, halves, store_halves};
use crate::encoder::kernel::{LANES, Lanes, Work};
use crate::encoder::layers::even;

/// Runs a piece of work that is compiled for each number of rows up to [`ROWS`], all of which stay in registers.
macro_rules! outline_for {
    ($lanes:ty, $work:ident, $rows:expr, $fields:tt) => {
        outline_for!($lanes, $work, $rows, $fields, 1 2 3 4 5 6 7 8 9 10 11 12 13 14)
    };
    ($lanes:ty, $work:ident, $rows:expr, $fields:tt, $($size:literal)*) => {
        match $rows {
            $($size => <$lanes>::outline($work::<$size> $fields),)*
            _ => unreachable!("at most {ROWS} rows at once"),
        }
    };
}

/// How a layer's outputs fall into heads.
#[derive(Debug, Clone, Copy)]
pub(in crate::encoder) struct Heads {
    pub count: usize,
    /// Dimensions of each.
    pub size: usize,
}

impl Heads {
    /// Panels that each head's queries, keys or values take; the last one is padded with zeros.
    pub const fn panels(self) -> usize {
        self.size.div_ceil(COLUMNS)
    }
}

/// Room for the scores of 16 queries.
#[derive(Debug)]
pub(in crate::encoder) struct Room {
    /// Queries as columns, [dimensions of a head].
    queries: Buffer<f32>,
    /// Scores, then shares, [keys].
    shares: Buffer<f32>,
}

impl Room {
    /// For texts of up to `window` tokens.
    pub fn new(heads: Heads, window: usize) -> Self {
        Self { queries: Buffer::new(heads.panels() * COLUMNS * LANES), shares: Buffer::new(window * LANES) }
    }

    /// Queries as columns, and the shares of all keys.
    fn registers(&mut self) -> (&mut [[f32; LANES]], &mut [[f32; LANES]]) {
        (self.queries.as_chunks_mut().0, self.shares.as_chunks_mut().0)
    }

    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        self.queries.bytes() + self.shares.bytes()
    }
}

/// Mixes a text's values by its queries and keys.
pub(in crate::encoder) struct Attend<'a> {
    pub heads: Heads,
    /// Queries, keys and values of all tokens, [3, heads, panels, rows].
    pub panels: &'a [[f32; COLUMNS]],
    pub rows: usize,
    /// The text's rows.
    pub text: Range<usize>,
    /// What comes out, [rows, stride]: heads side by side, and after the last one room for what pads its panel.
    pub mixed: &'a mut [f32],
    pub stride: usize,
    pub room: &'a mut Room,
}

impl Work for Attend<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(mut self) {
        for head in 0..self.heads.count {
            for first in (0..self.text.len()).step_by(LANES) {
                self.turn_queries::<L>(head, first);
                let most = self.score::<L>(head);
                let inverse = softmax(&mut self.room.registers().1[..self.text.len()], L::load(&most));
                self.mix::<L>(head, first, &inverse);
            }
        }
    }
}

impl Attend<'_> {
    /// Queries `first` to `first + 15` as columns; past the end of the text the last one again.
    #[inline(always)]
    fn turn_queries<L: Lanes>(&mut self, head: usize, first: usize) {
        for panel in 0..self.heads.panels() {
            let number = head * self.heads.panels() + panel;
            let queries = &self.panels[number * self.rows..][self.text.clone()];
            let room = &mut self.room.queries.as_chunks_mut().0[panel * COLUMNS..][..COLUMNS];
            for (half, columns) in room.chunks_exact_mut(LANES).enumerate() {
                let last = queries.len() - 1;
                let turned = L::transpose(std::array::from_fn(|lane| {
                    L::load(&queries[(first + lane).min(last)].as_chunks().0[half])
                }));
                for (column, register) in columns.iter_mut().zip(turned) {
                    register.store(column);
                }
            }
        }
    }

    /// The scores of all keys; gives each query's largest.
    #[inline(always)]
    fn score<L: Lanes>(&mut self, head: usize) -> [f32; LANES] {
        let start = (self.heads.count + head) * self.heads.panels() * self.rows + self.text.start;
        let (queries, shares) = self.room.registers();
        let mut most = [f32::NEG_INFINITY; LANES];
        for keys in even(self.text.len(), ROWS) {
            outline_for!(L, Score, keys.len(), {
                queries: &*queries,
                keys: &self.panels[start + keys.start..],
                rows: self.rows,
                scores: &mut shares[keys],
                most: &mut most,
            });
        }
        most
    }

    /// The values of all keys by their shares, for queries from `first` on.
    #[inline(always)]
    fn mix<L: Lanes>(&mut self, head: usize, first: usize, inverse: &[f32; LANES]) {
        let queries = LANES.min(self.text.len() - first);
        let shares = &self.room.registers().1[..self.text.len()];
        for panel in 0..self.heads.panels() {
            let column = head * self.heads.size + panel * COLUMNS;
            for lanes in even(queries, ROWS) {
                let start = (self.text.start + first + lanes.start) * self.stride + column;
                let number = (2 * self.heads.count + head) * self.heads.panels() + panel;
                outline_for!(L, Mix, lanes.len(), {
                    shares,
                    lane: lanes.start,
                    inverse,
                    values: &self.panels[number * self.rows..][self.text.clone()],
                    mixed: &mut self.mixed[start..],
                    stride: self.stride,
                });
            }
        }
    }
}

/// The scores of `N` keys.
struct Score<'a, const N: usize> {
    queries: &'a [[f32; LANES]],
    /// From the first key on, [panels, rows].
    keys: &'a [[f32; COLUMNS]],
    rows: usize,
    scores: &'a mut [[f32; LANES]],
    /// The largest so far.
    most: &'a mut [f32; LANES],
}

impl<const N: usize> Work for Score<'_, N> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        let mut scores = [L::splat(0.0); N];
        let queries: &[[[f32; LANES]; COLUMNS]] = self.queries.as_chunks().0;
        for (panel, queries) in queries.iter().enumerate() {
            let keys: &[[f32; COLUMNS]; N] = self.keys[panel * self.rows..].first_chunk().expect("keys of each panel");
            for (dimension, query) in queries.iter().enumerate() {
                let query = L::load(query);
                for (score, key) in scores.iter_mut().zip(keys) {
                    *score = query.times_plus(L::splat(key[dimension]), *score);
                }
            }
        }
        let mut most = L::load(self.most);
        for_each_row!(N, row => {
            scores[row].store(&mut self.scores[row]);
            most = scores[row].or_more(most);
        });
        most.store(self.most);
    }
}

/// Powers of two by their scores, less the largest, and one over their sum.
#[inline(always)]
fn softmax<L: Lanes>(scores: &mut [[f32; LANES]], most: L) -> [f32; LANES] {
    let mut sum = L::splat(0.0);
    for score in scores {
        let share = exp2(L::load(score).minus(most));
        sum = sum.plus(share);
        share.store(score);
    }
    let mut inverse = [0.0; LANES];
    L::splat(1.0).over(sum).store(&mut inverse);
    inverse
}

/// What `N` queries make of one panel of values.
struct Mix<'a, const N: usize> {
    shares: &'a [[f32; LANES]],
    /// The first query's lane.
    lane: usize,
    inverse: &'a [f32; LANES],
    values: &'a [[f32; COLUMNS]],
    mixed: &'a mut [f32],
    stride: usize,
}

impl<const N: usize> Work for Mix<'_, N> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        let mut sums = [[L::splat(0.0); 2]; N];
        for (shares, value) in self.shares.iter().zip(self.values) {
            let [low, high] = halves::<L>(value);
            let shares: &[f32; N] = shares[self.lane..].first_chunk().expect("a share for each query");
            for (sums, &share) in sums.iter_mut().zip(shares) {
                let share = L::splat(share);
                *sums = [share.times_plus(low, sums[0]), share.times_plus(high, sums[1])];
            }
        }
        for_each_row!(N, row => {
            let inverse = L::splat(self.inverse[self.lane + row]);
            let place = self.mixed[row * self.stride..].first_chunk_mut::<COLUMNS>().expect("room for each query");
            store_halves([sums[row][0].times(inverse), sums[row][1].times(inverse)], place);
        });
    }
}
