//! AVX2 with F16C and FMA: 8 components at a time, two rows side by side.

use std::arch::x86_64::{
    __m256, _MM_HINT_T0, _mm_add_ps, _mm_add_ss, _mm_cvtss_f32, _mm_load_si128, _mm_movehdup_ps, _mm_movehl_ps,
    _mm_prefetch, _mm256_add_ps, _mm256_castps256_ps128, _mm256_cvtph_ps, _mm256_extractf128_ps, _mm256_fmadd_ps,
    _mm256_load_ps, _mm256_setzero_ps,
};

use super::formula::{Block, Formula};
use super::lanes::{Line, QueryLine};

/// Rows side by side.
const SIDE: usize = 2;
/// Vectors of 8 in a line, each with its own sum.
const QUARTERS: usize = 4;
/// How far ahead rows are fetched, in lines: beyond the page that hardware prefetchers stop at.
const AHEAD: usize = 64;

/// Inner products, as [`super::Kernel::dots`] says.
///
/// # Safety
///
/// The machine has AVX2, F16C and FMA, and `rows` is `out.len()` rows of `query.len()` lines.
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) unsafe fn dots(query: &[QueryLine], rows: &[Line], out: &mut [f32]) {
    let stride = query.len();
    let mut pairs = out.chunks_exact_mut(SIDE);
    let mut row = 0;
    for pair in &mut pairs {
        pair.copy_from_slice(&side_by_side::<SIDE>(query, &rows[row * stride..]));
        row += SIDE;
    }
    for one in pairs.into_remainder() {
        [*one] = side_by_side::<1>(query, &rows[row * stride..]);
        row += 1;
    }
}

/// Each row's additions are in the same order whatever `R` is.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn side_by_side<const R: usize>(query: &[QueryLine], rows: &[Line]) -> [f32; R] {
    let stride = query.len();
    assert!(rows.len() >= R * stride);
    let mut sums = [[_mm256_setzero_ps(); QUARTERS]; R];
    for (i, q) in query.iter().enumerate() {
        for (r, sums) in sums.iter_mut().enumerate() {
            // SAFETY: i < stride and r < R, and there are R · stride lines.
            let line = unsafe { rows.get_unchecked(r * stride + i) };
            prefetch(line);
            for (quarter, sum) in sums.iter_mut().enumerate() {
                *sum = multiply_add(q, line, quarter, *sum);
            }
        }
    }
    std::array::from_fn(|r| total(sums[r]))
}

#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn multiply_add(query: &QueryLine, line: &Line, quarter: usize, sum: __m256) -> __m256 {
    let (q, bits) = (&query.0[quarter * 8..][..8], &line.0[quarter * 8..][..8]);
    // SAFETY: both are 8 components of an aligned line, at a multiple of 8.
    unsafe {
        let row = _mm256_cvtph_ps(_mm_load_si128(bits.as_ptr().cast()));
        _mm256_fmadd_ps(row, _mm256_load_ps(q.as_ptr()), sum)
    }
}

#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn total([a, b, c, d]: [__m256; QUARTERS]) -> f32 {
    let eight = _mm256_add_ps(_mm256_add_ps(a, b), _mm256_add_ps(c, d));
    let four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps::<1>(eight));
    let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
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
/// The machine has AVX2, F16C and FMA.
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) unsafe fn scores(formula: &Formula, block: &Block<'_>, out: &mut [f64]) {
    formula.fill(block, out);
}
