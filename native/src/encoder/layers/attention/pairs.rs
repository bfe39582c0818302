//! Queries, keys and values as 16-bit integers, two in the place of each lane.

use crate::encoder::kernel::tile::{COLUMNS, halves};
use crate::encoder::kernel::{LANES, Lanes, Pairs};

/// Largest code of queries and keys: the products of a panel's 32 dimensions come to less than 2³¹.
const MOST_OF_KEY: f32 = 8191.0;

/// Largest code of values: the products of [`super::mix::KEYS`] of them with shares come to less than 2³¹.
const MOST_OF_VALUE: f32 = 2047.0;

/// A step is never smaller, so that zeros do not divide by zero.
const LEAST_STEP: f32 = 1e-12;

/// Rounds keys, dimension `d` beside `d + 16`; gives the step between codes.
#[inline(always)]
pub(super) fn take_keys<L: Lanes>(keys: &[[f32; COLUMNS]], room: &mut [Pairs]) -> f32 {
    let step = step::<L>(keys, MOST_OF_KEY);
    let inverse = L::splat(1.0 / step);
    for (key, room) in keys.iter().zip(room) {
        let [low, high] = halves::<L>(key);
        L::store_pairs(L::pairs(low.times(inverse), high.times(inverse)), room);
    }
    step
}

/// Rounds values, each key's beside those of the next; gives the step between codes.
#[inline(always)]
pub(super) fn take_values<L: Lanes>(values: &[[f32; COLUMNS]], room: &mut [[Pairs; 2]]) -> f32 {
    let step = step::<L>(values, MOST_OF_VALUE);
    let inverse = L::splat(1.0 / step);
    let (pairs, last) = values.as_chunks();
    for ([even, odd], room) in pairs.iter().zip(&mut *room) {
        store_beside(halves::<L>(even), halves(odd), inverse, room);
    }
    if let ([even], Some(room)) = (last, room.last_mut()) {
        store_beside(halves::<L>(even), [L::splat(0.0); 2], inverse, room);
    }
    step
}

#[inline(always)]
fn store_beside<L: Lanes>(even: [L; 2], odd: [L; 2], inverse: L, room: &mut [Pairs; 2]) {
    for (half, room) in room.iter_mut().enumerate() {
        L::store_pairs(L::pairs(even[half].times(inverse), odd[half].times(inverse)), room);
    }
}

/// The step by which the largest of all numbers has the code `most`; none where one of them is not finite.
#[inline(always)]
fn step<L: Lanes>(numbers: &[[f32; COLUMNS]], most: f32) -> f32 {
    let mut sizes = [L::splat(0.0); 2];
    for number in numbers {
        let [low, high] = halves::<L>(number);
        sizes = [sizes[0].or_size(low), sizes[1].or_size(high)];
    }
    let size = sizes[0].or_size(sizes[1]);
    (size.most() / most).max(LEAST_STEP) + size.minus(size).total()
}

/// Rounds 16 queries and makes them columns, dimension `d` beside `d + 16`; gives each one's step between codes.
#[inline(always)]
pub(super) fn turn_queries<L: Lanes>(queries: [&[f32; COLUMNS]; LANES], room: &mut [Pairs; LANES]) -> L {
    let low = L::transpose(queries.map(|query| halves::<L>(query)[0]));
    let high = L::transpose(queries.map(|query| halves::<L>(query)[1]));
    let mut size = L::splat(0.0);
    for (low, high) in low.into_iter().zip(high) {
        size = size.or_size(low).or_size(high);
    }
    let step = L::splat(LEAST_STEP).or_more(size.times(L::splat(1.0 / MOST_OF_KEY)));
    let inverse = L::splat(1.0).over(step);
    for ((low, high), room) in low.into_iter().zip(high).zip(room) {
        L::store_pairs(L::pairs(low.times(inverse), high.times(inverse)), room);
    }
    step
}
