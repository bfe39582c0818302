//! AVX2 with F16C and FMA: 8 components at a time.

use std::arch::x86_64::{
    __m256, _mm_add_ps, _mm_add_ss, _mm_cvtss_f32, _mm_load_si128, _mm_movehdup_ps, _mm_movehl_ps, _mm256_add_ps,
    _mm256_castps256_ps128, _mm256_cvtph_ps, _mm256_extractf128_ps, _mm256_fmadd_ps, _mm256_load_ps, _mm256_setzero_ps,
};

use super::formula::{Block, Formula};
use super::lanes::{Line, QueryLine};

/// Vectors of 8 in a line, each with its own sum.
const QUARTERS: usize = 4;

/// Inner products, as [`super::Kernel::dots`] says; one row after another, as the AVX-512 path explains.
///
/// # Safety
///
/// The machine has AVX2, F16C and FMA.
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) unsafe fn dots(query: &[QueryLine], rows: &[Line], out: &mut [f32]) {
    for (row, out) in rows.chunks_exact(query.len()).zip(out) {
        *out = dot(query, row);
    }
}

#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn dot(query: &[QueryLine], row: &[Line]) -> f32 {
    let mut sums = [_mm256_setzero_ps(); QUARTERS];
    for (q, line) in query.iter().zip(row) {
        for (quarter, sum) in sums.iter_mut().enumerate() {
            *sum = multiply_add(q, line, quarter, *sum);
        }
    }
    total(sums)
}

#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn multiply_add(query: &QueryLine, line: &Line, quarter: usize, sum: __m256) -> __m256 {
    let (q, bits) = (&query.0[quarter * 8..][..8], &line.0[quarter * 8..][..8]);
    // SAFETY: both are 8 components of an aligned line, at a multiple of 8.
    let (q, bits) = unsafe { (_mm256_load_ps(q.as_ptr()), _mm_load_si128(bits.as_ptr().cast())) };
    _mm256_fmadd_ps(_mm256_cvtph_ps(bits), q, sum)
}

#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn total([a, b, c, d]: [__m256; QUARTERS]) -> f32 {
    let eight = _mm256_add_ps(_mm256_add_ps(a, b), _mm256_add_ps(c, d));
    let four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps::<1>(eight));
    let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
}

/// Scores, as [`super::Kernel::scores`] says.
///
/// # Safety
///
/// The machine has AVX2, F16C and FMA.
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) unsafe fn scores(formula: &Formula, block: &Block<'_>, out: &mut [f64]) {
    formula.fill(block, out);
}
