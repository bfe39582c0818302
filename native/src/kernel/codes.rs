//! Vectors rounded to 8-bit codes, and a bound on what the rounding can hide.
//!
//! A vector is kept as x = s·c + r with a scale s and codes c of −127 to 127; a query is rounded to q = t·Q + e with
//! whole numbers Q so small that every ⟨c, Q⟩ fits 32 bits. By Cauchy and Schwarz
//!
//! ```text
//! ⟨x, q⟩ = s·t·⟨c, Q⟩ + s·⟨c, e⟩ + ⟨r, q⟩  ≤  s·t·⟨c, Q⟩ + s·‖c‖·‖e‖ + ‖r‖·‖q‖
//! ```
//!
//! The first term is exact in whole numbers, so the bound is the same for every instruction set. Single precision
//! (u = 2⁻²⁴) adds three errors, all counted in [`Sketch::residual`]:
//!
//! * What is bounded is the kernel's inner product of half with single precision. On any path of it a product is
//!   rounded once and then takes part in at most lines + 32 additions, so it is off by (lines + 34)·u·‖x‖·‖q‖ at most.
//! * s·t·⟨c, Q⟩ is rounded three times. Rounding to nearest never more than doubles, so ‖t·Q‖ ≤ 2·‖q‖ and the error is
//!   below 7·u·s·‖c‖·‖q‖ with s·‖c‖ ≤ ‖x‖ + ‖r‖.
//! * Adding up the bound: four roundings of terms that are not larger than 3·(‖x‖ + ‖r‖)·‖q‖ together, 13·u of it.
//!
//! Together less than (lines + 64)·u·(‖x‖ + ‖r‖)·‖q‖. Norms are taken in double precision and enlarged by [`ROOM`], far
//! more than their own error. What is lost where products are subnormal is below [`TINY`].

use super::lanes::{LANES, Line, widen};

/// Codes in a line.
pub const CODES: usize = 64;

/// 64 codes, each plus 128, one cache line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct CodeLine(pub [u8; CODES]);

/// 64 signed parts of a query that meet one [`CodeLine`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct PlaneLine(pub [i8; CODES]);

/// 64 whole numbers of a query that meet one [`CodeLine`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct WideLine(pub [i16; CODES]);

/// The code of nothing.
const ZERO: u8 = 128;
/// The largest code.
const MOST: f32 = 127.0;
/// The largest number of a query: 127·128 + 63, so that both of its planes fit 8 bits.
const MOST_WIDE: f64 = 16_319.0;
/// Adding this number leaves the nearest integer in the low bits of the sum.
const ROUND: f32 = 12_582_912.0; // 1.5 · 2^23
const ROOM: f64 = 1.0 + 1.0 / (1 << 20) as f64;
const TINY: f32 = 7.888_609e-31; // 2^-100
const UNIT: f64 = 1.0 / (1 << 24) as f64;

/// What is kept of a vector beside its codes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
pub struct Sketch {
    /// s: what a code of 1 stands for.
    pub scale: f32,
    /// At least ‖r‖ and the share of single precision's errors, see above.
    pub residual: f32,
}

/// Lines of codes that a vector of this many lines takes.
pub const fn code_lines_for(lines: usize) -> usize {
    lines.div_ceil(CODES / LANES)
}

/// The codes of a vector, its sketch, and ‖c‖².
pub fn encode(vector: &[Line], codes: &mut [CodeLine]) -> (Sketch, i32) {
    let components = || vector.iter().flat_map(|line| line.0);
    let largest = components().fold(0f32, |most, bits| most.max(widen(bits & 0x7fff)));
    // At least 2^-31, so that its reciprocal is finite.
    let scale = largest / MOST;
    let inverse = if scale > 0.0 { scale.recip() } else { 0.0 };
    let (mut left, mut all, mut square) = (0f64, 0f64, 0i32);
    codes.fill(CodeLine([ZERO; CODES]));
    for (half, line) in vector.iter().enumerate() {
        let own = &mut codes[half / 2].0[half % 2 * LANES..][..LANES];
        for (code, bits) in own.iter_mut().zip(line.0) {
            let x = widen(bits);
            let c = ((x * inverse + ROUND) - ROUND).clamp(-MOST, MOST);
            *code = (c as i8).cast_unsigned() ^ ZERO;
            let r = f64::from(x) - f64::from(scale) * f64::from(c);
            left += r * r;
            all += f64::from(x) * f64::from(x);
            square += c as i32 * c as i32;
        }
    }
    (Sketch { scale, residual: residual(left.sqrt(), all.sqrt(), vector.len()) }, square)
}

fn residual(left: f64, all: f64, lines: usize) -> f32 {
    above((left + (lines as f64 + 64.0) * UNIT * (all + left)) * ROOM)
}

/// A single-precision number that is not below `x`.
pub fn above(x: f64) -> f32 {
    (x as f32).next_up()
}

