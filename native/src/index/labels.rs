//! Words that rows have, none, one or several each, by word: what is asked for is then read at once. Each segment has
//! a list of its own, so that nothing stays of what only removed rows had.

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

    /// From several, as [`Labels::merged`].
    pub fn merged(sources: &[&Self], moves: &[Vec<Option<u16>>]) -> Self {
        let of = |column: fn(&Self) -> &Labels| {
            let columns: Vec<_> = sources.iter().map(|marks| column(marks)).collect();
            Labels::merged(&columns, moves)
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

/// Each word of a segment's rows with the rows that have it.
#[derive(Debug, Default)]
pub struct Labels {
    words: Words,
    /// Where each word's rows begin, and one more for the end; empty without words.
    starts: Box<[u32]>,
    /// Ascending for each word.
    rows: Box<[u16]>,
}

impl Labels {
    /// Of the words of rows 0, 1, 2, …, in any order.
    pub fn of_rows<'a, W: IntoIterator<Item = &'a str>>(rows: impl Iterator<Item = W>) -> Self {
        let each = rows.zip(0u16..).flat_map(|(words, row)| words.into_iter().map(move |word| (word, row)));
        Self::of_pairs(&each.collect::<Vec<_>>())
    }

    /// From several, whose rows take new numbers: `moves[s][row]` for row `row` of source `s`, `None` where it goes.
    pub fn merged(sources: &[&Self], moves: &[Vec<Option<u16>>]) -> Self {
        let mut pairs = Vec::new();
        for (source, moves) in sources.iter().zip(moves) {
            for (place, bounds) in source.starts.windows(2).enumerate() {
                let rows = source.rows[bounds[0] as usize..bounds[1] as usize].iter();
                let kept = rows.filter_map(|&row| moves[usize::from(row)]);
                pairs.extend(kept.map(|row| (source.words.get(place), row)));
            }
        }
        Self::of_pairs(&pairs)
    }

    fn of_pairs(pairs: &[(&str, u16)]) -> Self {
        if pairs.is_empty() {
            return Self::default();
        }
        let distinct: HashSet<&str> = pairs.iter().map(|&(word, _)| word).collect();
        let mut words: Vec<_> = distinct.into_iter().collect();
        words.sort_unstable();
        let places: HashMap<_, _> = words.iter().copied().zip(0u32..).collect();
        let mut entries: Vec<_> = pairs.iter().map(|&(word, row)| (places[word], row)).collect();
        entries.sort_unstable();
        entries.dedup();
        let ends = entries.chunk_by(|a, b| a.0 == b.0).scan(0, |end, list| {
            *end += list.len() as u32;
            Some(*end)
        });
        let starts = std::iter::once(0).chain(ends).collect();
        Self { words: Words::of(&words), starts, rows: entries.into_iter().map(|(_, row)| row).collect() }
    }

    /// The rows that have a word, ascending.
    pub fn of(&self, word: &str) -> &[u16] {
        let Some(place) = self.words.find(word) else { return &[] };
        &self.rows[self.starts[place] as usize..self.starts[place + 1] as usize]
    }

    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        self.words.bytes() + self.starts.len() * 4 + self.rows.len() * 2
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

    #[test]
    fn a_row_has_the_words_that_it_came_with() {
        let labels = Labels::of_rows([vec!["b", "a", "b"], vec![], vec!["", "ä", "a"]].into_iter());
        for (word, rows) in [("a", vec![0, 2]), ("b", vec![0]), ("", vec![2]), ("ä", vec![2]), ("ab", vec![])] {
            assert_eq!(labels.of(word), rows, "{word}");
        }
    }

    #[test]
    fn words_of_rows_that_went_are_gone_after_a_merge() {
        let first = Labels::of_rows([vec!["x", "secret"], vec!["y"]].into_iter());
        let second = Labels::of_rows([vec!["y", "w"]].into_iter());
        let merged = Labels::merged(&[&first, &second], &[vec![None, Some(1)], vec![Some(0)]]);
        assert_eq!((merged.of("y"), merged.of("w"), merged.of("x")), (&[0, 1][..], &[0][..], &[][..]));
        assert_eq!(&*merged.words.text, "wy");
    }

    #[test]
    fn a_column_without_words_takes_no_memory() {
        let labels = Labels::of_rows(std::iter::repeat_n(None::<&str>, 1000));
        assert_eq!((labels.bytes(), labels.of("")), (0, &[][..]));
    }
}
