//! Bounds by codes, of 16 vectors at a time: their sums and what follows take a fifth of the steps of one alone.

use std::arch::x86_64::{
    __m512, __m512i, _mm512_add_epi32, _mm512_add_ps, _mm512_and_si512, _mm512_cvtepi32_ps, _mm512_dpbusd_epi32,
    _mm512_load_si512, _mm512_loadu_ps, _mm512_loadu_si512, _mm512_maskz_compress_epi32, _mm512_maskz_expand_epi32,
    _mm512_mul_ps, _mm512_reduce_add_epi32, _mm512_set1_epi8, _mm512_set1_epi32, _mm512_set1_ps, _mm512_setr_epi32,
    _mm512_setzero_ps, _mm512_setzero_si512, _mm512_shuffle_i32x4, _mm512_slli_epi32, _mm512_srli_epi16,
    _mm512_storeu_ps, _mm512_storeu_si512, _mm512_unpackhi_epi32, _mm512_unpackhi_epi64, _mm512_unpacklo_epi32,
    _mm512_unpacklo_epi64,
};

use crate::kernel::codes::{CodeLine, Coded};
use crate::kernel::query::{Grain, Look, NumberLine, QueryCodes, Terms, Window, fetch};
use crate::kernel::reach::BLOCK;

/// Bounds of inner products, as [`crate::kernel::Kernel::bounds`] says.
///
/// # Safety
///
/// The machine has AVX-512 (F, BW, VNNI).
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(in crate::kernel) unsafe fn bounds(query: &QueryCodes, vectors: &Coded<'_>, look: &Look<'_>, out: &mut [f32]) {
    for (numbers, out) in look.numbers.chunks(BLOCK).zip(out.chunks_mut(BLOCK)) {
        let mut products = [0; BLOCK];
        if look.grain == Grain::Coarse && products_together(query, vectors, numbers, &[], &mut products) {
            for ((numbers, out), products) in
                numbers.chunks(TOGETHER).zip(out.chunks_mut(TOGETHER)).zip(products.as_chunks().0)
            {
                bounds_apart(query, vectors, numbers, products, out);
            }
        } else {
            for (&number, out) in numbers.iter().zip(out) {
                let doubled = query.doubled(look.grain, vectors, number, |row| product(&query.numbers, row));
                *out = query.bound(doubled, vectors, look.grain, number);
            }
        }
    }
}

/// Coarse bounds of a block, as [`crate::kernel::Kernel::block_bounds`] says. The products of the rows looked at are found one
/// after another and then moved to their places.
///
/// # Safety
///
/// The machine has AVX-512 (F, BW, VNNI).
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(in crate::kernel) unsafe fn block_bounds(
    query: &QueryCodes,
    vectors: &Coded<'_>,
    window: &Window,
    out: &mut [f32; BLOCK],
) {
    let (mut numbers, mut ahead);
    let (numbers, ahead) = if window.rows & window.next == u64::MAX {
        numbers = side_by_side(window.first as u32);
        numbers.split_at(BLOCK)
    } else {
        (numbers, ahead) = ([0; 2 * BLOCK], [0; 2 * BLOCK]);
        let next = listed((window.first + BLOCK) as u32, window.next, &mut ahead);
        (listed(window.first as u32, window.rows, &mut numbers), next)
    };
    let mut products = [0; BLOCK + TOGETHER];
    let own = products.first_chunk_mut().expect("it is longer");
    if !products_together(query, vectors, numbers, ahead, own) {
        for (product_of, &number) in own.iter_mut().zip(numbers) {
            let stride = query.numbers.len() / 2;
            *product_of = product(&query.numbers, &vectors.high[number as usize * stride..][..stride]);
        }
    }
    let columns = Columns::of(vectors, window.first, BLOCK);
    let mut before = 0;
    for (quarter, out) in out.as_chunks_mut::<TOGETHER>().0.iter_mut().enumerate() {
        let wanted = (window.rows >> (quarter * TOGETHER)) as u16;
        // SAFETY: these are 16 numbers.
        let own = unsafe { _mm512_loadu_si512(products[before..][..TOGETHER].as_ptr().cast()) };
        let own = _mm512_maskz_expand_epi32(wanted, own);
        before += if wanted == u16::MAX { TOGETHER } else { wanted.count_ones() as usize };
        let bounds = bounds_of(query, vectors, own, columns.sixteen(quarter * TOGETHER));
        // SAFETY: as above.
        unsafe { _mm512_storeu_ps(out.as_mut_ptr(), bounds) }
    }
}

/// The numbers of two blocks.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn side_by_side(first: u32) -> [u32; 2 * BLOCK] {
    let mut numbers = [0; 2 * BLOCK];
    for (number, own) in (first..).zip(&mut numbers) {
        *own = number;
    }
    numbers
}

