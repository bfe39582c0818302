//! Vectors rounded to 8-bit codes in two halves of 4 bits, and bounds on what the rounding can hide.
//!
//! All vectors of a segment are taken from one vector μ, its centre: embeddings of one model crowd around one, and what
//! is left is half as long. With y = x − μ and q′ = q − μ an inner product is
//!
//! ```text
//! ⟨x, q⟩ = ⟨x, μ⟩ + ⟨μ, q′⟩ + ⟨y, q′⟩
//! ```
//!
//! where the first term is kept with the vector and the second is one number for a query. y is kept as s·c + r with a
//! scale s and codes c; the query is rounded to q′ = t·Q + e with whole numbers Q of −127 to 127. By Cauchy and Schwarz
//!
//! ```text
//! ⟨y, q′⟩ = s·t·⟨c, Q⟩ + s·⟨c, e⟩ + ⟨r, q′⟩  ≤  s·t·⟨c, Q⟩ + s·‖c‖·‖e‖ + ‖r‖·‖q′‖
//! ```
//!
//! whatever the codes are. There are two sets, each with its own r. The *fine* codes are whole numbers of −127 to 127.
//! Each plus 128 is 16·h + l with halves h and l of 0 to 15. The *coarse* codes are 16·h − 120.5, in the middle of all
//! that have this h. The halves are kept apart, so that the coarse bound reads half of the bytes, and the fine bound
//! is asked for where the coarse one does not rule a vector out: 2⟨c, Q⟩ is 32·⟨h, Q⟩ − 241·ΣQ for the coarse codes and
//! 32·⟨h, Q⟩ + 2·⟨l, Q⟩ − 256·ΣQ for the fine ones. These are exact in whole numbers, so bounds are the same for every
//! instruction set.
//!
//! The errors of computing (u = 2⁻²⁴ in single precision) are all proportional to a product X·M with
//! X = ‖μ‖ + s·‖c‖ + ‖r‖, which ‖x‖, ‖y‖ and ‖μ‖ are not above, and M = ‖q′‖ + ‖μ‖, which ‖q‖ and ‖q′‖ are not above:
//!
//! * What is bounded is the kernel's inner product of half with single precision. On any path of it a product is
//!   rounded once and then takes part in at most lines + 32 additions, so it is off by (lines + 34)·u·X·M at most.
//! * y, q′, ⟨x, μ⟩, ⟨μ, q′⟩ and all norms are computed in double precision: together off by less than 3·u·X·M.
//! * s·t·⟨c, Q⟩ is rounded three times. Rounding to nearest never more than doubles, so ‖t·Q‖ ≤ 2·‖q′‖ and the error is
//!   below 7·u·X·M.
//! * The other products are rounded once or twice, 4·u·X·M, and adding up takes five roundings of sums that are not
//!   larger than 7·X·M, 35·u of it.
//!
//! Together less than (lines + 96)·u·X·M, which is added by enlarging ‖q′‖ and ‖e‖ by (lines + 96)·u·M each and
//! ⟨μ, q′⟩ by that times ‖μ‖. Norms are enlarged by [`ROOM`], far more than their own error. What is lost where
//! products are subnormal is below [`TINY`]. A query so long that something could overflow is bounded by the largest
//! number there is.

use super::lanes::LANES;

/// Half codes in a line.
pub const CODES: usize = 128;
/// Bytes in a line.
pub const HALF: usize = CODES / 2;

/// 128 halves of codes, one cache line: those of the first 64 components in the low halves of its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct CodeLine(pub [u8; HALF]);

/// What is added to a code, so that none is negative.
pub(super) const SHIFT: i32 = 128;
/// The largest code, and the largest number of a query.
pub(super) const MOST: f32 = 127.0;
/// What a coarse code is above 16·h − 128.
pub(super) const MIDDLE: f64 = 7.5;
/// Adding this number leaves the nearest integer in the low bits of the sum.
pub(super) const ROUND: f32 = 12_582_912.0; // 1.5 · 2^23
pub(super) const ROOM: f64 = 1.0 + 1.0 / (1 << 20) as f64;
pub(super) const TINY: f64 = 7.888_609_052_210_118e-31; // 2^-100
const UNIT: f64 = 1.0 / (1 << 24) as f64;

/// What is kept of a vector beside its codes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sketch {
    /// s: what a code of 1 stands for.
    pub scale: f32,
    /// At least ⟨x, μ⟩.
    pub near: f32,
    /// At least ‖r‖ of the coarse codes.
    pub coarse: f32,
    /// At least ‖r‖ of the fine codes.
    pub fine: f32,
}

/// The sketches of many vectors, by number.
#[derive(Debug, Default)]
pub struct Sketches {
    /// As [`Sketch`] says.
    pub scales: Vec<f32>,
    /// As [`Sketch`] says.
    pub nears: Vec<f32>,
    /// As [`Sketch`] says.
    pub coarse: Vec<f32>,
    /// As [`Sketch`] says.
    pub fine: Vec<f32>,
}

impl Sketches {
    /// None yet, with room for so many.
    pub fn with_capacity(vectors: usize) -> Self {
        let column = || Vec::with_capacity(vectors);
        Self { scales: column(), nears: column(), coarse: column(), fine: column() }
    }

    /// Appends one.
    pub fn push(&mut self, sketch: Sketch) {
        self.scales.push(sketch.scale);
        self.nears.push(sketch.near);
        self.coarse.push(sketch.coarse);
        self.fine.push(sketch.fine);
    }

    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        let columns = [&self.scales, &self.nears, &self.coarse, &self.fine];
        columns.iter().map(|column| column.capacity() * size_of::<f32>()).sum()
    }
}

/// Coded vectors, one after another.
#[derive(Debug, Clone, Copy)]
pub struct Coded<'a> {
    /// The halves h, [`code_lines_for`] lines for each vector.
    pub high: &'a [CodeLine],
    /// The halves l, as many.
    pub low: &'a [CodeLine],
    /// Of each vector.
    pub sketches: &'a Sketches,
    /// No ‖c‖ is larger.
    pub norm: f32,
}

/// Lines of halves that a vector of this many lines takes, for each of the two.
pub const fn code_lines_for(lines: usize) -> usize {
    lines.div_ceil(CODES / LANES)
}

/// How far all computing may be off, for each X·M.
pub(super) fn noise(lines: usize) -> f64 {
    (lines as f64 + 96.0) * UNIT
}

/// A single-precision number that is not below `x`.
pub fn above(x: f64) -> f32 {
    (x as f32).next_up()
}

/// A single-precision number that is not above `x`.
pub fn below(x: f64) -> f32 {
    (x as f32).next_down()
}
