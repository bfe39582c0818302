//! AVX-512 with VNNI: a register is 16 lanes, and one instruction adds 64 products of 8-bit integers.

use std::arch::x86_64::{
    __m512, __m512i, _MM_HINT_T1, _mm_loadu_si128, _mm_prefetch, _mm_storeu_si128, _mm512_abs_ps, _mm512_add_epi32,
    _mm512_add_ps, _mm512_castps_si512, _mm512_castsi512_ps, _mm512_cvtepi8_epi32, _mm512_cvtepi32_epi8,
    _mm512_cvtepi32_ps, _mm512_cvtps_epi32, _mm512_div_ps, _mm512_dpbusd_epi32, _mm512_dpwssd_epi32, _mm512_fmadd_ps,
    _mm512_loadu_ps, _mm512_loadu_si512, _mm512_mask_mov_epi16, _mm512_mask_mov_ps, _mm512_max_epi32, _mm512_max_epu32,
    _mm512_max_ps, _mm512_min_ps, _mm512_mul_ps, _mm512_mullo_epi32, _mm512_permutex2var_ps, _mm512_reduce_add_ps,
    _mm512_reduce_max_epi32, _mm512_reduce_max_epu32, _mm512_set1_epi32, _mm512_set1_ps, _mm512_setzero_si512,
    _mm512_shuffle_f32x4, _mm512_shuffle_ps, _mm512_slli_epi32, _mm512_storeu_ps, _mm512_storeu_si512, _mm512_sub_ps,
    _mm512_unpackhi_ps, _mm512_unpacklo_ps,
};

use super::{LANES, Lanes, Pairs, Step, Work, tile};

/// Whether this machine has what [`Avx512`] uses.
pub(in crate::encoder) fn is_available() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vnni")
}

/// 16 lanes in a register. Only where [`is_available`] holds may this type be used at all; `Isa` sees to it.
#[derive(Clone, Copy)]
pub(in crate::encoder) struct Avx512(__m512);

/// Runs `work`. The machine must have the instruction set.
pub(in crate::encoder) fn run<W: Work>(work: W) -> W::Output {
    Avx512::outline(work)
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline(never)]
fn compiled<W: Work>(work: W) -> W::Output {
    work.run::<Avx512>()
}

/// An intrinsic without memory operands.
macro_rules! intrinsic {
    ($call:expr) => {
        // SAFETY: the type is used only where the machine has the instruction set.
        unsafe { $call }
    };
}

/// An intrinsic that reads or writes what a reference to its whole operand points at.
macro_rules! on_memory {
    ($call:expr) => {
        // SAFETY: as above; the reference spans what is read or written, and no alignment is asked for.
        unsafe { $call }
    };
}

impl Avx512 {
    #[inline(always)]
    fn bits(self) -> __m512i {
        intrinsic!(_mm512_castps_si512(self.0))
    }

    #[inline(always)]
    fn of_bits(bits: __m512i) -> Self {
        Self(intrinsic!(_mm512_castsi512_ps(bits)))
    }
}

impl Lanes for Avx512 {
    type Ints = __m512i;

    #[inline(always)]
    fn outline<W: Work>(work: W) -> W::Output {
        intrinsic!(compiled(work))
    }

    #[inline(always)]
    fn splat(number: f32) -> Self {
        Self(intrinsic!(_mm512_set1_ps(number)))
    }

    #[inline(always)]
    fn load(from: &[f32; LANES]) -> Self {
        Self(on_memory!(_mm512_loadu_ps(from.as_ptr())))
    }

