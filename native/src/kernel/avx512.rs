//! AVX-512 with VNNI: 16 components, or 64 codes, at a time.

use std::arch::x86_64::{
    __m512, __m512i, _mm256_load_si256, _mm512_add_epi32, _mm512_add_ps, _mm512_cvtph_ps, _mm512_dpbusd_epi32,
    _mm512_fmadd_ps, _mm512_load_ps, _mm512_load_si512, _mm512_reduce_add_epi32, _mm512_reduce_add_ps,
    _mm512_setzero_ps, _mm512_setzero_si512,
};

use super::codes::{CodeLine, Coded, Look, NumberLine, QueryCodes};
use super::formula::{Block, Formula};
use super::lanes::{Line, QueryLine};
use super::reach::{Hopes, Reach};

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

/// Bounds of inner products, as [`super::Kernel::bounds`] says. A query of 384 components, or 768, stays in registers.
///
/// # Safety
///
/// The machine has AVX-512 (F, BW, VNNI).
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(super) unsafe fn bounds(query: &QueryCodes, vectors: &Coded<'_>, look: &Look<'_>, out: &mut [f32]) {
    match query.numbers.len() {
        6 => bounds_of::<6>(query, vectors, look, out),
        12 => bounds_of::<12>(query, vectors, look, out),
        _ => bounds_of_any(query, vectors, look, out),
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn bounds_of<const STRIDE: usize>(query: &QueryCodes, vectors: &Coded<'_>, look: &Look<'_>, out: &mut [f32]) {
    let mut lines = [_mm512_setzero_si512(); STRIDE];
    for (line, q) in lines.iter_mut().zip(&query.numbers) {
        *line = numbers(q);
    }
    for (i, (&number, out)) in look.numbers.iter().zip(out).enumerate() {
        look.fetch_ahead(i, vectors.lines, STRIDE);
        let row = &vectors.lines[number as usize * STRIDE..][..STRIDE];
        let (mut even, mut odd) = (_mm512_setzero_si512(), _mm512_setzero_si512());
        for line in 0..STRIDE / 2 {
            even = _mm512_dpbusd_epi32(even, codes(&row[2 * line]), lines[2 * line]);
            odd = _mm512_dpbusd_epi32(odd, codes(&row[2 * line + 1]), lines[2 * line + 1]);
        }
        *out = query.bound(_mm512_reduce_add_epi32(_mm512_add_epi32(even, odd)), vectors, number);
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn bounds_of_any(query: &QueryCodes, vectors: &Coded<'_>, look: &Look<'_>, out: &mut [f32]) {
    let stride = query.numbers.len();
    for (i, (&number, out)) in look.numbers.iter().zip(out).enumerate() {
        look.fetch_ahead(i, vectors.lines, stride);
        let row = &vectors.lines[number as usize * stride..][..stride];
        let mut sums = _mm512_setzero_si512();
        for (q, line) in query.numbers.iter().zip(row) {
            sums = _mm512_dpbusd_epi32(sums, codes(line), numbers(q));
        }
        *out = query.bound(_mm512_reduce_add_epi32(sums), vectors, number);
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn codes(line: &CodeLine) -> __m512i {
    // SAFETY: a line is 64 aligned bytes.
    unsafe { _mm512_load_si512(line.0.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn numbers(line: &NumberLine) -> __m512i {
    // SAFETY: a line is 64 aligned bytes.
    unsafe { _mm512_load_si512(line.0.as_ptr().cast()) }
}

/// Rows that can reach a score, as [`super::Kernel::reaching`] says.
///
/// # Safety
///
/// The machine has AVX-512 (F, BW, VNNI).
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(super) unsafe fn reaching(reach: &Reach, hopes: &Hopes<'_>, bar: f32) -> u64 {
    reach.reaching(hopes, bar)
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
