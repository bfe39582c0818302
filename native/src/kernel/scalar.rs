//! The path that every machine can run, and the one that the others are compared with.

use super::codes::{CodeLine, Coded, Look, QueryCodes, WideLine};
use super::formula::{Block, Formula};
use super::lanes::{LANES, Line, QueryLine, widen};
use super::reach::{Hopes, Reach};

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

/// Bounds of inner products, as [`super::Kernel::bounds`] says.
pub(super) fn bounds(query: &QueryCodes, vectors: &Coded<'_>, look: &Look<'_>, out: &mut [f32]) {
    let stride = query.wide.len();
    for (i, (&number, out)) in look.numbers.iter().zip(out).enumerate() {
        look.fetch_ahead(i, vectors.lines, stride);
        let codes = &vectors.lines[number as usize * stride..][..stride];
        *out = query.bound(product(&query.wide, codes), vectors, number);
    }
}

fn product(query: &[WideLine], row: &[CodeLine]) -> i32 {
    let pairs = query.iter().zip(row).flat_map(|(q, line)| q.0.iter().zip(&line.0));
    pairs.map(|(&q, &code)| i32::from(q) * i32::from(code)).sum()
}

/// Rows that can reach a score, as [`super::Kernel::reaching`] says.
pub(super) fn reaching(reach: &Reach, hopes: &Hopes<'_>, bar: f32) -> u64 {
    reach.reaching(hopes, bar)
}

/// Scores, as [`super::Kernel::scores`] says.
pub(super) fn scores(formula: &Formula, block: &Block<'_>, out: &mut [f64]) {
    formula.fill(block, out);
}
