//! The arithmetic of the layers, written once over 16 lanes; one file per instruction set.
//!
//! Every operation is defined to the last bit: products are added with one rounding, additions across lanes go by
//! halves, integers are exact. So all instruction sets give the same vectors.

#[cfg(target_arch = "x86_64")]
pub(super) mod avx512;
pub(super) mod curves;
pub(super) mod scalar;
pub(super) mod tile;

/// Numbers in a register.
pub(super) const LANES: usize = 16;

/// One step of a panel: for each of two registers of columns, the weights of four inputs for each of 16 columns.
pub(super) type Step = [[i8; 4 * LANES]; 2];

/// 16-bit integers, two in the place of each lane; the first is in the lower half.
pub(super) type Pairs = [i32; LANES];

/// Something to be computed with whatever lanes the machine has.
///
/// Implementations of `run`, and all functions that take lanes, are `#[inline(always)]`: they become part of the one
/// function that [`Lanes::outline`] compiles for the instruction set, and use its registers.
pub(super) trait Work {
    /// What comes out.
    type Output;

    /// Does it.
    fn run<L: Lanes>(self) -> Self::Output;
}

/// 16 numbers in single precision.
pub(super) trait Lanes: Copy {
    /// 16 integers of 32 bits, or two 16-bit or four 8-bit ones in the place of each.
    type Ints: Copy;

    /// Runs `work` in a function of its own, compiled for this instruction set.
    fn outline<W: Work>(work: W) -> W::Output;

    /// The same number 16 times.
    fn splat(number: f32) -> Self;

    /// From memory.
    fn load(from: &[f32; LANES]) -> Self;

    /// From 8-bit integers.
    fn widen(from: &[i8; LANES]) -> Self;

    /// To memory.
    fn store(self, to: &mut [f32; LANES]);

    /// The lowest eight bits of each lane.
    fn store_codes(self, to: &mut [u8; LANES]);

    /// `self + other`.
    fn plus(self, other: Self) -> Self;

    /// `self - other`.
    fn minus(self, other: Self) -> Self;

    /// `self * other`.
    fn times(self, other: Self) -> Self;

    /// `self / other`.
    fn over(self, other: Self) -> Self;

    /// `self * factor + term`, rounded once.
    fn times_plus(self, factor: Self, term: Self) -> Self;

    /// The smaller one; `other` where either is no number.
    fn or_less(self, other: Self) -> Self;

    /// The larger one; `other` where either is no number.
    fn or_more(self, other: Self) -> Self;

    /// `self`, whose sign is plus, or `other` where that is larger. What is no number of that sign is larger than any.
    fn or_above(self, other: Self) -> Self;

    /// `self`, whose sign is minus, or `other` where that is smaller. What is no number of that sign is smaller than any.
    fn or_below(self, other: Self) -> Self;

    /// `self`, whose sign is plus, or `|other|` where that is larger. What is no number is larger than any.
    fn or_size(self, other: Self) -> Self;

    /// `self * 2^power` for an integer power of -126 to 127, which is in the lowest nine bits; neither `self` nor what
    /// comes out is zero or subnormal.
    fn times_two_to(self, power: Self) -> Self;

    /// For each lane the number of `table` whose place the lowest five bits of `place` say.
    fn pick(table: &[f32; 2 * LANES], place: Self) -> Self;

    /// The first `count` lanes of `self`, the others of `rest`.
    fn first(self, count: usize, rest: Self) -> Self;

    /// The sum of all lanes: halves are added until one number is left.
    fn total(self) -> f32;

    /// The lowest of lanes whose signs are minus, in the order of [`Lanes::or_below`].
    fn lowest(self) -> f32;

    /// The highest of lanes whose signs are plus, in the order of [`Lanes::or_above`].
    fn highest(self) -> f32;

    /// 16 zeros.
    fn no_sums() -> Self::Ints;

    /// Integers times `factor`, in 32 bits.
    fn multiples(of: &[i32; LANES], factor: i32) -> Self::Ints;

    /// Four codes, 16 times.
    fn codes(codes: [u8; 4]) -> Self::Ints;

    /// From memory.
    fn quads(from: &[u8; 4 * LANES]) -> Self::Ints;

    /// To memory.
    fn store_quads(quads: Self::Ints, to: &mut [u8; 4 * LANES]);

    /// Rows to columns.
    fn turn(rows: [Self::Ints; LANES]) -> [Self::Ints; LANES];

    /// Four weights of each of 16 columns.
    fn weights(weights: &[i8; 4 * LANES]) -> Self::Ints;

    /// Adds to each sum the four products of its codes and weights, in 32 bits.
    fn add_products(sums: Self::Ints, codes: Self::Ints, weights: Self::Ints) -> Self::Ints;

    /// Numbers within 16 bits rounded to the nearest integer, ties to even. What is no number gives 0.
    fn pairs(first: Self, second: Self) -> Self::Ints;

    /// The same pair 16 times.
    fn splat_pair(pair: i32) -> Self::Ints;

    /// From memory.
    fn load_pairs(from: &Pairs) -> Self::Ints;

    /// To memory.
    fn store_pairs(pairs: Self::Ints, to: &mut Pairs);

    /// Adds to each sum the two products of pairs. All must fit in 32 bits.
    fn add_pairs(sums: Self::Ints, pairs: Self::Ints, others: Self::Ints) -> Self::Ints;

    /// Integers as numbers.
    fn from_sums(sums: Self::Ints) -> Self;

    /// Asks for a cache line, which need not exist.
    fn prefetch(line: *const Step);
}
