//! Which rows can reach a score, by an upper bound of it in single precision.
//!
//! The bound takes the formula's own steps, each of which never falls as its arguments rise, on arguments that are
//! rounded up. u = 2⁻²⁴ is the rounding of single precision.
//!
//! * The similarity is cos·A + B with A = 1 / (ceiling − floor) and B = −floor·A. Where it matters it is at most 2, so
//!   |cos·A| ≤ 2 + |B|; A, B, their product and their sum are rounded once each: less than 8·u·(2 + |B|), added to B.
//! * The exponent of recency is s − a/h with the age s·h of the block's newest row and a row's age a against that one.
//!   Where both have one sign rounding them changes a power of two by less than 4·u; where the newest row is from the
//!   future by up to 8·u of its distance, which is added. Times beyond 2⁵³ microseconds are rounded in the formula, by
//!   less than 2¹² together, which are added too.
//! * The power of two is within 2⁻²¹, and a dozen roundings of numbers of at most 2 remain: [`ROOM`] is for them.

use super::formula::{Formula, LEXICAL_HALF};

/// Rows that are looked at together: one word of a mask.
pub const BLOCK: usize = 64;

const UNIT: f64 = 1.0 / (1 << 24) as f64;
const ROOM: f64 = 1.0 / (1 << 18) as f64;
/// The steepest line from cosine to similarity, and the farthest from the origin, that single precision can follow.
const STEEPEST: f64 = 1e12;
const FARTHEST: f64 = 1e6;
/// Microseconds by which the formula's rounding of times can shift an age.
const SHIFT: f64 = 4096.0;
/// The shortest half-life that is followed, in microseconds, and the farthest future, in half-lives.
const SHORTEST: f64 = 1e6;
const FUTURE: f64 = 64.0;

/// What bounds are made of for one request.
#[derive(Debug, Clone, Copy)]
pub struct Reach {
    slope: f32,
    base: f32,
    semantic: f32,
    keyword: f32,
    recent: f32,
    weight: f32,
    room: f32,
    /// Half-lives in a microsecond; 0 where they are too short to be followed.
    rate: f64,
    now: f64,
}

/// Ages of a block's rows as exponents of recency: `start` for its newest row, `slope` for each microsecond before.
#[derive(Debug, Clone, Copy)]
pub struct Decay {
    start: f32,
    slope: f32,
}

/// 64 rows, or what is left of a segment; all of one length.
#[derive(Debug, Clone, Copy)]
pub struct Hopes<'a> {
    /// What the best inner product of each row is not above; negative infinity for a row without vectors.
    pub cosines: &'a [f32],
    /// BM25 of each row, 0 or more; empty where terms are not read.
    pub lexical: &'a [f64],
    /// Microseconds by which each row is older than the newest of the block, rounded down.
    pub ages: &'a [f32],
    /// Importance of each row, rounded up.
    pub importances: &'a [f32],
    /// Of the block.
    pub decay: Decay,
}

impl Hopes<'_> {
    pub(super) fn assert_rows(&self) {
        let rows = self.cosines.len();
        assert!(rows <= BLOCK);
        assert!(self.lexical.is_empty() || self.lexical.len() == rows);
        assert_eq!([self.ages.len(), self.importances.len()], [rows; 2]);
    }
}

impl Reach {
    /// Of one request.
    pub fn new(formula: &Formula) -> Self {
        let slope = (formula.ceiling - formula.floor).recip();
        let base = -formula.floor * slope;
        // A line too steep to follow is bounded by full similarity.
        let (slope, base) = if slope < STEEPEST && base.abs() < FARTHEST { (slope, base) } else { (0.0, 1.0) };
        Self {
            slope: slope as f32,
            base: (base + 8.0 * UNIT * (2.0 + base.abs())) as f32,
            semantic: (formula.alpha * formula.semantic_share) as f32,
            keyword: (formula.alpha * formula.keyword_share) as f32,
            recent: (1.0 - formula.alpha) as f32,
            weight: formula.importance_weight as f32,
            room: ROOM as f32,
            rate: if formula.half_life < SHORTEST { 0.0 } else { formula.half_life.recip() },
            now: formula.now as f64,
        }
    }

