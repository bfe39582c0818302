//! Bounds by codes, of 16 vectors at a time: their sums and what follows take a fifth of the steps of one alone.

use std::arch::x86_64::{
    __m512, __m512i, _mm512_add_epi32, _mm512_add_ps, _mm512_cvtepi32_ps, _mm512_loadu_ps, _mm512_loadu_si512,
    _mm512_maskz_compress_epi32, _mm512_maskz_expand_epi32, _mm512_mul_ps, _mm512_set1_epi32, _mm512_set1_ps,
    _mm512_setr_epi32, _mm512_setzero_ps, _mm512_slli_epi32, _mm512_storeu_ps, _mm512_storeu_si512,
};

use super::products::{TOGETHER, product, products_together};
use crate::kernel::codes::Coded;
use crate::kernel::query::{Grain, Look, QueryCodes, Terms, Window};
use crate::kernel::reach::BLOCK;

/// Bounds of inner products, as [`crate::kernel::Kernel::bounds`] says.
///
/// # Safety
///
/// The machine has AVX-512 (F, BW, VNNI).
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(in crate::kernel) unsafe fn bounds(query: &QueryCodes, vectors: &Coded<'_>, look: &Look<'_>, out: &mut [f32]) {
    for (numbers, out) in look.numbers.chunks(BLOCK).zip(out.chunks_mut(BLOCK)) {
        let mut doubled = [0; BLOCK];
        if doubled_together(query, vectors, &Look { numbers, ..*look }, &mut doubled) {
            for ((numbers, out), doubled) in
                numbers.chunks(TOGETHER).zip(out.chunks_mut(TOGETHER)).zip(doubled.as_chunks().0)
            {
                bounds_apart(query, vectors, &Look { numbers, ..*look }, doubled, out);
            }
        } else {
            for (&number, out) in numbers.iter().zip(out) {
                let doubled = query.doubled(look.grain, vectors, number, |row| product(&query.numbers, row));
                *out = query.bound(doubled, vectors, look.grain, number);
            }
        }
    }
}

/// Twice the products of what is stored with the query, as [`products_together`] finds them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn doubled_together(query: &QueryCodes, vectors: &Coded<'_>, look: &Look<'_>, out: &mut [i32; BLOCK]) -> bool {
    if !products_together(query, vectors.high, look.numbers, &[], out) {
        return false;
    }
    let mut low = [0; BLOCK];
    if look.grain == Grain::Fine {
        products_together(query, vectors.low, look.numbers, &[], &mut low);
    }
    for (out, low) in out.iter_mut().zip(low) {
        *out = 32 * *out + 2 * low;
    }
    true
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
    if !products_together(query, vectors.high, numbers, ahead, own) {
        for (product_of, &number) in own.iter_mut().zip(numbers) {
            let stride = query.numbers.len() / 2;
            *product_of = product(&query.numbers, &vectors.high[number as usize * stride..][..stride]);
        }
    }
    let (columns, terms) = (Columns::of(vectors, Grain::Coarse, window.first), query.terms(vectors, Grain::Coarse));
    let mut before = 0;
    for (quarter, out) in out.as_chunks_mut::<TOGETHER>().0.iter_mut().enumerate() {
        let wanted = (window.rows >> (quarter * TOGETHER)) as u16;
        // SAFETY: these are 16 numbers.
        let own = unsafe { _mm512_loadu_si512(products[before..][..TOGETHER].as_ptr().cast()) };
        let own = _mm512_maskz_expand_epi32(wanted, own);
        before += if wanted == u16::MAX { TOGETHER } else { wanted.count_ones() as usize };
        let doubled = _mm512_slli_epi32::<5>(own);
        let bounds = bounds_of(&terms, doubled, columns.sixteen(quarter * TOGETHER));
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

/// Scales, products with the centre, and residuals of the codes.
struct Columns<'a>([&'a [f32]; 3]);

impl<'a> Columns<'a> {
    /// Of the vectors from `first` on.
    #[inline]
    fn of(vectors: &Coded<'a>, grain: Grain, first: usize) -> Self {
        let all = vectors.sketches;
        Self([&all.scales, &all.nears, grain.residuals(vectors)].map(|column| &column[first..]))
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
fn bounds_apart(query: &QueryCodes, vectors: &Coded<'_>, look: &Look<'_>, doubled: &[i32; TOGETHER], out: &mut [f32]) {
    let (mut own, all) = ([[0.0; TOGETHER]; 3], Columns::of(vectors, look.grain, 0));
    for (own, column) in own.iter_mut().zip(all.0) {
        for (own, &number) in own.iter_mut().zip(look.numbers) {
            *own = column[number as usize];
        }
    }
    let columns = Columns([&own[0], &own[1], &own[2]]).sixteen(0);
    let mut bounds = [0.0; TOGETHER];
    // SAFETY: these are 16 numbers each.
    unsafe {
        let doubled = _mm512_loadu_si512(doubled.as_ptr().cast());
        _mm512_storeu_ps(bounds.as_mut_ptr(), bounds_of(&query.terms(vectors, look.grain), doubled, columns));
    }
    out.copy_from_slice(&bounds[..out.len()]);
}

/// [`QueryCodes::bound`] of 16 vectors, the same steps in the same order.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn bounds_of(terms: &Terms, doubled: __m512i, [scales, nears, residuals]: [__m512; 3]) -> __m512 {
    let Terms { offset, half_step, base, norm, rest } = *terms;
    let product = |a, b| _mm512_mul_ps(a, _mm512_set1_ps(b));
    let hidden = _mm512_add_ps(product(residuals, norm), product(scales, rest));
    let known = _mm512_add_ps(nears, _mm512_set1_ps(base));
    let doubled = _mm512_add_epi32(doubled, _mm512_set1_epi32(offset));
    let found = _mm512_mul_ps(_mm512_cvtepi32_ps(doubled), product(scales, half_step));
    _mm512_add_ps(found, _mm512_add_ps(known, hidden))
}