/// The numbers of the rows set in `rows`, from `first` on.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn listed(first: u32, rows: u64, numbers: &mut [u32; 2 * BLOCK]) -> &[u32] {
    let steps = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let mut count = 0;
    for quarter in 0..BLOCK / TOGETHER {
        let start = first.wrapping_add((quarter * TOGETHER) as u32).cast_signed();
        let (own, all) = ((rows >> (quarter * TOGETHER)) as u16, _mm512_add_epi32(_mm512_set1_epi32(start), steps));
        let found = _mm512_maskz_compress_epi32(own, all);
        // SAFETY: there is room for 16 numbers after any 48.
        unsafe { _mm512_storeu_si512(numbers[count..][..TOGETHER].as_mut_ptr().cast(), found) }
        count += if own == u16::MAX { TOGETHER } else { own.count_ones() as usize };
    }
    &numbers[..count]
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

/// Products of the halves h with the query, of up to a block of vectors; `false` where the query does not fit registers
/// and nothing is done. What `ahead` lists is asked for meanwhile.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn products_together(
    query: &QueryCodes,
    vectors: &Coded<'_>,
    numbers: &[u32],
    ahead: &[u32],
    out: &mut [i32; BLOCK],
) -> bool {
    match query.numbers.len() {
        6 => products::<6, 3>(query, vectors, numbers, ahead, out),
        12 => products::<12, 6>(query, vectors, numbers, ahead, out),
        _ => return false,
    }
    true
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn products<const NUMBERS: usize, const STRIDE: usize>(
    query: &QueryCodes,
    vectors: &Coded<'_>,
    rows: &[u32],
    ahead: &[u32],
    out: &mut [i32; BLOCK],
) {
    let mut lines = [_mm512_setzero_si512(); NUMBERS];
    for (line, q) in lines.iter_mut().zip(&query.numbers) {
        *line = numbers(q);
    }
    let all = vectors.high.as_chunks::<STRIDE>().0;
    let mut ahead = ahead.chunks(ahead.len().div_ceil(rows.len().max(1)).max(1) * 4);
    for (rows, out) in rows.chunks(TOGETHER).zip(out.as_chunks_mut::<TOGETHER>().0) {
        let (rows, mut quarters) = (filled(rows), [_mm512_setzero_si512(); 4]);
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
}

/// Up to 16, and one of them in the place of each that is missing.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn filled(rows: &[u32]) -> [u32; TOGETHER] {
    let mut filled = [rows[0]; TOGETHER];
    if let Some(rows) = rows.first_chunk() {
        return *rows;
    }
    filled[..rows.len()].copy_from_slice(rows);
    filled
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

/// Scales, products with the centre, and residuals of the coarse codes.
struct Columns<'a>([&'a [f32]; 3]);

impl<'a> Columns<'a> {
    /// Of so many vectors from `first` on.
    #[inline]
    fn of(vectors: &Coded<'a>, first: usize, count: usize) -> Self {
        let all = vectors.sketches;
        Self([&all.scales, &all.nears, &all.coarse].map(|column| &column[first..][..count]))
    }

    /// Of the 16 from number `at` on.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn sixteen(&self, at: usize) -> [__m512; 3] {
        let mut all = [_mm512_setzero_ps(); 3];
        for (all, column) in all.iter_mut().zip(self.0) {
            // SAFETY: these are 16 numbers.
            *all = unsafe { _mm512_loadu_ps(column[at..][..TOGETHER].as_ptr()) };
        }
        all
    }
}

/// Bounds of up to 16 vectors that are anywhere.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn bounds_apart(query: &QueryCodes, vectors: &Coded<'_>, numbers: &[u32], products: &[i32; TOGETHER], out: &mut [f32]) {
    let (mut own, all) = ([[0.0; TOGETHER]; 3], Columns::of(vectors, 0, vectors.sketches.scales.len()));
    for (own, column) in own.iter_mut().zip(all.0) {
        for (own, &number) in own.iter_mut().zip(numbers) {
            *own = column[number as usize];
        }
    }
    let columns = Columns([&own[0], &own[1], &own[2]]).sixteen(0);
    let mut bounds = [0.0; TOGETHER];
    // SAFETY: these are 16 numbers each.
    unsafe {
        let products = _mm512_loadu_si512(products.as_ptr().cast());
        _mm512_storeu_ps(bounds.as_mut_ptr(), bounds_of(query, vectors, products, columns));
    }
    out.copy_from_slice(&bounds[..out.len()]);
}

/// [`QueryCodes::bound`] of 16 vectors by their coarse codes, the same steps in the same order.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn bounds_of(
    query: &QueryCodes,
    vectors: &Coded<'_>,
    products: __m512i,
    [scales, nears, residuals]: [__m512; 3],
) -> __m512 {
    let Terms { offset, half_step, base, norm, rest } = query.terms(vectors, Grain::Coarse);
    let product = |a, b| _mm512_mul_ps(a, _mm512_set1_ps(b));
    let hidden = _mm512_add_ps(product(residuals, norm), product(scales, rest));
    let known = _mm512_add_ps(nears, _mm512_set1_ps(base));
    let doubled = _mm512_add_epi32(_mm512_slli_epi32::<5>(products), _mm512_set1_epi32(offset));
    let found = _mm512_mul_ps(_mm512_cvtepi32_ps(doubled), product(scales, half_step));
    _mm512_add_ps(found, _mm512_add_ps(known, hidden))
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
