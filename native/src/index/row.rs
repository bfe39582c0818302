//! One memory as a caller hands it in.

use std::str::FromStr;

use crate::error::{Fault, require};
use crate::kernel::lanes::is_finite;

/// What kind of thing was learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MemoryType {
    /// Something that happened.
    Episodic,
    /// Something that is so.
    Semantic,
    /// How something is done.
    Procedural,
}

impl MemoryType {
    /// Each of them, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Episodic, Self::Semantic, Self::Procedural];

    /// A bit of its own, for sets of types.
    pub const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl FromStr for MemoryType {
    type Err = Fault;

    fn from_str(name: &str) -> Result<Self, Fault> {
        match name {
            "episodic" => Ok(Self::Episodic),
            "semantic" => Ok(Self::Semantic),
            "procedural" => Ok(Self::Procedural),
            _ => Err(Fault::new(format!("memory type must be episodic, semantic or procedural, not {name:?}"))),
        }
    }
}

/// Who of the same tenant and user may read a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visibility {
    /// Its own agent.
    Private,
    /// Every agent.
    Shared,
}

impl FromStr for Visibility {
    type Err = Fault;

    fn from_str(name: &str) -> Result<Self, Fault> {
        match name {
            "private" => Ok(Self::Private),
            "shared" => Ok(Self::Shared),
            _ => Err(Fault::new(format!("visibility must be private or shared, not {name:?}"))),
        }
    }
}

/// Where a memory stands in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Searched.
    Active,
    /// Set aside, restorable.
    Archived,
    /// Replaced by another memory.
    Superseded,
}

impl FromStr for State {
    type Err = Fault;

    fn from_str(name: &str) -> Result<Self, Fault> {
        match name {
            "active" => Ok(Self::Active),
            "archived" => Ok(Self::Archived),
            "superseded" => Ok(Self::Superseded),
            _ => Err(Fault::new(format!("state must be active, archived or superseded, not {name:?}"))),
        }
    }
}

/// A time that never comes, for memories that do not expire.
pub const NEVER: i64 = i64::MAX;

/// One memory with everything that ranking reads.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// UUID, big-endian, so that numbers order as ids do.
    pub id: u128,
    /// The agent that owns it.
    pub agent: String,
    /// What kind of thing was learned.
    pub memory_type: MemoryType,
    /// Who may read it.
    pub visibility: Visibility,
    /// Where it stands in its life.
    pub state: State,
    /// Labels of the writer, in any order.
    pub tags: Vec<String>,
    /// The conversation that it is from.
    pub session_id: Option<String>,
    /// Where it is from.
    pub source: Option<String>,
    /// First 128 bits of the SHA-256 of the text: equal numbers are one text.
    pub text: u128,
    /// 0 to 2.
    pub importance: f64,
    /// Microseconds since 1970.
    pub created: i64,
    /// Microseconds since 1970 at which it is gone, or [`NEVER`].
    pub expires: i64,
    /// Distinct term ids, ascending.
    pub terms: Vec<i32>,
    /// How often each term occurs, 1 to 32,767.
    pub counts: Vec<u16>,
    /// Half-precision bits of each chunk's vector.
    pub vectors: Vec<Vec<u16>>,
}

impl Row {
    /// Whether the row may enter an index of `dimensions`.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn check(&self, dimensions: usize) -> Result<(), Fault> {
        let importance = self.importance;
        require((0.0..=2.0).contains(&importance), || format!("importance must be 0 to 2, not {importance}"))?;
        check_terms(&self.terms, &self.counts)?;
        require(self.vectors.len() < 256, || "a row has at most 255 vectors".into())?;
        self.vectors.iter().try_for_each(|vector| check_vector(vector, dimensions))
    }

    /// Occurrences of terms, the length of the document.
    pub fn length(&self) -> u32 {
        self.counts.iter().map(|&count| u32::from(count)).sum()
    }
}

/// Whether term ids are distinct and ascending with a count of 1 to 32,767 each.
///
/// # Errors
///
/// What is wrong with them.
pub fn check_terms(terms: &[i32], counts: &[u16]) -> Result<(), Fault> {
    require(terms.len() == counts.len(), || "there must be one count for each term".into())?;
    require(terms.len() < 65_536, || "a text has at most 65,535 distinct terms".into())?;
    require(terms.is_sorted_by(|a, b| a < b), || "term ids must be distinct and ascending".into())?;
    let fits = |&count: &u16| (1..=0x7fff).contains(&count);
    require(counts.iter().all(fits), || "term counts must be 1 to 32,767".into())
}

fn check_vector(vector: &[u16], dimensions: usize) -> Result<(), Fault> {
    let found = vector.len();
    require(found == dimensions, || format!("vectors must have {dimensions} dimensions, not {found}"))?;
    // Without an early end it is vector code.
    let finite = vector.iter().fold(true, |finite, &bits| finite & is_finite(bits));
    require(finite, || "vectors must be finite".into())
}
