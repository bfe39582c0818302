//! A query as the bounds read it.

use super::centre::Centre;
use super::codes::{CodeLine, Coded, HALF, MOST, ROOM, TINY, above, code_lines_for, noise};
use super::lanes::QueryLine;
use super::reach::BLOCK;
use super::rounding::{Left, rounded};

/// 64 whole numbers of a query that meet the low or the high halves of a [`CodeLine`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct NumberLine(pub [i8; HALF]);

/// Queries longer than this are not rounded: 2^64.
const LONGEST: f64 = 18_446_744_073_709_551_616.0;

/// A query rounded to whole numbers, for vectors around one centre.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryCodes {
    /// The numbers Q, two lines for each line of halves.
    pub numbers: Vec<NumberLine>,
    /// ΣQ.
    sum: i32,
    /// t / 2.
    half_step: f32,
    /// At least ⟨μ, q′⟩.
    base: f32,
    /// At least ‖q′‖.
    norm: f32,
    /// At least ‖e‖.
    rest: f32,
}

/// Which of the two sets of codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grain {
    /// From the halves h alone.
    Coarse,
    /// From both halves.
    Fine,
}

/// What a bound is made of beside what is kept of the vectors.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    /// Added to twice the products of what is stored with Q, it makes 2⟨c, Q⟩.
    pub offset: i32,
    /// t / 2.
    pub half_step: f32,
    /// At least ⟨μ, q′⟩.
    pub base: f32,
    /// At least ‖q′‖.
    pub norm: f32,
    /// At least ‖c‖·‖e‖ of every vector.
    pub rest: f32,
}

impl QueryCodes {
    /// Of a finite query, padded with zeros. The sums have the same order, and bits, on every instruction set.
    #[inline(always)]
    #[allow(clippy::inline_always)] // must take on the instruction set of the kernel that calls it
    pub(super) fn new(query: &[QueryLine], centre: &Centre) -> Self {
        let (left, mu) = (Left::of(query, centre), centre.norm());
        if left.norm + mu > LONGEST {
            return Self::unknown(query.len());
        }
        let step = left.largest / MOST;
        let (numbers, sum, rest) = rounded(query, centre, step);
        let slack = noise(query.len()) * (left.norm + mu);
        Self {
            numbers,
            sum,
            half_step: step / 2.0,
            base: above(left.product + slack * mu * ROOM + TINY),
            norm: above((left.norm + slack) * ROOM),
            rest: above((rest + slack) * ROOM),
        }
    }

    /// Bounds everything by the largest number there is.
    fn unknown(lines: usize) -> Self {
        let numbers = vec![NumberLine([0; HALF]); 2 * code_lines_for(lines)];
        Self { numbers, sum: 0, half_step: 0.0, base: f32::MAX, norm: 0.0, rest: 0.0 }
    }

    /// What the kernel's inner product with a vector is not above, given twice the product of what is stored with Q.
    #[inline(always)]
    #[allow(clippy::inline_always)] // must take on the instruction set of the kernel that calls it
    pub(super) fn bound(&self, doubled: i32, vectors: &Coded<'_>, grain: Grain, number: u32) -> f32 {
        let (number, terms) = (number as usize, self.terms(vectors, grain));
        let (scale, near) = (vectors.sketches.scales[number], vectors.sketches.nears[number]);
        let hidden = grain.residuals(vectors)[number] * terms.norm + scale * terms.rest;
        (doubled + terms.offset) as f32 * (scale * terms.half_step) + ((near + terms.base) + hidden)
    }

    /// Twice the product of what is stored of a vector with Q. `product` is that of its halves.
    #[inline(always)]
    #[allow(clippy::inline_always)] // as above
    pub(super) fn doubled(
        &self,
        grain: Grain,
        vectors: &Coded<'_>,
        number: u32,
        product: impl Fn(&[CodeLine]) -> i32,
    ) -> i32 {
        let stride = self.numbers.len() / 2;
        let rows = number as usize * stride..(number as usize + 1) * stride;
        let high = 32 * product(&vectors.high[rows.clone()]);
        match grain {
            Grain::Coarse => high,
            Grain::Fine => high + 2 * product(&vectors.low[rows]),
        }
    }

    /// What [`Self::bound`] takes of the query.
    #[inline(always)]
    #[allow(clippy::inline_always)] // as above
    pub(super) fn terms(&self, vectors: &Coded<'_>, grain: Grain) -> Terms {
        let Self { half_step, base, norm, .. } = *self;
        Terms { offset: self.sum * grain.shift(), half_step, base, norm, rest: self.rest * vectors.norm }
    }
}

impl Grain {
    /// What 2c is less than twice what is stored.
    const fn shift(self) -> i32 {
        match self {
            Self::Coarse => -241,
            Self::Fine => -256,
        }
    }

    /// At least ‖r‖ of each vector.
    #[inline(always)]
    #[allow(clippy::inline_always)] // as above
    pub(super) fn residuals<'a>(self, vectors: &Coded<'a>) -> &'a [f32] {
        match self {
            Self::Coarse => &vectors.sketches.coarse,
            Self::Fine => &vectors.sketches.fine,
        }
    }
}

/// Which vectors to look at.
#[derive(Debug, Clone, Copy)]
pub struct Look<'a> {
    /// These.
    pub numbers: &'a [u32],
    /// By these codes.
    pub grain: Grain,
}

/// Which of 64 vectors side by side to look at, and which of the 64 after them.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// Number of the first.
    pub first: usize,
    /// These now, the first in the lowest bit.
    pub rows: u64,
    /// These of the following next: they are asked for from memory.
    pub next: u64,
}

impl Window {
    /// What to do with each number of these vectors, and with the same place in the next.
    #[inline(always)]
    #[allow(clippy::inline_always)] // must take on the instruction set of the kernel that calls it
    pub(super) fn each(&self, vectors: &Coded<'_>, stride: usize, mut visit: impl FnMut(usize, u32)) {
        for place in (0..BLOCK).filter(|place| self.rows >> place & 1 == 1) {
            let number = (self.first + place) as u32;
            if self.next >> place & 1 == 1 {
                fetch(&[number + BLOCK as u32], vectors.high, stride);
            }
            visit(place, number);
        }
    }
}

/// Asks for the halves of codes of these vectors.
#[inline(always)]
#[allow(clippy::inline_always)] // as above
pub(super) fn fetch(numbers: &[u32], halves: &[CodeLine], stride: usize) {
    for &number in numbers {
        (0..stride).for_each(|line| fetch_line(halves.as_ptr().wrapping_add(number as usize * stride + line)));
    }
}

/// Asks for a line, which need not be there: this changes nothing but what the caches hold.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[allow(clippy::inline_always)] // as above
fn fetch_line(line: *const CodeLine) {
    use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
    // SAFETY: no memory is read.
    unsafe { _mm_prefetch::<_MM_HINT_T1>(line.cast()) }
}

#[cfg(not(target_arch = "x86_64"))]
fn fetch_line(_line: *const CodeLine) {}
