//! AVX-512F: 16 components at a time.

use std::arch::x86_64::{
    __m512, _mm256_load_si256, _mm512_add_ps, _mm512_cvtph_ps, _mm512_fmadd_ps, _mm512_load_ps, _mm512_reduce_add_ps,
    _mm512_setzero_ps,
};

use super::formula::{Block, Formula};
use super::lanes::{Line, QueryLine};

/// Inner products, as [`super::Kernel::dots`] says. One row after another: several side by side save loads of the
/// query, but hide the order of the reads from the prefetchers and are slower from memory.
///
/// # Safety
///
/// The machine has AVX-512F.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn dots(query: &[QueryLine], rows: &[Line], out: &mut [f32]) {
    for (row, out) in rows.chunks_exact(query.len()).zip(out) {
        *out = dot(query, row);
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn dot(query: &[QueryLine], row: &[Line]) -> f32 {
    let (mut low, mut high) = (_mm512_setzero_ps(), _mm512_setzero_ps());
    for (q, line) in query.iter().zip(row) {
        let ((a, b), (q_low, q_high)) = (halves(line), query_halves(q));
        low = _mm512_fmadd_ps(a, q_low, low);
        high = _mm512_fmadd_ps(b, q_high, high);
    }
    _mm512_reduce_add_ps(_mm512_add_ps(low, high))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn halves(line: &Line) -> (__m512, __m512) {
    let start = line.0.as_ptr();
    // SAFETY: a line is 64 aligned bytes.
    let (low, high) = unsafe { (_mm256_load_si256(start.cast()), _mm256_load_si256(start.add(16).cast())) };
    (_mm512_cvtph_ps(low), _mm512_cvtph_ps(high))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn query_halves(line: &QueryLine) -> (__m512, __m512) {
    let start = line.0.as_ptr();
    // SAFETY: a query line is 128 bytes, aligned to 64.
    unsafe { (_mm512_load_ps(start), _mm512_load_ps(start.add(16))) }
}

/// Scores, as [`super::Kernel::scores`] says.
///
/// # Safety
///
/// The machine has AVX-512F.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn scores(formula: &Formula, block: &Block<'_>, out: &mut [f64]) {
    formula.fill(block, out);
}
