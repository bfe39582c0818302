//! Rows of numbers as 8-bit codes, each row with a scale of its own: what linear steps take in.

use std::ops::Range;

use crate::encoder::buffer::Buffer;
use crate::encoder::kernel::tile::Rounding;
use crate::encoder::kernel::{LANES, Lanes, Work};

/// A step is never smaller, so that equal numbers do not divide by zero.
const LEAST_STEP: f32 = 1e-12;
const LARGEST_CODE: f32 = 255.0;

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

/// The smallest and largest number of a row so far, in each lane.
#[derive(Debug, Clone, Copy)]
pub(in crate::encoder) struct Span<L> {
    low: L,
    high: L,
}

impl<L: Lanes> Span<L> {
    #[inline(always)]
    pub fn empty() -> Self {
        Self { low: L::splat(f32::INFINITY), high: L::splat(f32::NEG_INFINITY) }
    }

    /// Takes numbers into account; what is no number is passed over here, and found by [`round_row`].
    #[inline(always)]
    pub fn over(self, numbers: L) -> Self {
        Self { low: numbers.or_less(self.low), high: numbers.or_more(self.high) }
    }

    /// The same for the first `count` lanes of `numbers`.
    #[inline(always)]
    pub fn over_first(self, count: usize, numbers: L) -> Self {
        Self {
            low: numbers.first(count, self.low).or_less(self.low),
            high: numbers.first(count, self.high).or_more(self.high),
        }
    }
}

/// Rounds a row's numbers within their span. A row with a number that is not finite gets a step that is none, so that
/// everything made of it is none either, up to the text's vector.
#[inline(always)]
pub(in crate::encoder) fn round_row<L: Lanes>(numbers: &[f32], span: Span<L>, codes: &mut [u8]) -> Rounding {
    let (low, high) = (span.low.least(), span.high.most());
    let range = high - low;
    let step = if range.is_finite() { (range / LARGEST_CODE).max(LEAST_STEP) } else { f32::NAN };
    let (base, inverse) = (L::splat(low), L::splat(1.0 / step));
    let mut doubts = [L::splat(0.0); 2];
    let (pairs, last) = numbers.as_chunks().0.as_chunks();
    let (code_pairs, last_codes) = codes[..numbers.len()].as_chunks_mut().0.as_chunks_mut();
    for ([even, odd], [even_codes, odd_codes]) in pairs.iter().zip(code_pairs) {
        doubts[0] = round_register(even, base, inverse, even_codes, doubts[0]);
        doubts[1] = round_register(odd, base, inverse, odd_codes, doubts[1]);
    }
    for (register, codes) in last.iter().zip(last_codes) {
        doubts[0] = round_register(register, base, inverse, codes, doubts[0]);
    }
    Rounding { step: step + doubts[0].plus(doubts[1]).total(), low }
}

/// Rounds 16 numbers; `doubt` stays zero where they are finite.
#[inline(always)]
fn round_register<L: Lanes>(from: &[f32; LANES], base: L, inverse: L, to: &mut [u8; LANES], doubt: L) -> L {
    let scaled = L::load(from).minus(base).times(inverse);
    scaled.round(to);
    scaled.times_plus(L::splat(0.0), doubt)
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
    let mut span = Span::empty();
    for register in &registers[..whole] {
        span = span.over(L::load(register));
    }
    if rest > 0 { span.over_first(rest, L::load(&registers[whole])) } else { span }
}
