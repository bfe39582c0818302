//! Attention within one text.
//!
//! Queries, keys, values and shares are rounded to integers of up to 14 bits, whose products add up exactly in 32: two
//! of them in one instruction take half the time of single precision, and order and instruction set do not matter.
//! Scores are computed transposed, 16 queries side by side in the lanes, so that the softmax needs nothing across
//! lanes. Queries carry `log2(e) / √(head size)` already.

mod mix;
mod pairs;
mod score;

use std::ops::Range;

use crate::encoder::buffer::Buffer;
use crate::encoder::kernel::tile::{COLUMNS, ROWS};
use crate::encoder::kernel::{LANES, Lanes, Pairs, Work};
use crate::encoder::layers::even;
use mix::Mix;
use score::{Score, softmax};

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

/// Room for the keys and values of one head, and the scores of 16 queries.
#[derive(Debug)]
pub(in crate::encoder) struct Room {
    /// Dimensions `d` and `d + 16` of each key, [panels, keys, 16].
    keys: Buffer<i32>,
    /// Two keys' values of each column, [panels, pairs of keys, 32].
    values: Buffer<i32>,
    /// Queries as columns, dimensions as in `keys`, [panels, 16].
    queries: Buffer<i32>,
    /// What a score's integers are worth to each query, [panels].
    worths: Buffer<f32>,
    /// [keys].
    scores: Buffer<f32>,
    /// [pairs of keys].
    shares: Buffer<i32>,
    /// The keys' and the values' steps, [panels].
    steps: Vec<[f32; 2]>,
}

impl Room {
    /// For texts of up to `window` tokens.
    pub fn new(heads: Heads, window: usize) -> Self {
        let panels = heads.panels();
        Self {
            keys: Buffer::new(panels * window * LANES),
            values: Buffer::new(panels * window.div_ceil(2) * COLUMNS),
            queries: Buffer::new(panels * LANES * LANES),
            worths: Buffer::new(panels * LANES),
            scores: Buffer::new(window * LANES),
            shares: Buffer::new(window.div_ceil(2) * LANES),
            steps: vec![[0.0; 2]; panels],
        }
    }

    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        let pairs = [&self.keys, &self.values, &self.queries, &self.shares].map(Buffer::bytes);
        pairs.iter().sum::<usize>() + self.worths.bytes() + self.scores.bytes() + size_of_val(self.steps.as_slice())
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
            self.take_keys_and_values::<L>(head);
            for first in (0..self.text.len()).step_by(LANES) {
                self.turn_queries::<L>(head, first);
                let most = self.score::<L>();
                let total = self.share(L::load(&most));
                self.mix::<L>(head, first, total);
            }
        }
    }
}

impl<'a> Attend<'a> {
    /// The text's queries (`part` 0), keys (1) or values (2) in one panel of a head.
    #[inline(always)]
    fn numbers(&self, part: usize, head: usize, panel: usize) -> &'a [[f32; COLUMNS]] {
        let number = (part * self.heads.count + head) * self.heads.panels() + panel;
        &self.panels[number * self.rows..][self.text.clone()]
    }

    #[inline(always)]
    fn take_keys_and_values<L: Lanes>(&mut self, head: usize) {
        let tokens = self.text.len();
        for panel in 0..self.heads.panels() {
            let (keys, values) = (self.numbers(1, head, panel), self.numbers(2, head, panel));
            let room = &mut *self.room;
            let key_room = &mut room.keys.as_chunks_mut().0[panel * tokens..][..tokens];
            let pairs = tokens.div_ceil(2);
            let value_room = &mut room.values.as_chunks_mut().0.as_chunks_mut().0[panel * pairs..][..pairs];
            room.steps[panel] = [pairs::take_keys::<L>(keys, key_room), pairs::take_values::<L>(values, value_room)];
        }
    }

    /// Queries `first` to `first + 15` as columns; past the end of the text the last one again.
    #[inline(always)]
    fn turn_queries<L: Lanes>(&mut self, head: usize, first: usize) {
        for panel in 0..self.heads.panels() {
            let queries = self.numbers(0, head, panel);
            let last = queries.len() - 1;
            let rows = std::array::from_fn(|lane| &queries[(first + lane).min(last)]);
            let room = &mut self.room.queries.as_chunks_mut().0[panel * LANES..];
            let step = pairs::turn_queries::<L>(rows, room.first_chunk_mut().expect("room for each panel"));
            let worth = step.times(L::splat(self.room.steps[panel][0]));
            worth.store(&mut self.room.worths.as_chunks_mut().0[panel]);
        }
    }

    /// The scores of all keys; gives each query's largest.
    #[inline(always)]
    fn score<L: Lanes>(&mut self) -> [f32; LANES] {
        let room = &mut *self.room;
        let tokens = self.text.len();
        let (keys, scores): (&[Pairs], &mut [[f32; LANES]]) = (room.keys.as_chunks().0, room.scores.as_chunks_mut().0);
        let mut most = [f32::NEG_INFINITY; LANES];
        for some in even(tokens, ROWS) {
            outline_for!(L, Score, some.len(), {
                queries: room.queries.as_chunks().0.as_chunks().0,
                worths: room.worths.as_chunks().0,
                keys: &keys[some.start..],
                tokens,
                scores: &mut scores[some],
                most: &mut most,
            });
        }
        most
    }

    /// Shares by scores, of which `most` are the largest; gives their sum.
    #[inline(always)]
    fn share<L: Lanes>(&mut self, most: L) -> L {
        let scores = &self.room.scores.as_chunks().0[..self.text.len()];
        softmax(scores, most, self.room.shares.as_chunks_mut().0)
    }

    /// The values of all keys by their shares, which come to `total`, for queries from `first` on.
    #[inline(always)]
    fn mix<L: Lanes>(&mut self, head: usize, first: usize, total: L) {
        let queries = LANES.min(self.text.len() - first);
        let pairs = self.text.len().div_ceil(2);
        for panel in 0..self.heads.panels() {
            let worth = self.share_worth(panel, total);
            let column = head * self.heads.size + panel * COLUMNS;
            for lanes in even(queries, ROWS) {
                let start = (self.text.start + first + lanes.start) * self.stride + column;
                outline_for!(L, Mix, lanes.len(), {
                    shares: &self.room.shares.as_chunks().0[..pairs],
                    lane: lanes.start,
                    worth: &worth,
                    values: &self.room.values.as_chunks().0.as_chunks().0[panel * pairs..][..pairs],
                    mixed: &mut self.mixed[start..],
                    stride: self.stride,
                });
            }
        }
    }

    /// What the products of shares and values are worth to each query; no number where a query or key had one.
    #[inline(always)]
    fn share_worth<L: Lanes>(&self, panel: usize, total: L) -> [f32; LANES] {
        let mut doubt = L::splat(0.0);
        for worth in &self.room.worths.as_chunks().0[..self.heads.panels()] {
            doubt = L::load(worth).times_plus(L::splat(0.0), doubt);
        }
        let mut worth = [0.0; LANES];
        L::splat(self.room.steps[panel][1]).over(total).plus(doubt).store(&mut worth);
        worth
    }
}
