//! Vectors rounded to 8-bit codes, and a bound on what the rounding can hide.
//!
//! A vector is kept as x = s·c + r with a scale s and codes c of −127 to 127; a query is rounded to q = t·Q + e with
//! whole numbers Q in the same range. By Cauchy and Schwarz
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

/// 64 whole numbers of a query that meet one [`CodeLine`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct NumberLine(pub [i8; CODES]);

/// The same in 16 bits, for instruction sets that multiply no bytes without saturation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct WideLine(pub [i16; CODES]);

/// The code of nothing.
const ZERO: u8 = 128;
/// The largest code, and the largest number of a query.
const MOST: f32 = 127.0;
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
    pub numbers: Vec<NumberLine>,
    /// The same.
    pub wide: Vec<WideLine>,
    /// −128 · ΣQ: stored codes are larger by 128.
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
        let largest = query.iter().fold(0f32, |most, x| most.max(x.abs()));
        let step = largest / MOST;
        // Where the step is 0 all of the query is in the rest.
        let inverse = if step > 0.0 { f64::from(step).recip() } else { 0.0 };
        let numbers: Vec<i8> = query.iter().map(|&x| rounded(f64::from(x) * inverse)).collect();
        let lefts = query.iter().zip(&numbers).map(|(&x, &n)| f64::from(x) - f64::from(step) * f64::from(n));
        let rest = lefts.map(|e| e * e).sum::<f64>().sqrt();
        let norm = query.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt();
        let sum: i32 = numbers.iter().map(|&n| i32::from(n)).sum();
        let lines: Vec<_> = numbers.chunks(CODES).map(number_line).collect();
        Self {
            wide: lines.iter().map(|line| WideLine(line.0.map(i16::from))).collect(),
            numbers: lines,
            offset: sum * -i32::from(ZERO),
            step,
            norm: above(norm * ROOM),
            rest: above(rest * ROOM),
        }
    }

    /// What the kernel's inner product with a vector is not above, given that of the stored codes with Q.
    #[inline(always)]
    #[allow(clippy::inline_always)] // must take on the instruction set of the kernel that calls it
    pub(super) fn bound(&self, product: i32, vectors: &Coded<'_>, number: u32) -> f32 {
        let Sketch { scale, residual } = vectors.sketches[number as usize];
        let hidden = residual * self.norm + (scale * (self.rest * vectors.norm) + TINY);
        (product + self.offset) as f32 * (scale * self.step) + hidden
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

/// The nearest code.
fn rounded(x: f64) -> i8 {
    const ROUND: f64 = 6_755_399_441_055_744.0; // 1.5 · 2^52
    // The lowest bits are those of the nearest whole number.
    (x.clamp(f64::from(-MOST), f64::from(MOST)) + ROUND).to_bits() as i8
}

fn number_line(chunk: &[i8]) -> NumberLine {
    let mut line = NumberLine([0; CODES]);
    line.0[..chunk.len()].copy_from_slice(chunk);
    line
}
