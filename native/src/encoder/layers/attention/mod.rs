//! Attention within one text.
//!
//! Queries and keys are rounded to 8 bits, values and shares to integers of up to 14, whose products add up exactly in
//! 32: four or two of them in one instruction take a quarter or half the time of single precision, and order and
//! instruction set do not matter.
//! Scores are computed transposed, 16 queries side by side in the lanes, so that the softmax needs nothing across
//! lanes. Queries carry `log2(e) / √(head size)` already.

mod mix;
mod pairs;
mod quads;
mod score;

use std::ops::Range;

use crate::encoder::buffer::Buffer;
use crate::encoder::kernel::tile::{COLUMNS, ROWS};
use crate::encoder::kernel::{LANES, Lanes, Work};
use crate::encoder::layers::even;
use mix::Mix;
use quads::Quads;
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

/// Bytes of 16 lanes: dimensions of a query that are made columns at once.
const LINE: usize = size_of::<Quads>();

/// Room for what one head takes in, and the scores of 16 queries.
#[derive(Debug)]
pub(in crate::encoder) struct Room {
    /// [tokens, 64 bytes for each two panels]; queries up to whole registers of them.
    queries: Buffer<u8>,
    keys: Buffer<u8>,
    stride: usize,
    /// Of each dimension of the keys, [panels].
    middles: Vec<[f32; COLUMNS]>,
    /// What a score's integers are worth.
    worth: f32,
    /// 16 queries as columns, [fours of dimensions].
    columns: Buffer<u8>,
    /// Two keys' values of each column, [panels, pairs of keys, 32].
    values: Buffer<i32>,
    /// The values' steps, [panels].
    steps: Vec<f32>,
    /// [keys].
    scores: Buffer<f32>,
    /// [pairs of keys].
    shares: Buffer<i32>,
}

impl Room {
    /// For texts of up to `window` tokens.
    pub fn new(heads: Heads, window: usize) -> Self {
        let panels = heads.panels();
        let stride = (panels * COLUMNS).next_multiple_of(LINE);
        Self {
            queries: Buffer::new(window.next_multiple_of(LANES) * stride),
            keys: Buffer::new(window * stride),
            stride,
            middles: vec![[0.0; COLUMNS]; panels],
            worth: 0.0,
            columns: Buffer::new(stride / 4 * LINE),
            values: Buffer::new(panels * window.div_ceil(2) * COLUMNS),
            steps: vec![0.0; panels],
            scores: Buffer::new(window * LANES),
            shares: Buffer::new(window.div_ceil(2) * LANES),
        }
    }

    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        let codes = [&self.queries, &self.keys, &self.columns].map(Buffer::bytes);
        let pairs = self.values.bytes() + self.shares.bytes();
        let few = size_of_val(self.middles.as_slice()) + size_of_val(self.steps.as_slice());
        codes.iter().sum::<usize>() + pairs + self.scores.bytes() + few
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
            self.take_queries_and_keys::<L>(head);
            self.take_values::<L>(head);
            for first in (0..self.text.len()).step_by(LANES) {
                self.turn_queries::<L>(first);
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

    /// All with one step, so that a score is a sum of integers.
    #[inline(always)]
    fn take_queries_and_keys<L: Lanes>(&mut self, head: usize) {
        let (mut size, mut span) = (L::splat(0.0), L::splat(0.0));
        for panel in 0..self.heads.panels() {
            size = size.or_size(quads::size(self.numbers(0, head, panel)));
            span = span.or_size(quads::span(self.numbers(1, head, panel), &mut self.room.middles[panel]));
        }
        let (query_step, key_step) = (quads::query_step(size), quads::key_step(span));
        self.room.worth = query_step * key_step;
        for panel in 0..self.heads.panels() {
            let (queries, keys) = (self.numbers(0, head, panel), self.numbers(1, head, panel));
            let Room { queries: query_room, keys: key_room, middles, stride, .. } = &mut *self.room;
            quads::take_queries::<L>(queries, query_step, &mut query_room[panel * COLUMNS..], *stride);
            quads::take_keys::<L>(keys, &middles[panel], key_step, &mut key_room[panel * COLUMNS..], *stride);
        }
    }

    #[inline(always)]
    fn take_values<L: Lanes>(&mut self, head: usize) {
        let pairs = self.text.len().div_ceil(2);
        for panel in 0..self.heads.panels() {
            let values = self.numbers(2, head, panel);
            let room = &mut self.room.values.as_chunks_mut().0.as_chunks_mut().0[panel * pairs..][..pairs];
            self.room.steps[panel] = pairs::take_values::<L>(values, room);
        }
    }

    /// Queries `first` to `first + 15` as columns; past the end of the text, whatever lies there.
    #[inline(always)]
    fn turn_queries<L: Lanes>(&mut self, first: usize) {
        let Room { queries, columns, stride, .. } = &mut *self.room;
        let queries = &queries[first * *stride..][..LANES * *stride];
        for (line, columns) in columns.as_chunks_mut().0.chunks_mut(LANES).enumerate() {
            let query = |lane: usize| queries[lane * *stride + line * LINE..].first_chunk().expect("a line");
            quads::turn::<L>(std::array::from_fn(query), columns);
        }
    }

    /// The scores of all keys; gives each query's largest.
    #[inline(always)]
    fn score<L: Lanes>(&mut self) -> [f32; LANES] {
        let room = &mut *self.room;
        let tokens = self.text.len();
        let fours = self.heads.panels() * COLUMNS / 4;
        let mut most = [f32::NEG_INFINITY; LANES];
        for some in even(tokens, ROWS) {
            outline_for!(L, Score, some.len(), {
                queries: &room.columns.as_chunks().0[..fours],
                keys: &room.keys[some.start * room.stride..],
                stride: room.stride,
                scores: &mut room.scores.as_chunks_mut().0[some],
                most: &mut most,
            });
        }
        most
    }

    /// Shares by scores, of which `most` are the largest; gives their sum.
    #[inline(always)]
    fn share<L: Lanes>(&mut self, most: L) -> L {
        let room = &mut *self.room;
        let scores = &room.scores.as_chunks().0[..self.text.len()];
        softmax(scores, L::splat(room.worth), most, room.shares.as_chunks_mut().0)
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

    /// What the products of shares and values are worth to each query; no number where a query or key was none.
    #[inline(always)]
    fn share_worth<L: Lanes>(&self, panel: usize, total: L) -> [f32; LANES] {
        let mut worth = [0.0; LANES];
        let step = self.room.steps[panel] + self.room.worth * 0.0;
        L::splat(step).over(total).store(&mut worth);
        worth
    }
}
