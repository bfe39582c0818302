//! AVX2 with F16C and FMA: 8 components at a time.

use std::arch::x86_64::{
    __m256, __m256i, _mm_add_epi32, _mm_add_ps, _mm_add_ss, _mm_cvtsi128_si32, _mm_cvtss_f32, _mm_load_si128,
    _mm_movehdup_ps, _mm_movehl_ps, _mm_shuffle_epi32, _mm256_add_epi32, _mm256_add_ps, _mm256_castps256_ps128,
    _mm256_castsi256_si128, _mm256_cvtepu8_epi16, _mm256_cvtph_ps, _mm256_extractf128_ps, _mm256_extracti128_si256,
    _mm256_fmadd_ps, _mm256_load_ps, _mm256_load_si256, _mm256_madd_epi16, _mm256_setzero_ps, _mm256_setzero_si256,
};

use super::codes::{CodeLine, Coded, Look, QueryCodes, WideLine};
use super::formula::{Block, Formula};
use super::lanes::{Line, QueryLine};
use super::reach::{Hopes, Reach};

/// Vectors of 8 in a line, each with its own sum.
const QUARTERS: usize = 4;

/// Inner products, as [`super::Kernel::dots`] says; one row after another, as the AVX-512 path explains.
///
/// # Safety
///
/// The machine has AVX2, F16C and FMA.
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) unsafe fn dots(query: &[QueryLine], lines: &[Line], numbers: &[u32], out: &mut [f32]) {
    for (&number, out) in numbers.iter().zip(out) {
        *out = dot(query, &lines[number as usize * query.len()..][..query.len()]);
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

/// Bounds of inner products, as [`super::Kernel::bounds`] says. 16 codes are widened at a time: products of bytes add
/// up with saturation here, those of 16 bits do not.
///
/// # Safety
///
/// The machine has AVX2.
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) unsafe fn bounds(query: &QueryCodes, vectors: &Coded<'_>, look: &Look<'_>, out: &mut [f32]) {
    let stride = query.wide.len();
    for (i, (&number, out)) in look.numbers.iter().zip(out).enumerate() {
        look.fetch_ahead(i, vectors.lines, stride);
        let codes = &vectors.lines[number as usize * stride..][..stride];
        *out = query.bound(product(&query.wide, codes), vectors, number);
    }
}

#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn product(query: &[WideLine], row: &[CodeLine]) -> i32 {
    let mut sums = [_mm256_setzero_si256(); QUARTERS];
    for (q, line) in query.iter().zip(row) {
        for (quarter, sum) in sums.iter_mut().enumerate() {
            let (q, codes) = (&q.0[quarter * 16..][..16], &line.0[quarter * 16..][..16]);
            // SAFETY: both are 16 numbers of an aligned line, at a multiple of 16.
            let (q, codes) = unsafe { (_mm256_load_si256(q.as_ptr().cast()), _mm_load_si128(codes.as_ptr().cast())) };
            *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(_mm256_cvtepu8_epi16(codes), q));
        }
    }
    whole(sums)
}

#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn whole([a, b, c, d]: [__m256i; QUARTERS]) -> i32 {
    let eight = _mm256_add_epi32(_mm256_add_epi32(a, b), _mm256_add_epi32(c, d));
    let four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256::<1>(eight));
    let two = _mm_add_epi32(four, _mm_shuffle_epi32::<0b1110>(four));
    _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32::<0b01>(two)))
}

/// Rows that can reach a score, as [`super::Kernel::reaching`] says.
///
/// # Safety
///
/// The machine has AVX2, F16C and FMA.
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) unsafe fn reaching(reach: &Reach, hopes: &Hopes<'_>, bar: f32) -> u64 {
    reach.reaching(hopes, bar)
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
