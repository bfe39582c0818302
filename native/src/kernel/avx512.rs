//! AVX-512 with VNNI: 16 components, or 64 codes, at a time.

use std::arch::x86_64::{
    __m512, __m512i, _mm256_load_si256, _mm512_add_epi32, _mm512_add_ps, _mm512_and_si512, _mm512_cmpneq_epi32_mask,
    _mm512_cvtepi32_ps, _mm512_cvtph_ps, _mm512_dpbusd_epi32, _mm512_fmadd_ps, _mm512_load_ps, _mm512_load_si512,
    _mm512_loadu_ps, _mm512_loadu_si512, _mm512_mul_ps, _mm512_reduce_add_epi32, _mm512_reduce_add_ps,
    _mm512_set1_epi8, _mm512_set1_epi32, _mm512_set1_ps, _mm512_setr_epi32, _mm512_setzero_ps, _mm512_setzero_si512,
    _mm512_shuffle_i32x4, _mm512_slli_epi32, _mm512_srli_epi16, _mm512_storeu_ps, _mm512_storeu_si512,
    _mm512_unpackhi_epi32, _mm512_unpackhi_epi64, _mm512_unpacklo_epi32, _mm512_unpacklo_epi64,
};

use super::centre::Centre;
use super::codes::{CodeLine, Coded};
use super::formula::{Block, Formula};
use super::lanes::{Line, QueryLine};
use super::query::{Grain, Look, NumberLine, QueryCodes, Terms, fetch};
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

/// A query rounded, as [`super::Kernel::rounded`] says.
///
/// # Safety
///
/// The machine has AVX-512 (F, BW, VNNI).
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(super) unsafe fn rounded(query: &[QueryLine], centre: &Centre) -> QueryCodes {
    QueryCodes::new(query, centre)
}

/// Bounds of inner products, as [`super::Kernel::bounds`] says. A query of 384 components, or 768, stays in registers.
///
/// # Safety
///
/// The machine has AVX-512 (F, BW, VNNI).
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(super) unsafe fn bounds(query: &QueryCodes, vectors: &Coded<'_>, look: &Look<'_>, out: &mut [f32]) {
    let whole = match (look.grain, query.numbers.len()) {
        (Grain::Coarse, 6) => coarse_products::<6, 3>(query, vectors, look, out),
        (Grain::Coarse, 12) => coarse_products::<12, 6>(query, vectors, look, out),
        _ => 0,
    };
    let (groups, rest) = look.numbers.split_at(whole);
    let (found, out) = out.split_at_mut(whole);
    coarse_bounds(query, vectors, groups, found);
    for (&number, out) in rest.iter().zip(out) {
        let doubled = query.doubled(look, vectors, number, |row| product(&query.numbers, row));
        *out = query.bound(doubled, vectors, look.grain, number);
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn product(query: &[NumberLine], row: &[CodeLine]) -> i32 {
    let mut sums = _mm512_setzero_si512();
    for ([low, high], line) in query.as_chunks().0.iter().zip(row) {
        sums = multiply_add_halves(sums, codes(line), numbers(low), numbers(high));
    }
    _mm512_reduce_add_epi32(sums)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn multiply_add_halves(sums: __m512i, codes: __m512i, low: __m512i, high: __m512i) -> __m512i {
    let mask = _mm512_set1_epi8(15);
    let sums = _mm512_dpbusd_epi32(sums, _mm512_and_si512(codes, mask), low);
    _mm512_dpbusd_epi32(sums, _mm512_and_si512(_mm512_srli_epi16::<4>(codes), mask), high)
}

/// Rows whose products are added up, and turned to bounds, together: a fifth of the steps that rows alone take.
const TOGETHER: usize = 16;

/// The products of as many rows as fill whole registers, laid as whole numbers where their bounds go, and how many
/// those are.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn coarse_products<const NUMBERS: usize, const STRIDE: usize>(
    query: &QueryCodes,
    vectors: &Coded<'_>,
    look: &Look<'_>,
    out: &mut [f32],
) -> usize {
    let mut lines = [_mm512_setzero_si512(); NUMBERS];
    for (line, q) in lines.iter_mut().zip(&query.numbers) {
        *line = numbers(q);
    }
    let (all, groups) = (vectors.high.as_chunks::<STRIDE>().0, look.numbers.as_chunks::<TOGETHER>().0);
    let mut ahead = look.ahead.chunks(look.each_ahead().max(1) * 4);
    for (rows, out) in groups.iter().zip(out.as_chunks_mut::<TOGETHER>().0) {
        let mut quarters = [_mm512_setzero_si512(); 4];
        for (quarter, four) in quarters.iter_mut().zip(rows.as_chunks::<4>().0) {
            fetch(ahead.next().unwrap_or_default(), vectors, STRIDE);
            let mut sums = [_mm512_setzero_si512(); 4];
            for (sums, &row) in sums.iter_mut().zip(four) {
                for (q, line) in lines.as_chunks::<2>().0.iter().zip(&all[row as usize]) {
                    *sums = multiply_add_halves(*sums, codes(line), q[0], q[1]);
                }
            }
            *quarter = beside(sums);
        }
        // SAFETY: these are 16 numbers.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), total(quarters)) }
    }
    groups.len() * TOGETHER
}

/// Sums of the 16 numbers of each of 4 rows, up to 4 parts: one in each quarter, rows in order.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn beside([a, b, c, d]: [__m512i; 4]) -> __m512i {
    let ab = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    let cd = _mm512_add_epi32(_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
    _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd))
}

