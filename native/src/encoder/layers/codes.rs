//! Rows of numbers as 8-bit codes, each row with a scale of its own: what linear steps take in.

use std::ops::Range;

use crate::encoder::buffer::Buffer;
use crate::encoder::kernel::curves::{INTEGERS, gelu};
use crate::encoder::kernel::tile::Rounding;
use crate::encoder::kernel::{LANES, Lanes, Work};

/// A step is never smaller, so that zeros do not divide by zero.
const LEAST_STEP: f32 = 1e-12;

/// A row's span has so many steps: one less than there are between codes, because zero goes to the next code.
const STEPS: f32 = 254.0;

/// Codes of rows, [rows, stride].
#[derive(Debug)]
pub(in crate::encoder) struct Codes {
    bytes: Buffer<u8>,
    roundings: Vec<Rounding>,
    stride: usize,
}

impl Codes {
    /// Room for `rows` of `width` codes.
    pub fn new(rows: usize, width: usize) -> Self {
        let stride = width.next_multiple_of(2 * LANES);
        Self { bytes: Buffer::new(rows * stride), roundings: vec![Rounding::default(); rows], stride }
    }

    /// Bytes between rows.
    pub const fn stride(&self) -> usize {
        self.stride
    }

    /// A row to be written: its codes, of which there may be more than its numbers, and their worth.
    pub fn row(&mut self, row: usize) -> (&mut [u8], &mut Rounding) {
        (&mut self.bytes[row * self.stride..][..self.stride], &mut self.roundings[row])
    }

    /// Some rows to be read.
    pub fn rows(&self, rows: Range<usize>) -> (&[u8], &[Rounding]) {
        (&self.bytes[rows.start * self.stride..rows.end * self.stride], &self.roundings[rows])
    }

    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        self.bytes.bytes() + size_of_val(self.roundings.as_slice())
    }
}

/// The smallest and largest number of a row so far, and zero, in each lane. One of them is no number where one of the
/// row is none.
#[derive(Debug, Clone, Copy)]
pub(in crate::encoder) struct Span<L> {
    low: L,
    high: L,
}

impl<L: Lanes> Span<L> {
    #[inline(always)]
    pub fn of_zero() -> Self {
        Self { low: L::splat(-0.0), high: L::splat(0.0) }
    }

    /// Takes numbers into account.
    #[inline(always)]
    pub fn over(self, numbers: L) -> Self {
        Self { low: self.low.or_below(numbers), high: self.high.or_above(numbers) }
    }
}

/// Rounds a row's numbers within their span. A row with a number that is not finite gets a step that is none, so that
/// everything made of it is none either, up to the text's vector.
#[inline(always)]
pub(in crate::encoder) fn round_row<L: Lanes>(numbers: &[f32], span: Span<L>, codes: &mut [u8]) -> Rounding {
    let (low, high) = (span.low.lowest(), span.high.highest());
    let range = high - low;
    let step = if range.is_finite() { (range / STEPS).max(LEAST_STEP) } else { f32::NAN };
    let inverse = 1.0 / step;
    let zero = (-low * inverse).ceil();
    let (factor, base) = (L::splat(inverse), L::splat(INTEGERS + zero));
    for (register, codes) in numbers.as_chunks().0.iter().zip(codes.as_chunks_mut().0) {
        L::load(register).times_plus(factor, base).store_codes(codes);
    }
    Rounding { step, zero: zero as i32 }
}

/// Takes the GELU of rows in place, [rows, stride], and rounds them. Their first `width` numbers count, whole registers.
pub(in crate::encoder) struct GeluRows<'a> {
    pub numbers: &'a mut [f32],
    pub stride: usize,
    pub width: usize,
    pub codes: &'a mut Codes,
}

impl Work for GeluRows<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        for (row, numbers) in self.numbers.chunks_exact_mut(self.stride).enumerate() {
            let numbers = &mut numbers[..self.width];
            let mut span = Span::of_zero();
            for register in numbers.as_chunks_mut().0 {
                let curved = gelu(L::load(register));
                curved.store(register);
                span = span.over(curved);
            }
            let (codes, rounding) = self.codes.row(row);
            *rounding = round_row(numbers, span, codes);
        }
    }
}

/// Rounds rows that were written whole, [rows, stride], of which the first `width` numbers count.
pub(in crate::encoder) struct RoundRows<'a> {
    pub numbers: &'a [f32],
    pub stride: usize,
    pub width: usize,
    pub codes: &'a mut Codes,
}

impl Work for RoundRows<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        let padded = self.width.next_multiple_of(LANES);
        for (row, numbers) in self.numbers.chunks_exact(self.stride).enumerate() {
            let (codes, rounding) = self.codes.row(row);
            *rounding = round_row(&numbers[..padded], span_of::<L>(numbers, self.width), codes);
        }
    }
}

#[inline(always)]
fn span_of<L: Lanes>(numbers: &[f32], width: usize) -> Span<L> {
    let (whole, rest) = (width / LANES, width % LANES);
    let registers = numbers.as_chunks().0;
    let mut span = Span::of_zero();
    for register in &registers[..whole] {
        span = span.over(L::load(register));
    }
    if rest > 0 { span.over(L::load(&registers[whole]).first(rest, L::splat(0.0))) } else { span }
}
