//! The path that every machine can run, and the one that the others are compared with.

use super::centre::Centre;
use super::codes::{CodeLine, Coded};
use super::encoding::Codes;
use super::formula::{Block, Formula};
use super::lanes::{LANES, Line, QueryLine, widen};
use super::query::{Grain, Look, NumberLine, QueryCodes, Window};
use super::reach::{BLOCK, Hopes, Reach};

/// Inner products, as [`super::Kernel::dots`] says.
pub(super) fn dots(query: &[QueryLine], lines: &[Line], numbers: &[u32], out: &mut [f32]) {
    for (&number, out) in numbers.iter().zip(out) {
        *out = dot(query, &lines[number as usize * query.len()..][..query.len()]);
    }
}

fn dot(query: &[QueryLine], row: &[Line]) -> f32 {
    let mut sums = [0f32; LANES];
    for (q, line) in query.iter().zip(row) {
        for ((sum, &q), &bits) in sums.iter_mut().zip(&q.0).zip(&line.0) {
            *sum += q * widen(bits);
        }
    }
    sums.iter().sum()
}

/// Codes of vectors, as [`super::Kernel::encoded`] says.
pub(super) fn encoded(lines: &[Line], stride: usize) -> Codes {
    Codes::of(lines, stride)
}

/// A query rounded, as [`super::Kernel::rounded`] says.
pub(super) fn rounded(query: &[QueryLine], centre: &Centre) -> QueryCodes {
    QueryCodes::new(query, centre)
}

/// Bounds of inner products, as [`super::Kernel::bounds`] says.
pub(super) fn bounds(query: &QueryCodes, vectors: &Coded<'_>, look: &Look<'_>, out: &mut [f32]) {
    for (&number, out) in look.numbers.iter().zip(out) {
        let doubled = query.doubled(look.grain, vectors, number, |row| product(&query.numbers, row));
        *out = query.bound(doubled, vectors, look.grain, number);
    }
}

/// Coarse bounds of a block, as [`super::Kernel::block_bounds`] says.
pub(super) fn block_bounds(query: &QueryCodes, vectors: &Coded<'_>, window: &Window, out: &mut [f32; BLOCK]) {
    window.each(vectors, query.numbers.len() / 2, |place, number| {
        let doubled = query.doubled(Grain::Coarse, vectors, number, |row| product(&query.numbers, row));
        out[place] = query.bound(doubled, vectors, Grain::Coarse, number);
    });
}

fn product(query: &[NumberLine], row: &[CodeLine]) -> i32 {
    let lines = query.as_chunks().0.iter().zip(row);
    let halves = lines.flat_map(|([low, high], line)| low.0.iter().zip(&high.0).zip(&line.0));
    let products = halves.map(|((&low, &high), &codes)| {
        i32::from(low) * i32::from(codes & 15) + i32::from(high) * i32::from(codes >> 4)
    });
    products.sum()
}

/// Rows that can reach a score, as [`super::Kernel::reaching`] says.
pub(super) fn reaching(reach: &Reach, hopes: &Hopes<'_>, bar: f32, bounds: &mut [f32; BLOCK]) -> u64 {
    reach.reaching(hopes, bar, bounds)
}

/// Scores, as [`super::Kernel::scores`] says.
pub(super) fn scores(formula: &Formula, block: &Block<'_>, out: &mut [f64]) {
    formula.fill(block, out);
}