/// Sums of the parts of [`beside`]: of 16 rows, in order.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn total([a, b, c, d]: [__m512i; 4]) -> __m512i {
    halved(halved(a, b), halved(c, d))
}

/// Sums of quarters 0 and 1, and of 2 and 3, of each.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn halved(a: __m512i, b: __m512i) -> __m512i {
    _mm512_add_epi32(_mm512_shuffle_i32x4::<0b10_00_10_00>(a, b), _mm512_shuffle_i32x4::<0b11_01_11_01>(a, b))
}

/// [`QueryCodes::bound`] of 16 rows at a time in place of their products, the same steps in the same order.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn coarse_bounds(query: &QueryCodes, vectors: &Coded<'_>, rows: &[u32], products: &mut [f32]) {
    let Terms { offset, half_step, base, norm, rest } = query.terms(vectors, Grain::Coarse);
    let (columns, product) = (vectors.sketches, |a, b| _mm512_mul_ps(a, _mm512_set1_ps(b)));
    for (rows, own) in rows.as_chunks().0.iter().zip(products.as_chunks_mut::<TOGETHER>().0) {
        // SAFETY: these are 16 numbers.
        let products = unsafe { _mm512_loadu_si512(own.as_ptr().cast()) };
        let [scales, nears, residuals] = gathered([&columns.scales, &columns.nears, &columns.coarse], rows);
        let hidden = _mm512_add_ps(product(residuals, norm), product(scales, rest));
        let known = _mm512_add_ps(nears, _mm512_set1_ps(base));
        let doubled = _mm512_add_epi32(_mm512_slli_epi32::<5>(products), _mm512_set1_epi32(offset));
        let found = _mm512_mul_ps(_mm512_cvtepi32_ps(doubled), product(scales, half_step));
        // SAFETY: as above.
        unsafe { _mm512_storeu_ps(own.as_mut_ptr(), _mm512_add_ps(found, _mm512_add_ps(known, hidden))) }
    }
}

/// The numbers of 16 rows in some columns. Most rows are side by side already.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn gathered<const COLUMNS: usize>(columns: [&[f32]; COLUMNS], rows: &[u32; TOGETHER]) -> [__m512; COLUMNS] {
    let (mut all, side_by_side) = ([_mm512_setzero_ps(); COLUMNS], consecutive(rows));
    for (numbers, column) in all.iter_mut().zip(columns) {
        let mut own = [0.0; TOGETHER];
        let near = column.get(rows[0] as usize..).and_then(<[f32]>::first_chunk).filter(|_| side_by_side);
        if near.is_none() {
            for (own, &row) in own.iter_mut().zip(rows) {
                *own = column[row as usize];
            }
        }
        // SAFETY: these are 16 numbers.
        *numbers = unsafe { _mm512_loadu_ps(near.unwrap_or(&own).as_ptr()) };
    }
    all
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn consecutive(rows: &[u32; TOGETHER]) -> bool {
    let steps = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let expected = _mm512_add_epi32(_mm512_set1_epi32(rows[0].cast_signed()), steps);
    // SAFETY: these are 16 numbers.
    let found = unsafe { _mm512_loadu_si512(rows.as_ptr().cast()) };
    _mm512_cmpneq_epi32_mask(expected, found) == 0
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