    /// Of a block whose newest row is from `newest`, microseconds since 1970.
    pub fn decay(&self, newest: i64) -> Decay {
        let start = (newest as f64 - self.now + SHIFT) * self.rate;
        if start > FUTURE {
            return Decay { start: 0.0, slope: 0.0 };
        }
        let start = start.max(-1000.0);
        Decay { start: (start + 16.0 * UNIT * start.max(0.0)) as f32, slope: -self.rate as f32 }
    }

    /// What no row of a block has more than: of full similarity, `lexical` and `importance` at most.
    pub fn most(&self, lexical: f64, decay: Decay, importance: f32) -> f32 {
        self.score(self.semantic + self.keyword * known(lexical as f32), decay.start, importance)
    }

    /// Bounds of the rows' scores, into `bounds`, and which are not below `bar`, row 0 in the lowest bit.
    #[inline(always)]
    #[allow(clippy::inline_always)] // must take on the instruction set of the kernel that calls it
    pub(super) fn reaching(&self, hopes: &Hopes<'_>, bar: f32, bounds: &mut [f32; BLOCK]) -> u64 {
        bounds[hopes.cosines.len()..].fill(f32::NEG_INFINITY);
        for (bound, &cosine) in bounds.iter_mut().zip(hopes.cosines) {
            *bound = self.semantic * self.similarity(cosine);
        }
        for (bound, &lexical) in bounds.iter_mut().zip(hopes.lexical) {
            *bound += self.keyword * known(lexical as f32);
        }
        let weighted = hopes.ages.iter().zip(hopes.importances);
        for (bound, (&age, &importance)) in bounds.iter_mut().zip(weighted) {
            *bound = self.score(*bound, age * hopes.decay.slope + hopes.decay.start, importance);
        }
        mask(bounds, bar)
    }

    #[inline(always)]
    #[allow(clippy::inline_always, clippy::manual_clamp)] // as above; clamping keeps what is no number
    fn similarity(&self, cosine: f32) -> f32 {
        // The order of the limits makes 0 of what is no number: no vector on a line that is too steep.
        (cosine * self.slope + self.base).max(0.0).min(1.0)
    }

    /// Of a relevance that has its weight already.
    #[inline(always)]
    #[allow(clippy::inline_always)] // as above
    fn score(&self, relevance: f32, exponent: f32, importance: f32) -> f32 {
        let score = relevance + self.recent * exp2(exponent.min(0.0));
        score * (1.0 + self.weight * (importance - 1.0)) + self.room
    }
}

/// How sure the keyword arm is of a row.
#[inline(always)]
#[allow(clippy::inline_always)] // as above
fn known(lexical: f32) -> f32 {
    lexical / (lexical + LEXICAL_HALF as f32)
}

#[inline(always)]
#[allow(clippy::inline_always)] // as above
fn mask(bounds: &[f32; BLOCK], bar: f32) -> u64 {
    let mut mask = 0;
    for (bit, &bound) in bounds.iter().enumerate() {
        mask |= u64::from(bound >= bar) << bit;
    }
    mask
}

/// 2^x for x ≤ 0, relative error below 2^-21; 2^-126 where that is more.
#[inline(always)]
#[allow(clippy::inline_always)] // as above
fn exp2(x: f32) -> f32 {
    // Adding this number leaves the nearest integer in the low bits of the sum.
    const ROUND: f32 = 12_582_912.0; // 1.5 · 2^23
    let clamped = x.max(-126.0);
    let shifted = clamped + ROUND;
    let fraction = (clamped - (shifted - ROUND)) * std::f32::consts::LN_2;
    let exponent = f32::from_bits(shifted.to_bits().wrapping_add(127) << 23);
    let tail = 1.0 + fraction * (0.2 + fraction * (1.0 / 30.0));
    let series = 1.0 + fraction * (1.0 / 3.0) * (1.0 + fraction * 0.25 * tail);
    exponent * (1.0 + fraction * (1.0 + fraction * 0.5 * series))
}

#[cfg(test)]
mod tests {
    use super::exp2;

    #[test]
    fn exp2_follows_libm() {
        for step in 0..200_000u32 {
            let x = -(step as f32) * 0.0006;
            let exact = f64::from(x).exp2();
            let error = (f64::from(exp2(x)) - exact).abs();
            assert!(error <= exact / f64::from(1 << 21), "2^{x}: {error:e}");
        }
        assert_eq!(exp2(0.0).to_bits(), 1f32.to_bits());
        assert!(exp2(f32::NEG_INFINITY) > 0.0);
    }
}
