//! AVX-512F: 16 components at a time, four rows side by side so that each query load serves four.

use std::arch::x86_64::{
    __m512, _MM_HINT_T0, _mm_prefetch, _mm256_load_si256, _mm512_add_ps, _mm512_cvtph_ps, _mm512_fmadd_ps,
    _mm512_load_ps, _mm512_reduce_add_ps, _mm512_setzero_ps,
};

use super::formula::{Block, Formula};
use super::lanes::{Line, QueryLine};

/// Rows side by side.
const SIDE: usize = 4;
/// How far ahead rows are fetched, in lines: beyond the page that hardware prefetchers stop at.
const AHEAD: usize = 64;

/// Inner products, as [`super::Kernel::dots`] says.
///
/// # Safety
///
/// The machine has AVX-512F, and `rows` is `out.len()` rows of `query.len()` lines.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn dots(query: &[QueryLine], rows: &[Line], out: &mut [f32]) {
    let stride = query.len();
    let mut fours = out.chunks_exact_mut(SIDE);
    let mut row = 0;
    for four in &mut fours {
        four.copy_from_slice(&side_by_side::<SIDE>(query, &rows[row * stride..]));
        row += SIDE;
    }
    for one in fours.into_remainder() {
        [*one] = side_by_side::<1>(query, &rows[row * stride..]);
        row += 1;
    }
}

/// Each row's additions are in the same order whatever `R` is.
#[inline]
#[target_feature(enable = "avx512f")]
fn side_by_side<const R: usize>(query: &[QueryLine], rows: &[Line]) -> [f32; R] {
    let stride = query.len();
    assert!(rows.len() >= R * stride);
    let mut low = [_mm512_setzero_ps(); R];
    let mut high = [_mm512_setzero_ps(); R];
    for (i, q) in query.iter().enumerate() {
        // SAFETY: a query line is 32 aligned floats.
        let (q_low, q_high) = unsafe { (_mm512_load_ps(q.0.as_ptr()), _mm512_load_ps(q.0.as_ptr().add(16))) };
        for r in 0..R {
            // SAFETY: i < stride and r < R, and there are R · stride lines.
            let line = unsafe { rows.get_unchecked(r * stride + i) };
            prefetch(line);
            let (a, b) = halves(line);
            low[r] = _mm512_fmadd_ps(a, q_low, low[r]);
            high[r] = _mm512_fmadd_ps(b, q_high, high[r]);
        }
    }
    std::array::from_fn(|r| _mm512_reduce_add_ps(_mm512_add_ps(low[r], high[r])))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn halves(line: &Line) -> (__m512, __m512) {
    // SAFETY: a line is 64 aligned bytes.
    unsafe {
        let start = line.0.as_ptr();
        let low = _mm256_load_si256(start.cast());
        let high = _mm256_load_si256(start.add(16).cast());
        (_mm512_cvtph_ps(low), _mm512_cvtph_ps(high))
    }
}

#[inline]
fn prefetch(line: &Line) {
    let ahead = std::ptr::from_ref(line).wrapping_add(AHEAD);
    // SAFETY: a prefetch never faults, whatever the address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(ahead.cast()) }
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
