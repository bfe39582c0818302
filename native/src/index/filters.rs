//! Conditions on the rows of a search.

use super::bits::ones;
use super::labels::Labels;
use super::row::MemoryType;
use super::scope::bytes_of;
use super::segments::Segment;
use crate::error::{Fault, require};

/// Conditions that every hit meets; `None` is no condition.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Filters {
    /// One of these types.
    pub types: Option<Vec<MemoryType>>,
    /// Microseconds since 1970, inclusive.
    pub created_after: Option<i64>,
    /// Microseconds since 1970, exclusive.
    pub created_before: Option<i64>,
    /// At least one of these tags.
    pub tags_any: Option<Vec<String>>,
    /// Each of these tags.
    pub tags_all: Option<Vec<String>>,
    /// This session.
    pub session_id: Option<String>,
    /// This source.
    pub source: Option<String>,
    /// One of these ids, distinct and ascending.
    pub only: Option<Vec<u128>>,
}

impl Filters {
    /// Whether the ids are in order.
    ///
    /// # Errors
    ///
    /// Where they are not.
    pub fn check(&self) -> Result<(), Fault> {
        let sorted = self.only.as_ref().is_none_or(|ids| ids.is_sorted_by(|a, b| a < b));
        require(sorted, || "ids must be distinct and ascending".into())
    }

    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        let tags = self.tags_any.iter().chain(&self.tags_all).flatten();
        let words = tags.chain(&self.session_id).chain(&self.source);
        let ids = self.only.as_deref().map_or(0, size_of_val::<[u128]>);
        let types = self.types.as_deref().map_or(0, size_of_val::<[MemoryType]>);
        words.map(|word| bytes_of(word)).sum::<usize>() + ids + types
    }

    /// Whether there is any condition.
    pub fn are_any(&self) -> bool {
        *self != Self::default()
    }

    /// Those of the rows set in `words`, which begin with number `first_word`, that meet every condition.
    pub fn passing(&self, segment: &Segment, first_word: usize, words: &[u64]) -> Vec<u64> {
        let mut rows = Rows { segment, first_word, words: words.to_vec() };
        if let Some(ids) = &self.only {
            rows.keep_ids(ids);
        }
        self.keep_types(&mut rows);
        self.keep_window(&mut rows);
        self.keep_marked(&mut rows);
        rows.words
    }

    fn keep_types(&self, rows: &mut Rows<'_>) {
        let Some(types) = &self.types else { return };
        let wanted = types.iter().fold(0, |wanted, &one| wanted | one.bit());
        let segment = rows.segment;
        if segment.extent.types & !wanted != 0 {
            let of_types = types.iter().map(|&one| segment.types[one as usize].words());
            let wanted = of_types.map(|words| &words[rows.first_word..]);
            let either = |number| wanted.clone().fold(0, |kept, words: &[u64]| kept | words[number]);
            rows.words.iter_mut().enumerate().for_each(|(number, word)| *word &= either(number));
        }
    }

    /// Most segments lie on one side of a bound: rows come in the order of time.
    fn keep_window(&self, rows: &mut Rows<'_>) {
        let (created, extent) = (&rows.segment.columns.created, rows.segment.extent);
        let (after, before) = (self.created_after.unwrap_or(i64::MIN), self.created_before);
        if extent.newest < after || before.is_some_and(|before| extent.oldest >= before) {
            return rows.words.fill(0);
        }
        if extent.oldest < after {
            rows.keep(|row| created[row] >= after);
        }
        if let Some(before) = before.filter(|&before| extent.newest >= before) {
            rows.keep(|row| created[row] < before);
        }
    }

    fn keep_marked(&self, rows: &mut Rows<'_>) {
        let marks = &rows.segment.marks;
        for (labels, wanted) in [(&marks.sessions, &self.session_id), (&marks.sources, &self.source)] {
            if let Some(word) = wanted {
                rows.keep_any(labels, std::slice::from_ref(word));
            }
        }
        if let Some(tags) = &self.tags_any {
            rows.keep_any(&marks.tags, tags);
        }
        for tag in self.tags_all.iter().flatten() {
            rows.keep_any(&marks.tags, std::slice::from_ref(tag));
        }
    }
}

/// Rows of one segment, fewer with each condition.
struct Rows<'a> {
    segment: &'a Segment,
    first_word: usize,
    words: Vec<u64>,
}

impl Rows<'_> {
    fn keep(&mut self, holds: impl Fn(usize) -> bool) {
        let rows = self.segment.rows();
        for (base, word) in (self.first_word..).map(|word| word * 64).zip(&mut self.words) {
            *word = if base + 64 <= rows && word.count_ones() > 16 {
                // Without branches, so that compilers can make vector code of it.
                *word & (0..64).fold(0, |kept, bit| kept | u64::from(holds(base + bit)) << bit)
            } else {
                ones(*word).filter(|bit| holds(base + bit)).fold(0, |kept, bit| kept | 1 << bit)
            };
        }
    }

    /// Keeps rows that have one of the words.
    fn keep_any(&mut self, labels: &Labels, words: &[String]) {
        self.keep_rows(words.iter().flat_map(|word| labels.of(word)).map(|&row| usize::from(row)));
    }

    fn keep_ids(&mut self, ids: &[u128]) {
        self.keep_rows(self.segment.of_ids(ids));
    }

    fn keep_rows(&mut self, rows: impl Iterator<Item = usize>) {
        let mut found = vec![0; self.words.len()];
        for row in rows {
            if let Some(word) = (row / 64).checked_sub(self.first_word).and_then(|word| found.get_mut(word)) {
                *word |= 1u64 << (row % 64);
            }
        }
        self.words.iter_mut().zip(found).for_each(|(word, found)| *word &= found);
    }
}
