//! Queries and keys as 8-bit integers, four dimensions in the place of each lane.

use crate::encoder::kernel::curves::INTEGERS;
use crate::encoder::kernel::tile::{COLUMNS, halves, store_halves};
use crate::encoder::kernel::{LANES, Lanes};

/// Four dimensions of 16 queries.
pub(super) type Quads = [u8; 4 * LANES];

/// Largest code of queries, which have a sign.
const MOST_OF_QUERY: f32 = 127.0;

/// Codes of keys go up to this.
const MOST_OF_KEY: f32 = 254.0;

/// A step is never smaller, so that equal numbers do not divide by zero.
const LEAST_STEP: f32 = 1e-12;

/// The largest size of `queries` in each lane; no number where one of them is none.
#[inline(always)]
pub(super) fn size<L: Lanes>(queries: &[[f32; COLUMNS]]) -> L {
    let mut sizes = [L::splat(0.0); 2];
    for query in queries {
        let [low, high] = halves::<L>(query);
        sizes = [sizes[0].or_size(low), sizes[1].or_size(high)];
    }
    sizes[0].or_size(sizes[1])
}

/// The middle of each dimension of `keys`, and the widest span in each lane; no number where one of them is none.
#[inline(always)]
pub(super) fn span<L: Lanes>(keys: &[[f32; COLUMNS]], middle: &mut [f32; COLUMNS]) -> L {
    let (mut low, mut high) = ([L::splat(f32::INFINITY); 2], [L::splat(f32::NEG_INFINITY); 2]);
    let mut doubt = [L::splat(0.0); 2];
    for key in keys {
        let key = halves::<L>(key);
        low = [key[0].or_less(low[0]), key[1].or_less(low[1])];
        high = [key[0].or_more(high[0]), key[1].or_more(high[1])];
        doubt = [key[0].times_plus(L::splat(0.0), doubt[0]), key[1].times_plus(L::splat(0.0), doubt[1])];
    }
    let half = L::splat(0.5);
    store_halves([low[0].plus(high[0]).times(half), low[1].plus(high[1]).times(half)], middle);
    let spans = [high[0].minus(low[0]).plus(doubt[0]), high[1].minus(low[1]).plus(doubt[1])];
    L::splat(0.0).or_size(spans[0]).or_size(spans[1])
}

/// The step between codes of queries of some size.
#[inline(always)]
pub(super) fn query_step<L: Lanes>(size: L) -> f32 {
    step(size.highest(), MOST_OF_QUERY)
}

/// The step between codes of keys of some span.
#[inline(always)]
pub(super) fn key_step<L: Lanes>(span: L) -> f32 {
    step(span.highest(), MOST_OF_KEY)
}

fn step(range: f32, most: f32) -> f32 {
    if range.is_finite() { (range / most).max(LEAST_STEP) } else { f32::NAN }
}

/// Rounds queries, `stride` bytes apart, to codes with a sign.
#[inline(always)]
pub(super) fn take_queries<L: Lanes>(queries: &[[f32; COLUMNS]], step: f32, room: &mut [u8], stride: usize) {
    take(queries, [L::splat(0.0); 2], step, L::splat(INTEGERS), room, stride);
}

/// Rounds keys, `stride` bytes apart, less the middle of each dimension.
#[inline(always)]
pub(super) fn take_keys<L: Lanes>(
    keys: &[[f32; COLUMNS]],
    middle: &[f32; COLUMNS],
    step: f32,
    room: &mut [u8],
    stride: usize,
) {
    take(keys, halves::<L>(middle), step, L::splat(INTEGERS + MOST_OF_KEY / 2.0), room, stride);
}

#[inline(always)]
fn take<L: Lanes>(numbers: &[[f32; COLUMNS]], zero: [L; 2], step: f32, base: L, room: &mut [u8], stride: usize) {
    let factor = L::splat(1.0 / step);
    for (number, room) in numbers.iter().zip(room.chunks_mut(stride)) {
        let [low, high] = halves::<L>(number);
        let [low_room, high_room] = room[..COLUMNS].as_chunks_mut().0 else {
            unreachable!("32 codes are two registers")
        };
        low.minus(zero[0]).times_plus(factor, base).store_codes(low_room);
        high.minus(zero[1]).times_plus(factor, base).store_codes(high_room);
    }
}

/// Makes 16 queries, of 64 dimensions each, columns.
#[inline(always)]
pub(super) fn turn<L: Lanes>(queries: [&Quads; LANES], room: &mut [Quads]) {
    for (quads, room) in L::turn(queries.map(|query| L::quads(query))).into_iter().zip(room) {
        L::store_quads(quads, room);
    }
}
