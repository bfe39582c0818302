//! The rows of one part that a search concerns.

use super::bits::{count, ones};
use super::request::Request;
use super::scope::Sight;
use super::segments::Segment;
use super::snapshot::Part;

/// Rows in scope of one segment.
pub struct Slice<'a> {
    /// Where the rows are.
    pub segment: &'a Segment,
    /// Number of the first word of the masks.
    pub first_word: usize,
    /// Rows that are alive at the time of the search and in scope.
    pub alive: Vec<u64>,
    /// Those of `alive` that pass the filters, where some do not.
    filtered: Option<Vec<u64>>,
    /// Whether every row under the masks is alive and in scope.
    full: bool,
}

impl<'a> Slice<'a> {
    /// The rows of `part` in sight. `None` where there are none.
    pub fn of(part: &'a Part, sight: &Sight, request: &Request) -> Option<Self> {
        let segment = &*part.segment;
        let (first_word, seen) = sight.mask(segment)?;
        let mut slice = Self { segment, first_word, alive: seen, filtered: None, full: false };
        slice.keep_alive(part, request);
        slice.full = count(&slice.alive) == slice.end_row() - slice.first_row();
        let filters = &request.filters;
        let passing = filters.are_any().then(|| filters.passing(segment, first_word, &slice.alive));
        slice.filtered = passing.filter(|passing| *passing != slice.alive);
        Some(slice)
    }

    fn keep_alive(&mut self, part: &Part, request: &Request) {
        let archived = if request.include_archived { u64::MAX } else { 0 };
        let states = self.segment.active.words().iter().zip(self.segment.archived.words());
        let words = part.present.words().iter().zip(states).skip(self.first_word);
        for (alive, (&present, (&active, &set_aside))) in self.alive.iter_mut().zip(words) {
            *alive &= present & (active | set_aside & archived);
        }
        if self.segment.earliest_expiry <= request.now {
            let expires = &self.segment.columns.expires;
            self.alive = self.select(|row| expires[row] > request.now);
        }
    }

    /// The alive rows for which `holds`.
    fn select(&self, holds: impl Fn(usize) -> bool) -> Vec<u64> {
        let words = self.alive.iter().enumerate();
        let kept = words.map(|(i, &word)| {
            let base = (self.first_word + i) * 64;
            ones(word).filter(|bit| holds(base + bit)).fold(0, |kept, bit| kept | 1 << bit)
        });
        kept.collect()
    }

    /// The rows that may be hits.
    pub fn eligible(&self) -> &[u64] {
        self.filtered.as_ref().unwrap_or(&self.alive)
    }

    /// Whether a row may be a hit.
    pub fn is_eligible(&self, row: usize) -> bool {
        let word = (row / 64).checked_sub(self.first_word).and_then(|i| self.eligible().get(i));
        word.is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    /// Whether a row under the masks is alive and in scope.
    pub fn is_alive(&self, row: usize) -> bool {
        self.full || self.alive[row / 64 - self.first_word] >> (row % 64) & 1 == 1
    }

    /// Whether every row under the masks is alive and in scope.
    pub const fn is_full(&self) -> bool {
        self.full
    }

    /// First row under the masks.
    pub const fn first_row(&self) -> usize {
        self.first_word * 64
    }

    /// The row after the last under the masks.
    pub fn end_row(&self) -> usize {
        self.segment.rows().min(self.first_row() + self.alive.len() * 64)
    }

    /// How many rows are alive and in scope, and the sum of their lengths.
    pub fn totals(&self) -> (u64, u64) {
        let lengths = &self.segment.columns.lengths;
        if self.full {
            let own = &lengths[self.first_row()..self.end_row()];
            return (own.len() as u64, own.iter().map(|&length| u64::from(length)).sum());
        }
        let words = self.alive.iter().enumerate();
        let sums = words.flat_map(|(i, &word)| ones(word).map(move |bit| (self.first_word + i) * 64 + bit));
        sums.fold((0, 0), |(rows, sum), row| (rows + 1, sum + u64::from(lengths[row])))
    }
}