    #[inline(always)]
    fn widen(from: &[i8; LANES]) -> Self {
        Self(on_memory!(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(from.as_ptr().cast())))))
    }

    #[inline(always)]
    fn store(self, to: &mut [f32; LANES]) {
        on_memory!(_mm512_storeu_ps(to.as_mut_ptr(), self.0));
    }

    #[inline(always)]
    fn store_codes(self, to: &mut [u8; LANES]) {
        on_memory!(_mm_storeu_si128(to.as_mut_ptr().cast(), _mm512_cvtepi32_epi8(_mm512_castps_si512(self.0))));
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Self(intrinsic!(_mm512_add_ps(self.0, other.0)))
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        Self(intrinsic!(_mm512_sub_ps(self.0, other.0)))
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        Self(intrinsic!(_mm512_mul_ps(self.0, other.0)))
    }

    #[inline(always)]
    fn over(self, other: Self) -> Self {
        Self(intrinsic!(_mm512_div_ps(self.0, other.0)))
    }

    #[inline(always)]
    fn times_plus(self, factor: Self, term: Self) -> Self {
        Self(intrinsic!(_mm512_fmadd_ps(self.0, factor.0, term.0)))
    }

    #[inline(always)]
    fn or_less(self, other: Self) -> Self {
        Self(intrinsic!(_mm512_min_ps(self.0, other.0)))
    }

    #[inline(always)]
    fn or_more(self, other: Self) -> Self {
        Self(intrinsic!(_mm512_max_ps(self.0, other.0)))
    }

    #[inline(always)]
    fn or_above(self, other: Self) -> Self {
        Self::of_bits(intrinsic!(_mm512_max_epi32(self.bits(), other.bits())))
    }

    #[inline(always)]
    fn or_below(self, other: Self) -> Self {
        Self::of_bits(intrinsic!(_mm512_max_epu32(self.bits(), other.bits())))
    }

    #[inline(always)]
    fn or_size(self, other: Self) -> Self {
        self.or_above(Self(intrinsic!(_mm512_abs_ps(other.0))))
    }

    #[inline(always)]
    fn times_two_to(self, power: Self) -> Self {
        // Added to the exponent, which costs less than the instruction for any power.
        let exponent = intrinsic!(_mm512_slli_epi32::<23>(power.bits()));
        Self::of_bits(intrinsic!(_mm512_add_epi32(self.bits(), exponent)))
    }

    #[inline(always)]
    fn pick(table: &[f32; 2 * LANES], place: Self) -> Self {
        let [low, high] = tile::halves::<Self>(table);
        Self(intrinsic!(_mm512_permutex2var_ps(low.0, place.bits(), high.0)))
    }

    #[inline(always)]
    fn first(self, count: usize, rest: Self) -> Self {
        let mask = ((1u32 << count) - 1) as u16;
        Self(intrinsic!(_mm512_mask_mov_ps(rest.0, mask, self.0)))
    }

    #[inline(always)]
    fn total(self) -> f32 {
        intrinsic!(_mm512_reduce_add_ps(self.0))
    }

    #[inline(always)]
    fn lowest(self) -> f32 {
        f32::from_bits(intrinsic!(_mm512_reduce_max_epu32(self.bits())))
    }

    #[inline(always)]
    fn highest(self) -> f32 {
        f32::from_bits(intrinsic!(_mm512_reduce_max_epi32(self.bits())).cast_unsigned())
    }

    #[inline(always)]
    fn no_sums() -> Self::Ints {
        intrinsic!(_mm512_setzero_si512())
    }

    #[inline(always)]
    fn multiples(of: &[i32; LANES], factor: i32) -> Self::Ints {
        on_memory!(_mm512_mullo_epi32(_mm512_loadu_si512(of.as_ptr().cast()), _mm512_set1_epi32(factor)))
    }

    #[inline(always)]
    fn codes(codes: [u8; 4]) -> Self::Ints {
        intrinsic!(_mm512_set1_epi32(i32::from_le_bytes(codes)))
    }

    #[inline(always)]
    fn quads(from: &[u8; 4 * LANES]) -> Self::Ints {
        on_memory!(_mm512_loadu_si512(from.as_ptr().cast()))
    }

    #[inline(always)]
    fn store_quads(quads: Self::Ints, to: &mut [u8; 4 * LANES]) {
        on_memory!(_mm512_storeu_si512(to.as_mut_ptr().cast(), quads));
    }

    #[inline(always)]
    fn turn(rows: [Self::Ints; LANES]) -> [Self::Ints; LANES] {
        quarters(pairs(rows.map(Self::of_bits))).map(Self::bits)
    }

    #[inline(always)]
    fn weights(weights: &[i8; 4 * LANES]) -> Self::Ints {
        on_memory!(_mm512_loadu_si512(weights.as_ptr().cast()))
    }

    #[inline(always)]
    fn add_products(sums: Self::Ints, codes: Self::Ints, weights: Self::Ints) -> Self::Ints {
        intrinsic!(_mm512_dpbusd_epi32(sums, codes, weights))
    }

    #[inline(always)]
    fn pairs(first: Self, second: Self) -> Self::Ints {
        const FIRST_OF_EACH: u32 = 0x5555_5555;
        let second = intrinsic!(_mm512_slli_epi32::<16>(_mm512_cvtps_epi32(second.0)));
        intrinsic!(_mm512_mask_mov_epi16(second, FIRST_OF_EACH, _mm512_cvtps_epi32(first.0)))
    }

    #[inline(always)]
    fn splat_pair(pair: i32) -> Self::Ints {
        intrinsic!(_mm512_set1_epi32(pair))
    }

    #[inline(always)]
    fn load_pairs(from: &Pairs) -> Self::Ints {
        on_memory!(_mm512_loadu_si512(from.as_ptr().cast()))
    }

    #[inline(always)]
    fn store_pairs(pairs: Self::Ints, to: &mut Pairs) {
        on_memory!(_mm512_storeu_si512(to.as_mut_ptr().cast(), pairs));
    }

    #[inline(always)]
    fn add_pairs(sums: Self::Ints, pairs: Self::Ints, others: Self::Ints) -> Self::Ints {
        intrinsic!(_mm512_dpwssd_epi32(sums, pairs, others))
    }

    #[inline(always)]
    fn from_sums(sums: Self::Ints) -> Self {
        Self(intrinsic!(_mm512_cvtepi32_ps(sums)))
    }

    #[inline(always)]
    fn prefetch(line: *const Step) {
        // SAFETY: as above; a prefetch faults at no address.
        unsafe {
            _mm_prefetch::<_MM_HINT_T1>(line.cast());
            _mm_prefetch::<_MM_HINT_T1>(line.wrapping_byte_add(64).cast());
        }
    }
}

