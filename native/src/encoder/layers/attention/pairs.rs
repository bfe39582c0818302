//! Values as 16-bit integers, two in the place of each lane.

use crate::encoder::kernel::tile::{COLUMNS, halves};
use crate::encoder::kernel::{Lanes, Pairs};
use crate::encoder::layers::attention::quads::size;

/// Largest code of values: the products of [`super::mix::KEYS`] of them with shares come to less than 2³¹.
const MOST_OF_VALUE: f32 = 2047.0;

/// A step is never smaller, so that zeros do not divide by zero.
const LEAST_STEP: f32 = 1e-12;

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
    let size = size::<L>(numbers);
    (size.highest() / most).max(LEAST_STEP) + size.minus(size).total()
}
