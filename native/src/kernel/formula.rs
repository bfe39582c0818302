//! The fused score of a row, in double precision.
//!
//! ```text
//! relevance = semantic_share · clip((cos − floor) / (ceiling − floor), 0, 1) + keyword_share · bm25 / (bm25 + 16)
//! recency   = 2^(−max(age, 0) / half_life)
//! score     = (α · relevance + (1 − α) · recency) · (1 + weight · (importance − 1))
//! ```

/// BM25 at which the keyword arm is half sure.
pub(super) const LEXICAL_HALF: f64 = 16.0;

/// The constants of one request.
#[derive(Debug, Clone, Copy)]
pub struct Formula {
    /// Weight of relevance against recency, 0 to 1.
    pub alpha: f64,
    /// Weight of importance, 0 to 1.
    pub importance_weight: f64,
    /// Cosine that counts as no similarity.
    pub floor: f64,
    /// Cosine that counts as full similarity; above `floor`.
    pub ceiling: f64,
    /// Share of the semantic arm in relevance.
    pub semantic_share: f64,
    /// Share of the keyword arm in relevance.
    pub keyword_share: f64,
    /// The time of the request, microseconds since 1970.
    pub now: i64,
    /// Half-life of recency in microseconds, above 0.
    pub half_life: f64,
}

/// Columns of consecutive rows, all of one length.
#[derive(Debug, Clone, Copy)]
pub struct Block<'a> {
    /// Best inner product of each row; negative infinity for a row without vectors.
    pub cosines: &'a [f32],
    /// BM25 of each row, 0 or more.
    pub lexical: &'a [f64],
    /// Microseconds since 1970.
    pub created: &'a [i64],
    /// 0 to 2.
    pub importances: &'a [f64],
}

impl Block<'_> {
    pub(super) fn assert_rows(&self, rows: usize) {
        let lengths = [self.cosines.len(), self.lexical.len(), self.created.len(), self.importances.len()];
        assert_eq!(lengths, [rows; 4]);
    }
}

impl Formula {
    /// How well a row answers the query, 0 to 1.
    #[inline(always)]
    #[allow(clippy::inline_always)] // must take on the instruction set of the kernel that calls it
    pub fn relevance(&self, cosine: f32, lexical: f64) -> f64 {
        let scaled = (f64::from(cosine) - self.floor) / (self.ceiling - self.floor);
        let semantic = scaled.clamp(0.0, 1.0);
        let keyword = lexical / (lexical + LEXICAL_HALF);
        self.semantic_share * semantic + self.keyword_share * keyword
    }

    /// How recent a row is, 0 to 1; 1 from the future.
    #[inline(always)]
    #[allow(clippy::inline_always)] // as above
    pub fn recency(&self, created: i64) -> f64 {
        // Each is exact in f64 within 285 years of 1970, so ages keep their microseconds and never overflow.
        let age = (self.now as f64 - created as f64).max(0.0);
        exp2(-age / self.half_life)
    }

    /// The factor that importance puts on the score, 0 to 2.
    #[inline(always)]
    #[allow(clippy::inline_always)] // as above
    pub fn importance(&self, importance: f64) -> f64 {
        1.0 + self.importance_weight * (importance - 1.0)
    }

    /// The score of parts.
    #[inline(always)]
    #[allow(clippy::inline_always)] // as above
    pub fn score(&self, relevance: f64, recency: f64, importance: f64) -> f64 {
        (self.alpha * relevance + (1.0 - self.alpha) * recency) * importance
    }

    /// Scores of a block, into `out`. Compiled once per instruction set by being inlined there.
    #[inline(always)]
    #[allow(clippy::inline_always)] // as above
    pub(super) fn fill(&self, block: &Block<'_>, out: &mut [f64]) {
        let relevant = block.cosines.iter().zip(block.lexical);
        let weighted = block.created.iter().zip(block.importances);
        for ((out, (&cosine, &lexical)), (&created, &importance)) in out.iter_mut().zip(relevant).zip(weighted) {
            let relevance = self.relevance(cosine, lexical);
            *out = self.score(relevance, self.recency(created), self.importance(importance));
        }
    }
}

/// 2^x for x ≤ 0, relative error below 1e-14; 0 below 2^-1022.
///
/// Written without calls and branches so that compilers turn it into vector code; without fused
/// multiply-adds, so that every instruction set gives the same bits.
#[inline(always)]
#[allow(clippy::inline_always)] // as above
pub fn exp2(x: f64) -> f64 {
    // Adding this number leaves the nearest integer in the low bits of the sum.
    const ROUND: f64 = 6_755_399_441_055_744.0; // 1.5 · 2^52
    let clamped = x.max(-1023.0);
    let shifted = clamped + ROUND;
    let fraction = (clamped - (shifted - ROUND)) * std::f64::consts::LN_2;
    // An integer of −1023 gives the exponent bits of zero.
    let exponent = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    exponent * taylor(fraction)
}

/// e^x by its series to the 12th power, for |x| ≤ ln 2 / 2.
#[inline(always)]
#[allow(clippy::inline_always)] // as above
fn taylor(x: f64) -> f64 {
    // Divisions would cost more than all else: the reciprocals are made when compiled.
    const RECIPROCALS: [f64; 12] = reciprocals();
    let mut sum = 1.0;
    for reciprocal in RECIPROCALS.into_iter().rev() {
        sum = 1.0 + sum * (x * reciprocal);
    }
    sum
}

/// 1, 1/2, 1/3, …
const fn reciprocals() -> [f64; 12] {
    let mut all = [1.0; 12];
    let mut n = 1;
    while n < all.len() {
        all[n] = 1.0 / (n + 1) as f64;
        n += 1;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::exp2;

    #[test]
    fn exp2_follows_libm() {
        for step in 0..200_000 {
            let x = -f64::from(step) * 0.005;
            let error = (exp2(x) - x.exp2()).abs();
            assert!(error <= x.exp2() * 1e-14, "2^{x}: {error:e}");
        }
    }

    #[test]
    fn exp2_is_exact_at_zero_and_ends_at_zero() {
        assert_eq!(exp2(0.0).to_bits(), 1f64.to_bits());
        assert_eq!(exp2(-1.0).to_bits(), 0.5f64.to_bits());
        for x in [-1023.0, -1e9, -f64::MAX, f64::NEG_INFINITY] {
            assert_eq!(exp2(x).to_bits(), 0f64.to_bits());
        }
    }
}