/// Transposes the 4 × 4 blocks of numbers within each four rows: row `4r + c` has column `c` of each block.
#[inline(always)]
fn pairs(rows: [Avx512; LANES]) -> [Avx512; LANES] {
    let mut turned = rows;
    for four in turned.as_chunks_mut::<4>().0 {
        let [a, b, c, d] = four.map(|row| row.0);
        let (ab, cd) = intrinsic!((_mm512_unpacklo_ps(a, b), _mm512_unpacklo_ps(c, d)));
        let (ab_high, cd_high) = intrinsic!((_mm512_unpackhi_ps(a, b), _mm512_unpackhi_ps(c, d)));
        *four = intrinsic!([
            Avx512(_mm512_shuffle_ps::<0x44>(ab, cd)),
            Avx512(_mm512_shuffle_ps::<0xee>(ab, cd)),
            Avx512(_mm512_shuffle_ps::<0x44>(ab_high, cd_high)),
            Avx512(_mm512_shuffle_ps::<0xee>(ab_high, cd_high)),
        ]);
    }
    turned
}

/// Transposes the 4 × 4 arrangement of those blocks.
#[inline(always)]
fn quarters(rows: [Avx512; LANES]) -> [Avx512; LANES] {
    let mut turned = rows;
    for column in 0..4 {
        let [a, b, c, d] = [rows[column].0, rows[4 + column].0, rows[8 + column].0, rows[12 + column].0];
        let (ab, cd) = intrinsic!((_mm512_shuffle_f32x4::<0x44>(a, b), _mm512_shuffle_f32x4::<0x44>(c, d)));
        let (ab_high, cd_high) = intrinsic!((_mm512_shuffle_f32x4::<0xee>(a, b), _mm512_shuffle_f32x4::<0xee>(c, d)));
        turned[column] = Avx512(intrinsic!(_mm512_shuffle_f32x4::<0x88>(ab, cd)));
        turned[4 + column] = Avx512(intrinsic!(_mm512_shuffle_f32x4::<0xdd>(ab, cd)));
        turned[8 + column] = Avx512(intrinsic!(_mm512_shuffle_f32x4::<0x88>(ab_high, cd_high)));
        turned[12 + column] = Avx512(intrinsic!(_mm512_shuffle_f32x4::<0xdd>(ab_high, cd_high)));
    }
    turned
}
