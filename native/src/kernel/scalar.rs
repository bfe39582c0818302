//! The path that every machine can run, and the one that the others are compared with.

use super::formula::{Block, Formula};
use super::lanes::{LANES, Line, QueryLine, widen};

/// Inner products, as [`super::Kernel::dots`] says.
pub(super) fn dots(query: &[QueryLine], rows: &[Line], out: &mut [f32]) {
    for (row, out) in rows.chunks_exact(query.len()).zip(out) {
        *out = dot(query, row);
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

/// Scores, as [`super::Kernel::scores`] says.
pub(super) fn scores(formula: &Formula, block: &Block<'_>, out: &mut [f64]) {
    formula.fill(block, out);
}
