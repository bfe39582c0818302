//! AVX-512 with VNNI: 16 components, or 64 codes, at a time.

mod bounds;
mod products;

use std::arch::x86_64::{
    __m512, _mm256_load_si256, _mm512_add_ps, _mm512_cvtph_ps, _mm512_fmadd_ps, _mm512_load_ps, _mm512_reduce_add_ps,
    _mm512_setzero_ps,
};

pub(super) use bounds::{block_bounds, bounds};

use super::centre::Centre;
use super::encoding::Codes;
use super::formula::{Block, Formula};
use super::lanes::{Line, QueryLine};
use super::query::QueryCodes;
use super::reach::{BLOCK, Hopes, Reach};

/// Inner products, as [`super::Kernel::dots`] says. One row after another: several side by side save loads of the
/// query, but hide the order of the reads from the prefetchers and are slower from memory.
///
/// # Safety
///
/// The machine has AVX-512 (F, BW, VNNI).
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(super) unsafe fn dots(query: &[QueryLine], lines: &[Line], numbers: &[u32], out: &mut [f32]) {
    for (&number, out) in numbers.iter().zip(out) {
        *out = dot(query, &lines[number as usize * query.len()..][..query.len()]);
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
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
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn halves(line: &Line) -> (__m512, __m512) {
    let start = line.0.as_ptr();
    // SAFETY: a line is 64 aligned bytes.
    let (low, high) = unsafe { (_mm256_load_si256(start.cast()), _mm256_load_si256(start.add(16).cast())) };
    (_mm512_cvtph_ps(low), _mm512_cvtph_ps(high))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn query_halves(line: &QueryLine) -> (__m512, __m512) {
    let start = line.0.as_ptr();
    // SAFETY: a query line is 128 bytes, aligned to 64.
    unsafe { (_mm512_load_ps(start), _mm512_load_ps(start.add(16))) }
}

/// Codes of vectors, as [`super::Kernel::encoded`] says.
///
/// # Safety
///
/// The machine has AVX-512 (F, BW, VNNI).
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(super) unsafe fn encoded(lines: &[Line], stride: usize) -> Codes {
    Codes::of(lines, stride)
}

/// A query rounded, as [`super::Kernel::rounded`] says.
///
/// # Safety
///
/// The machine has AVX-512 (F, BW, VNNI).
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(super) unsafe fn rounded(query: &[QueryLine], centre: &Centre) -> QueryCodes {
    QueryCodes::new(query, centre)
}

/// Rows that can reach a score, as [`super::Kernel::reaching`] says.
///
/// # Safety
///
/// The machine has AVX-512 (F, BW, VNNI).
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(super) unsafe fn reaching(reach: &Reach, hopes: &Hopes<'_>, bar: f32, bounds: &mut [f32; BLOCK]) -> u64 {
    reach.reaching(hopes, bar, bounds)
}

/// Scores, as [`super::Kernel::scores`] says.
///
/// # Safety
///
/// The machine has AVX-512 (F, BW, VNNI).
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(super) unsafe fn scores(formula: &Formula, block: &Block<'_>, out: &mut [f64]) {
    formula.fill(block, out);
}
