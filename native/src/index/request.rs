//! What one search asks of the index.

use super::filters::Filters;
use super::row::check_terms;
use super::scope::Scope;
use crate::error::{Fault, require};
use crate::kernel::formula::Formula;

/// Which arms make the relevance of a hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Both, half and half.
    Hybrid,
    /// The vectors alone.
    Semantic,
    /// The terms alone.
    Keyword,
}

impl Mode {
    const fn shares(self) -> (f64, f64) {
        match self {
            Self::Hybrid => (0.5, 0.5),
            Self::Semantic => (1.0, 0.0),
            Self::Keyword => (0.0, 1.0),
        }
    }
}

impl std::str::FromStr for Mode {
    type Err = Fault;

    fn from_str(name: &str) -> Result<Self, Fault> {
        match name {
            "hybrid" => Ok(Self::Hybrid),
            "semantic" => Ok(Self::Semantic),
            "keyword" => Ok(Self::Keyword),
            _ => Err(Fault::new(format!("mode must be hybrid, semantic or keyword, not {name:?}"))),
        }
    }
}

/// One search.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Whose rows it may see.
    pub scope: Scope,
    /// Which arms count.
    pub mode: Mode,
    /// The query's vector; may be missing in keyword mode.
    pub vector: Option<Vec<f32>>,
    /// Distinct term ids of the query, ascending.
    pub terms: Vec<i32>,
    /// How often each occurs in the query.
    pub counts: Vec<u16>,
    /// Hits wanted, at least 1.
    pub k: usize,
    /// Weight of relevance against recency, 0 to 1.
    pub alpha: f64,
    /// Half-life of recency in days, above 0.
    pub half_life_days: f64,
    /// Weight of importance, 0 to 1.
    pub importance_weight: f64,
    /// Cosine that counts as no similarity.
    pub floor: f64,
    /// Cosine that counts as full similarity, above `floor`.
    pub ceiling: f64,
    /// Hits below it are left out.
    pub min_score: Option<f64>,
    /// What every hit meets besides.
    pub filters: Filters,
    /// The time of the request, microseconds since 1970. What expires at it or before is gone.
    pub now: i64,
    /// Whether one text is one hit.
    pub collapse: bool,
    /// Whether archived rows are searched beside the active ones.
    pub include_archived: bool,
}

/// Larger components than any model's, small enough that no inner product overflows.
const MAX_COMPONENT: f32 = 1e30;
const MICROSECONDS_PER_DAY: f64 = 86_400e6;

impl Request {
    /// Whether an index of `dimensions` can answer.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn check(&self, dimensions: usize) -> Result<(), Fault> {
        require(self.k > 0, || "k must be at least 1".into())?;
        require((0.0..=1.0).contains(&self.alpha), || "alpha must be 0 to 1".into())?;
        require((0.0..=1.0).contains(&self.importance_weight), || "importance_weight must be 0 to 1".into())?;
        let half_life = self.half_life_days;
        require(half_life > 0.0 && half_life <= 1e9, || "half_life_days must be above 0".into())?;
        let range = self.ceiling - self.floor;
        require(range.is_normal() && range > 0.0, || "ceiling must be above floor".into())?;
        require(self.min_score.is_none_or(f64::is_finite), || "min_score must be finite".into())?;
        check_terms(&self.terms, &self.counts)?;
        self.filters.check()?;
        self.check_vector(dimensions)
    }

    fn check_vector(&self, dimensions: usize) -> Result<(), Fault> {
        let Some(vector) = &self.vector else {
            return require(self.mode == Mode::Keyword, || "a vector is needed except in keyword mode".into());
        };
        let found = vector.len();
        require(found == dimensions, || format!("the vector must have {dimensions} dimensions, not {found}"))?;
        // Written so that NaN fails too, and without branches, so that compilers can make vector code of it.
        let small = vector.iter().fold(true, |small, component| small & (component.abs() <= MAX_COMPONENT));
        require(small, || "the vector must be finite".into())
    }

    /// The query's vector where the mode compares vectors.
    pub fn compared_vector(&self) -> Option<&[f32]> {
        self.vector.as_deref().filter(|_| self.mode != Mode::Keyword)
    }

    /// Whether the mode reads terms.
    pub fn reads_terms(&self) -> bool {
        self.mode != Mode::Semantic && !self.terms.is_empty()
    }

    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        let vector = self.vector.as_deref().map_or(0, size_of_val::<[f32]>);
        let terms = size_of_val(&*self.terms) + size_of_val(&*self.counts);
        vector + terms + self.scope.bytes() + self.filters.bytes()
    }

    /// The constants of the score.
    pub fn formula(&self) -> Formula {
        self.formula_at(self.now)
    }

    /// The same at another time, microseconds since 1970.
    pub fn formula_at(&self, now: i64) -> Formula {
        let (semantic_share, keyword_share) = self.mode.shares();
        Formula {
            alpha: self.alpha,
            importance_weight: self.importance_weight,
            floor: self.floor,
            ceiling: self.ceiling,
            semantic_share,
            keyword_share,
            now,
            half_life: self.half_life_days * MICROSECONDS_PER_DAY,
        }
    }
}
