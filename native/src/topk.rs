//! The best k of a stream of scored rows, in the order that answers are given.
//!
//! The order is defined on all rows together, so it cannot depend on the order of arrival:
//!
//! 1. With `collapse`, each text is stood for by one row: the best scored, then the newest, then the
//!    one of the smallest id (scores compared exactly).
//! 2. Rows are walked by descending score. The first row not yet placed leads a group: it and all
//!    rows whose score is not more than [`TIE`] below its. A group is given newest first, then by
//!    smallest id. The first k of the groups, one after another, are the answer.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};

/// Scores this close are a tie.
pub const TIE: f64 = 1e-5;

/// A row that may be among the best.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// Finite.
    pub score: f64,
    /// Microseconds since 1970.
    pub created: i64,
    /// The memory.
    pub id: u128,
    /// The text: equal numbers are one text.
    pub text: u128,
    /// Best inner product; negative infinity where there is none.
    pub cosine: f32,
    /// BM25.
    pub lexical: f64,
    /// Where the row is, for the caller.
    pub place: (u32, u32),
}

impl Candidate {
    fn by_age(&self, other: &Self) -> Ordering {
        other.created.cmp(&self.created).then(self.id.cmp(&other.id))
    }

    fn by_score(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then_with(|| self.by_age(other))
    }
}

/// Collects candidates; what is below [`Collector::bar`] need not be offered.
#[derive(Debug)]
pub struct Collector {
    k: usize,
    collapse: bool,
    bar: f64,
    kept: Vec<Candidate>,
    room: usize,
    runs: Runs,
}

/// What became of long runs of rows with one score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runs {
    /// All are kept, however many.
    Whole,
    /// They may be cut to the k that come first in them.
    Cuttable,
    /// Some were cut.
    Cut,
    /// Some were cut, and what they were measured against moved within its group: only a pass with whole runs can tell.
    Doubtful,
}

impl Collector {
    /// Of the `k` best with a score of at least `min_score`. `runs` is [`Runs::Cuttable`], which bounds what is kept
    /// where very many rows have one score, or [`Runs::Whole`].
    pub fn new(k: usize, collapse: bool, min_score: f64, runs: Runs) -> Self {
        let room = room_after(0, k);
        Self { k, collapse, bar: min_score, kept: Vec::with_capacity(room), room, runs }
    }

    /// The score below which a row cannot be in the answer. It only rises.
    pub const fn bar(&self) -> f64 {
        self.bar
    }

    /// Takes a row into account.
    pub fn offer(&mut self, candidate: Candidate) {
        if candidate.score < self.bar {
            return;
        }
        self.kept.push(candidate);
        if self.kept.len() >= self.room {
            self.settle();
        }
    }

    /// The answer, best first; `None` where only a pass with [`Runs::Whole`] can tell.
    pub fn finish(mut self) -> Option<Vec<Candidate>> {
        self.prune();
        if self.runs == Runs::Doubtful {
            return None;
        }
        order_ties(&mut self.kept);
        self.kept.truncate(self.k);
        Some(self.kept)
    }

    /// Raises the bar to what is known so far.
    pub fn settle(&mut self) {
        self.prune();
        self.room = room_after(self.kept.len(), self.k);
    }

    /// Drops what cannot be in the answer and leaves the rest by descending score.
    fn prune(&mut self) {
        self.kept.sort_unstable_by(Candidate::by_score);
        if self.collapse {
            self.keep_one_of_each_text();
        }
        if let Some(last) = self.k.checked_sub(1).and_then(|i| self.kept.get(i)) {
            self.bar = self.bar.max(last.score - TIE);
        }
        let bar = self.bar;
        self.kept.truncate(self.kept.partition_point(|c| c.score >= bar));
        if self.runs != Runs::Whole {
            self.keep_first_of_runs();
        }
    }

    fn keep_one_of_each_text(&mut self) {
        let mut met = Met::new(self.kept.len());
        let mut shifted = false;
        self.kept.retain(|c| {
            let best = met.first(c.text, c.score);
            shifted |= best.is_some_and(|best| best > c.score && best - c.score <= TIE);
            best.is_none()
        });
        // What gave way to a row of its text within the same group may have been what a cut row was measured against.
        if shifted && self.runs == Runs::Cut {
            self.runs = Runs::Doubtful;
        }
    }

    /// Of rows with one score the first k by age come before all others of that score, wherever groups begin.
    fn keep_first_of_runs(&mut self) {
        let (k, before) = (self.k, self.kept.len());
        let (mut score, mut seen) = (f64::NAN, 0);
        self.kept.retain(|c| {
            seen = if c.score.total_cmp(&score).is_eq() { seen + 1 } else { 1 };
            score = c.score;
            seen <= k
        });
        if self.kept.len() < before && self.runs == Runs::Cuttable {
            self.runs = Runs::Cut;
        }
    }
}

/// Candidates to hold before the next pruning: twice what is kept, so that pruning stays linear in all.
fn room_after(kept: usize, k: usize) -> usize {
    (2 * kept).max(2 * k + 12)
}

/// Puts rows in descending order of score into the order of groups.
fn order_ties(rows: &mut [Candidate]) {
    let mut rest = rows;
    while let Some(leader) = rest.first() {
        let end = leader.score - TIE;
        let (group, after) = rest.split_at_mut(rest.partition_point(|c| c.score >= end));
        group.sort_unstable_by(Candidate::by_age);
        rest = after;
    }
}

/// The best score of each text so far.
enum Met {
    /// Few are looked through faster than they are hashed.
    Few(Few),
    Many(HashMap<u128, f64, BuildHasherDefault<Spread>>),
}

impl Met {
    fn new(texts: usize) -> Self {
        const FEW: usize = 64;
        if texts <= FEW {
            return Self::Few(Few { marks: [0; 4], all: Vec::with_capacity(texts) });
        }
        Self::Many(HashMap::with_capacity_and_hasher(texts, BuildHasherDefault::default()))
    }

    /// The score of an earlier row of the text; where there is none, `score` is it from now on.
    fn first(&mut self, text: u128, score: f64) -> Option<f64> {
        match self {
            Self::Few(few) => few.first(text, score),
            Self::Many(all) => match all.entry(text) {
                Entry::Vacant(place) => {
                    place.insert(score);
                    None
                }
                Entry::Occupied(earlier) => Some(*earlier.get()),
            },
        }
    }
}

struct Few {
    /// A bit of 256 for each text: most texts are told by it that they are new.
    marks: [u64; 4],
    all: Vec<(u128, f64)>,
}

impl Few {
    fn first(&mut self, text: u128, score: f64) -> Option<f64> {
        let (word, mark) = ((text as usize >> 6) % self.marks.len(), 1 << (text % 64));
        if self.marks[word] & mark != 0
            && let Some((_, earlier)) = self.all.iter().find(|(other, _)| *other == text)
        {
            return Some(*earlier);
        }
        self.marks[word] |= mark;
        self.all.push((text, score));
        None
    }
}

/// Texts are numbered by a cryptographic digest already: its low bits are the hash.
#[derive(Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u128(&mut self, text: u128) {
        self.0 = text as u64 ^ (text >> 64) as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
