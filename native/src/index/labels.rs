//! A column of words: each row has none, one or several. A segment keeps each of its words once, in a list of
//! its own, so that nothing stays of what only removed rows had.

use std::collections::{HashMap, HashSet};

use super::row::Row;

/// All columns of words.
#[derive(Debug, Default)]
pub struct Marks {
    /// Any number for each row.
    pub tags: Labels,
    /// At most one for each row.
    pub sessions: Labels,
    /// At most one for each row.
    pub sources: Labels,
}

impl Marks {
    /// Of rows in their order.
    pub fn of_rows<'a>(rows: impl Iterator<Item = &'a Row> + Clone) -> Self {
        Self {
            tags: Labels::of_rows(rows.clone().map(|row| row.tags.iter().map(String::as_str))),
            sessions: Labels::of_rows(rows.clone().map(|row| row.session_id.as_deref())),
            sources: Labels::of_rows(rows.map(|row| row.source.as_deref())),
        }
    }

    /// Of rows of other segments: `order` has the source and the row of each.
    pub fn merged(sources: &[&Self], order: &[(usize, usize)]) -> Self {
        let of = |column: fn(&Self) -> &Labels| {
            let columns: Vec<_> = sources.iter().map(|marks| column(marks)).collect();
            Labels::merged(&columns, order)
        };
        Self {
            tags: of(|marks| &marks.tags),
            sessions: of(|marks| &marks.sessions),
            sources: of(|marks| &marks.sources),
        }
    }

    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        self.tags.bytes() + self.sessions.bytes() + self.sources.bytes()
    }
}

/// The words of a segment's rows, as numbers.
#[derive(Debug, Default)]
pub struct Labels {
    words: Words,
    /// Where each row's numbers begin, and one more for the end; empty where no row has a word.
    starts: Vec<u32>,
    /// Each row's distinct words, ascending.
    numbers: Vec<u32>,
}

impl Labels {
    /// Of the words of rows 0, 1, 2, …, in any order.
    pub fn of_rows<'a, W: IntoIterator<Item = &'a str>>(rows: impl Iterator<Item = W> + Clone) -> Self {
        let distinct: HashSet<&str> = rows.clone().flatten().collect();
        let mut sorted: Vec<_> = distinct.into_iter().collect();
        sorted.sort_unstable();
        let numbers: HashMap<_, _> = sorted.iter().copied().zip(0u32..).collect();
        let mut labels = Self { words: Words::of(&sorted), ..Self::default() };
        if !sorted.is_empty() {
            labels.starts.push(0);
            rows.for_each(|row| labels.push(row.into_iter().map(|word| numbers[word]).collect()));
        }
        labels.starts.shrink_to_fit();
        labels.numbers.shrink_to_fit();
        labels
    }

    /// Of rows of other columns: `order` has the source and the row of each.
    pub fn merged(sources: &[&Self], order: &[(usize, usize)]) -> Self {
        Self::of_rows(order.iter().map(|&(source, row)| sources[source].words_of(row)))
    }

    fn push(&mut self, mut numbers: Vec<u32>) {
        numbers.sort_unstable();
        numbers.dedup();
        self.numbers.extend(numbers);
        self.starts.push(self.numbers.len() as u32);
    }

    /// The numbers of a row's words, ascending.
    pub fn of(&self, row: usize) -> &[u32] {
        if self.starts.is_empty() {
            return &[];
        }
        &self.numbers[self.starts[row] as usize..self.starts[row + 1] as usize]
    }

    fn words_of(&self, row: usize) -> impl Iterator<Item = &str> {
        self.of(row).iter().map(|&number| self.words.get(number as usize))
    }

    /// The number of a word; `None` where no row has it.
    pub fn find(&self, word: &str) -> Option<u32> {
        self.words.find(word).map(|place| place as u32)
    }

    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        self.words.bytes() + (self.starts.capacity() + self.numbers.capacity()) * 4
    }
}

/// Distinct words in the order of their bytes, one behind the other.
#[derive(Debug, Default)]
struct Words {
    text: Box<str>,
    ends: Box<[u32]>,
}

impl Words {
    fn of(sorted: &[&str]) -> Self {
        let end = |sum: &mut u32, word: &&str| {
            *sum += word.len() as u32;
            Some(*sum)
        };
        Self { text: sorted.concat().into(), ends: sorted.iter().scan(0, end).collect() }
    }

    fn get(&self, place: usize) -> &str {
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start as usize..self.ends[place] as usize]
    }

    fn find(&self, word: &str) -> Option<usize> {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            match self.get(middle).cmp(word) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    fn bytes(&self) -> usize {
        self.text.len() + self.ends.len() * 4
    }
}

#[cfg(test)]
mod tests {
    use super::Labels;

    fn words(labels: &Labels, rows: usize) -> Vec<Vec<&str>> {
        (0..rows).map(|row| labels.words_of(row).collect()).collect()
    }

    #[test]
    fn a_row_has_the_words_that_it_came_with_each_once_and_in_order() {
        let labels = Labels::of_rows([vec!["b", "a", "b"], vec![], vec!["", "ä", "a"]].into_iter());
        assert_eq!(words(&labels, 3), [vec!["a", "b"], vec![], vec!["", "a", "ä"]]);
        for (place, word) in ["", "a", "b", "ä"].into_iter().enumerate() {
            assert_eq!(labels.find(word), Some(place as u32));
        }
        assert_eq!((labels.find("c"), labels.find("ab")), (None, None));
    }

    #[test]
    fn words_of_rows_that_went_are_gone_after_a_merge() {
        let first = Labels::of_rows([vec!["x", "secret"], vec!["y"]].into_iter());
        let second = Labels::of_rows([vec!["y", "w"]].into_iter());
        let merged = Labels::merged(&[&first, &second], &[(1, 0), (0, 1)]);
        assert_eq!(words(&merged, 2), [vec!["w", "y"], vec!["y"]]);
        assert_eq!((&*merged.words.text, merged.find("x")), ("wy", None));
    }

    #[test]
    fn a_column_without_words_takes_no_memory() {
        let labels = Labels::of_rows(std::iter::repeat_n(None::<&str>, 1000));
        assert_eq!((labels.bytes(), labels.of(999)), (0, &[][..]));
    }
}
