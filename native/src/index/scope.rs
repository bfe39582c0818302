//! Who may see which rows: the native form of the one rule, whose other form is SQL.

use std::ops::Range;

use super::agents::Agents;
use super::bits::span;
use super::columns::Columns;
use super::segments::Segment;

/// Who searches, and whose shared rows it wants to see beside its own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Scope {
    /// The caller: all rows of its own.
    pub agent: String,
    /// The shared rows of these agents; `None` is every agent. Unknown names match nothing.
    pub others: Option<Vec<String>>,
}

impl Scope {
    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        self.agent.len() + self.others.iter().flatten().map(|name| bytes_of(name)).sum::<usize>()
    }
}

/// Bytes of a string within another value, and on the heap.
pub const fn bytes_of(string: &str) -> usize {
    size_of::<String>() + string.len()
}

/// A scope in the numbers of one index.
#[derive(Debug)]
pub struct Sight {
    own: Option<u32>,
    others: Option<Vec<u32>>,
}

impl Sight {
    /// Of the agents met so far.
    pub fn of(scope: &Scope, agents: &Agents) -> Self {
        let others = scope.others.as_ref().map(|names| agents.numbers(names));
        Self { own: agents.number(&scope.agent), others }
    }

    /// How many rows a search walks over at most.
    pub fn rows(&self, columns: &Columns) -> usize {
        let others: usize = self.others(columns).iter().map(ExactSizeIterator::len).sum();
        (self.own(columns).map_or(0, |own| own.len()) + others).min(columns.rows())
    }

    /// The rows that may be seen, as words from the number of the first one on; `None` where there are none.
    pub fn mask(&self, segment: &Segment) -> Option<(usize, Vec<u64>)> {
        let own = self.own(&segment.columns);
        let others = if segment.shared.is_empty() { Vec::new() } else { self.others(&segment.columns) };
        let ranges = || others.iter().chain(&own);
        let first = ranges().map(|range| range.start / 64).min()?;
        let end = ranges().map(|range| range.end.div_ceil(64)).max()?;
        let mut words = vec![0; end - first];
        for range in &others {
            add(&mut words, first, range);
        }
        words.iter_mut().zip(&segment.shared.words()[first..]).for_each(|(word, shared)| *word &= shared);
        if let Some(range) = &own {
            add(&mut words, first, range);
        }
        Some((first, words))
    }

    /// `None` where the caller has no rows here: an empty range has no place in a mask.
    fn own(&self, columns: &Columns) -> Option<Range<usize>> {
        self.own.map(|agent| columns.of_agent(agent)).filter(|range| !range.is_empty())
    }

    fn others(&self, columns: &Columns) -> Vec<Range<usize>> {
        let all = self.others.is_none().then(|| 0..columns.rows());
        let each = self.others.iter().flatten().map(|&agent| columns.of_agent(agent));
        all.into_iter().chain(each).filter(|range| !range.is_empty()).collect()
    }
}

/// Adds the rows of `range` to a mask that begins with word `first`.
fn add(words: &mut [u64], first: usize, range: &Range<usize>) {
    for word in range.start / 64..range.end.div_ceil(64) {
        words[word - first] |= span(word, range.start, range.end);
    }
}
