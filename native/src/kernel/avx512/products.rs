//! Products of halves of codes with a query, of 16 vectors at a time.

use std::arch::x86_64::{
    __m512i, _mm512_add_epi32, _mm512_and_si512, _mm512_dpbusd_epi32, _mm512_load_si512, _mm512_reduce_add_epi32,
    _mm512_set1_epi8, _mm512_setzero_si512, _mm512_shuffle_i32x4, _mm512_srai_epi32, _mm512_storeu_si512,
    _mm512_unpackhi_epi32, _mm512_unpackhi_epi64, _mm512_unpacklo_epi32, _mm512_unpacklo_epi64,
};

use crate::kernel::codes::CodeLine;
use crate::kernel::query::{NumberLine, QueryCodes, fetch};
use crate::kernel::reach::BLOCK;

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(super) fn product(query: &[NumberLine], row: &[CodeLine]) -> i32 {
    let mut sums = Sums::new();
    for ([low, high], line) in query.as_chunks().0.iter().zip(row) {
        sums.add(codes(line), numbers(low), numbers(high));
    }
    _mm512_reduce_add_epi32(sums.whole())
}

/// Sums of products with the low halves of bytes, and of 16 times those with the high ones: so these need no shift.
#[derive(Clone, Copy)]
struct Sums {
    low: __m512i,
    high: __m512i,
}

impl Sums {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn new() -> Self {
        Self { low: _mm512_setzero_si512(), high: _mm512_setzero_si512() }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn add(&mut self, codes: __m512i, low: __m512i, high: __m512i) {
        let (lows, highs) = (_mm512_set1_epi8(0x0f), _mm512_set1_epi8(0xf0_u8.cast_signed()));
        self.low = _mm512_dpbusd_epi32(self.low, _mm512_and_si512(codes, lows), low);
        self.high = _mm512_dpbusd_epi32(self.high, _mm512_and_si512(codes, highs), high);
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn whole(self) -> __m512i {
        _mm512_add_epi32(self.low, _mm512_srai_epi32::<4>(self.high))
    }
}

/// Rows whose products are added up, and turned to bounds, together: a fifth of the steps that rows alone take.
pub(super) const TOGETHER: usize = 16;

/// Products of halves of codes with the query, of up to a block of vectors; `false` where the query does not fit registers
/// and nothing is done. What `ahead` lists is asked for meanwhile.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(super) fn products_together(
    query: &QueryCodes,
    halves: &[CodeLine],
    numbers: &[u32],
    ahead: &[u32],
    out: &mut [i32; BLOCK],
) -> bool {
    match query.numbers.len() {
        6 => products::<6, 3>(query, halves, numbers, ahead, out),
        12 => products::<12, 6>(query, halves, numbers, ahead, out),
        _ => return false,
    }
    true
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn products<const NUMBERS: usize, const STRIDE: usize>(
    query: &QueryCodes,
    halves: &[CodeLine],
    rows: &[u32],
    ahead: &[u32],
    out: &mut [i32; BLOCK],
) {
    let mut lines = [_mm512_setzero_si512(); NUMBERS];
    for (line, q) in lines.iter_mut().zip(&query.numbers) {
        *line = numbers(q);
    }
    let all = halves.as_chunks::<STRIDE>().0;
    let mut ahead = ahead.chunks(ahead.len().div_ceil(rows.len().max(1)).max(1) * 4);
    for (rows, out) in rows.chunks(TOGETHER).zip(out.as_chunks_mut::<TOGETHER>().0) {
        let (rows, mut quarters) = (filled(rows), [_mm512_setzero_si512(); 4]);
        for (quarter, four) in quarters.iter_mut().zip(rows.as_chunks::<4>().0) {
            fetch(ahead.next().unwrap_or_default(), halves, STRIDE);
            let mut each = [_mm512_setzero_si512(); 4];
            for (each, &row) in each.iter_mut().zip(four) {
                let mut sums = Sums::new();
                for (q, line) in lines.as_chunks::<2>().0.iter().zip(&all[row as usize]) {
                    sums.add(codes(line), q[0], q[1]);
                }
                *each = sums.whole();
            }
            *quarter = beside(each);
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
