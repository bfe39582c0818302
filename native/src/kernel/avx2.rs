//! AVX2 with F16C and FMA: 8 components at a time.

use std::arch::x86_64::{
    __m256, __m256i, _mm_add_epi32, _mm_add_ps, _mm_add_ss, _mm_cvtsi128_si32, _mm_cvtss_f32, _mm_load_si128,
    _mm_movehdup_ps, _mm_movehl_ps, _mm_shuffle_epi32, _mm256_add_epi16, _mm256_add_epi32, _mm256_add_ps,
    _mm256_and_si256, _mm256_castps256_ps128, _mm256_castsi256_si128, _mm256_cvtph_ps, _mm256_extractf128_ps,
    _mm256_extracti128_si256, _mm256_fmadd_ps, _mm256_load_ps, _mm256_loadu_si256, _mm256_madd_epi16,
    _mm256_maddubs_epi16, _mm256_set1_epi8, _mm256_set1_epi16, _mm256_setzero_ps, _mm256_setzero_si256,
    _mm256_srli_epi16,
};

use super::centre::Centre;
use super::codes::{CodeLine, Coded, HALF};
use super::encoding::Codes;
use super::formula::{Block, Formula};
use super::lanes::{Line, QueryLine};
use super::query::{Grain, Look, NumberLine, QueryCodes, Window};
use super::reach::{BLOCK, Hopes, Reach};

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

/// Codes of vectors, as [`super::Kernel::encoded`] says.
///
/// # Safety
///
/// The machine has AVX2, F16C and FMA.
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) unsafe fn encoded(lines: &[Line], stride: usize) -> Codes {
    Codes::of(lines, stride)
}

/// A query rounded, as [`super::Kernel::rounded`] says.
///
/// # Safety
///
/// The machine has AVX2, F16C and FMA.
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) unsafe fn rounded(query: &[QueryLine], centre: &Centre) -> QueryCodes {
    QueryCodes::new(query, centre)
}

/// Bounds of inner products, as [`super::Kernel::bounds`] says. Halves are so small that pairs of their products add up
/// in 16 bits.
///
/// # Safety
///
/// The machine has AVX2.
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) unsafe fn bounds(query: &QueryCodes, vectors: &Coded<'_>, look: &Look<'_>, out: &mut [f32]) {
    for (&number, out) in look.numbers.iter().zip(out) {
        let doubled = query.doubled(look.grain, vectors, number, |row| product(&query.numbers, row));
        *out = query.bound(doubled, vectors, look.grain, number);
    }
}

/// Coarse bounds of a block, as [`super::Kernel::block_bounds`] says.
///
/// # Safety
///
/// The machine has AVX2, F16C and FMA.
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) unsafe fn block_bounds(query: &QueryCodes, vectors: &Coded<'_>, window: &Window, out: &mut [f32; BLOCK]) {
    window.each(vectors, query.numbers.len() / 2, |place, number| {
        let doubled = query.doubled(Grain::Coarse, vectors, number, |row| product(&query.numbers, row));
        out[place] = query.bound(doubled, vectors, Grain::Coarse, number);
    });
}

#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn product(query: &[NumberLine], row: &[CodeLine]) -> i32 {
    let (mut sums, mask) = ([_mm256_setzero_si256(); 2], _mm256_set1_epi8(15));
    for ([low, high], line) in query.as_chunks().0.iter().zip(row) {
        for (part, sum) in sums.iter_mut().enumerate() {
            let (codes, low, high) = (bytes(&line.0, part), bytes(&low.0, part), bytes(&high.0, part));
            let lows = _mm256_maddubs_epi16(_mm256_and_si256(codes, mask), low);
            let highs = _mm256_maddubs_epi16(_mm256_and_si256(_mm256_srli_epi16::<4>(codes), mask), high);
            let pairs = _mm256_madd_epi16(_mm256_add_epi16(lows, highs), _mm256_set1_epi16(1));
            *sum = _mm256_add_epi32(*sum, pairs);
        }
    }
    whole(_mm256_add_epi32(sums[0], sums[1]))
}

/// Half `part` of a line.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn bytes<T>(line: &[T; HALF], part: usize) -> __m256i {
    const { assert!(size_of::<T>() == 1) };
    // SAFETY: these are 32 bytes of a line.
    unsafe { _mm256_loadu_si256(line[part * 32..][..32].as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn whole(eight: __m256i) -> i32 {
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
pub(super) unsafe fn reaching(reach: &Reach, hopes: &Hopes<'_>, bar: f32, bounds: &mut [f32; BLOCK]) -> u64 {
    reach.reaching(hopes, bar, bounds)
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