/// A single-precision number that is not above `x`.
pub fn below(x: f64) -> f32 {
    (x as f32).next_down()
}

/// A query rounded to whole numbers, in the forms that instruction sets read.
#[derive(Debug, Clone)]
pub struct QueryCodes {
    /// The numbers Q.
    pub wide: Vec<WideLine>,
    /// `high` · 128 + `low` = Q.
    pub high: Vec<PlaneLine>,
    /// See `high`.
    pub low: Vec<PlaneLine>,
    /// −128 · ΣQ, modulo 2^32: stored codes are larger by 128.
    offset: i32,
    /// t: what a number of 1 stands for.
    step: f32,
    /// At least ‖q‖.
    norm: f32,
    /// At least ‖e‖.
    rest: f32,
}

impl QueryCodes {
    /// Of a finite query.
    pub fn new(query: &[f32]) -> Self {
        let most = MOST_WIDE.min(f64::from(i32::MAX) / (f64::from(MOST) * query.len() as f64)).floor();
        let largest = query.iter().fold(0f32, |most, x| most.max(x.abs()));
        let step = (f64::from(largest) / most) as f32;
        // Where the step is 0 all of the query is in the rest.
        let inverse = if step > 0.0 { f64::from(step).recip() } else { 0.0 };
        let numbers: Vec<i16> = query.iter().map(|&x| rounded(f64::from(x) * inverse, most)).collect();
        let lefts = query.iter().zip(&numbers).map(|(&x, &n)| f64::from(x) - f64::from(step) * f64::from(n));
        let rest = lefts.map(|e| e * e).sum::<f64>().sqrt();
        let norm = query.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt();
        let sum = numbers.iter().fold(0i32, |sum, &n| sum.wrapping_add(i32::from(n)));
        let (norm, rest) = (above(norm * ROOM), above(rest * ROOM));
        let wide: Vec<_> = numbers.chunks(CODES).map(wide_line).collect();
        let high = wide.iter().map(|line| PlaneLine(line.0.map(high_part))).collect();
        let low = wide.iter().map(|line| PlaneLine(line.0.map(low_part))).collect();
        Self { wide, high, low, offset: sum.wrapping_mul(-i32::from(ZERO)), step, norm, rest }
    }

    /// What the kernel's inner product with a vector is not above, given that with its stored codes, modulo 2^32.
    #[inline(always)]
    #[allow(clippy::inline_always)] // must take on the instruction set of the kernel that calls it
    pub(super) fn bound(&self, product: i32, vectors: &Coded<'_>, number: u32) -> f32 {
        let Sketch { scale, residual } = vectors.sketches[number as usize];
        let hidden = residual * self.norm + (scale * (self.rest * vectors.norm) + TINY);
        self.offset.wrapping_add(product) as f32 * (scale * self.step) + hidden
    }
}

/// Coded vectors, one after another.
#[derive(Debug, Clone, Copy)]
pub struct Coded<'a> {
    /// As many for each vector as a query has.
    pub lines: &'a [CodeLine],
    /// Of each vector.
    pub sketches: &'a [Sketch],
    /// No ‖c‖ is larger.
    pub norm: f32,
}

/// Which vectors to look at, and which afterwards.
#[derive(Debug, Clone, Copy)]
pub struct Look<'a> {
    /// These now.
    pub numbers: &'a [u32],
    /// These next: they are asked for from memory.
    pub ahead: &'a [u32],
}

impl Look<'_> {
    /// Asks for some of the next vectors when the `i`th of these is looked at, so that all were asked for in the end.
    #[inline(always)]
    #[allow(clippy::inline_always)] // as above
    pub(super) fn fetch_ahead(&self, i: usize, lines: &[CodeLine], stride: usize) {
        let each = self.ahead.len().div_ceil(self.numbers.len());
        for &number in self.ahead.iter().skip(i * each).take(each) {
            let start = number as usize * stride;
            lines.get(start..start + stride).into_iter().flatten().for_each(fetch);
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn fetch(line: &CodeLine) {
    use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
    // SAFETY: it changes nothing but what the caches hold.
    unsafe { _mm_prefetch::<_MM_HINT_T1>(line.0.as_ptr().cast()) }
}

#[cfg(not(target_arch = "x86_64"))]
fn fetch(_line: &CodeLine) {}

/// The nearest whole number within ±`most`.
fn rounded(x: f64, most: f64) -> i16 {
    const ROUND: f64 = 6_755_399_441_055_744.0; // 1.5 · 2^52
    // Its lowest 16 bits are those of the nearest whole number.
    (x.clamp(-most, most) + ROUND).to_bits() as i16
}

fn wide_line(chunk: &[i16]) -> WideLine {
    let mut line = WideLine([0; CODES]);
    line.0[..chunk.len()].copy_from_slice(chunk);
    line
}

fn high_part(number: i16) -> i8 {
    ((number + 64) >> 7) as i8
}

fn low_part(number: i16) -> i8 {
    (number - (i16::from(high_part(number)) << 7)) as i8
}
