//! The keyword data of a segment: for each term the rows that hold it.

/// A row's number in its segment and how often the term occurs there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Posting {
    /// Row of the segment.
    pub row: u16,
    /// 1 to 32,767.
    pub count: u16,
}

/// Lists of postings by ascending row, one for each term.
#[derive(Debug, Default)]
pub struct Postings {
    terms: Vec<i32>,
    /// Where each term's list begins, and one more for the end.
    starts: Vec<u32>,
    entries: Vec<Posting>,
}

impl Postings {
    /// From the terms and counts of rows 0, 1, 2, …
    pub fn of_rows<'a>(rows: impl Iterator<Item = (&'a [i32], &'a [u16])>) -> Self {
        let mut all = Vec::new();
        for (row, (terms, counts)) in rows.enumerate() {
            let row = row as u16;
            all.extend(terms.iter().zip(counts).map(|(&term, &count)| key(term, Posting { row, count })));
        }
        all.sort_unstable();
        let mut postings = Self { starts: vec![0], entries: Vec::with_capacity(all.len()), ..Self::default() };
        for list in all.chunk_by(|a, b| a >> 32 == b >> 32) {
            postings.entries.extend(list.iter().map(|&key| posting_of(key)));
            postings.end_term(term_of(list[0]));
        }
        postings.shrink()
    }

    /// From several, whose rows take new numbers: `moves[s][row]` for row `row` of source `s`, `None` where it goes.
    pub fn merged(sources: &[&Self], moves: &[Vec<Option<u16>>]) -> Self {
        let mut postings = Self { starts: vec![0], ..Self::default() };
        postings.entries.reserve(sources.iter().map(|source| source.entries.len()).sum());
        let mut next = vec![0; sources.len()];
        while let Some(term) = sources.iter().zip(&next).filter_map(|(s, &i)| s.terms.get(i).copied()).min() {
            let start = postings.entries.len();
            for ((source, next), moves) in sources.iter().zip(&mut next).zip(moves) {
                if source.terms.get(*next) == Some(&term) {
                    postings.entries.extend(source.list(*next).iter().filter_map(|posting| moved(*posting, moves)));
                    *next += 1;
                }
            }
            postings.entries[start..].sort_unstable();
            if postings.entries.len() > start {
                postings.end_term(term);
            }
        }
        postings.shrink()
    }

    fn end_term(&mut self, term: i32) {
        self.terms.push(term);
        self.starts.push(self.entries.len() as u32);
    }

    fn shrink(mut self) -> Self {
        self.terms.shrink_to_fit();
        self.starts.shrink_to_fit();
        self.entries.shrink_to_fit();
        self
    }

    fn list(&self, term: usize) -> &[Posting] {
        &self.entries[self.starts[term] as usize..self.starts[term + 1] as usize]
    }

    /// The postings of a term in the rows `from..to`.
    pub fn of(&self, term: i32, from: usize, to: usize) -> &[Posting] {
        let Ok(number) = self.terms.binary_search(&term) else { return &[] };
        let list = self.list(number);
        let start = list.partition_point(|posting| usize::from(posting.row) < from);
        let length = list[start..].partition_point(|posting| usize::from(posting.row) < to);
        &list[start..start + length]
    }

    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        (self.terms.capacity() + self.starts.capacity() + self.entries.capacity()) * 4
    }
}

/// A number that orders as term, row and count do: such ones are sorted in half of the time.
fn key(term: i32, Posting { row, count }: Posting) -> u64 {
    let term = term.cast_unsigned() ^ 1 << 31;
    u64::from(term) << 32 | u64::from(row) << 16 | u64::from(count)
}

const fn term_of(key: u64) -> i32 {
    ((key >> 32) as u32 ^ 1 << 31).cast_signed()
}

const fn posting_of(key: u64) -> Posting {
    Posting { row: (key >> 16) as u16, count: key as u16 }
}

fn moved(posting: Posting, moves: &[Option<u16>]) -> Option<Posting> {
    moves[usize::from(posting.row)].map(|row| Posting { row, ..posting })
}

#[cfg(test)]
mod tests {
    use super::{Posting, Postings};

    #[test]
    fn a_term_has_the_rows_that_hold_it_whatever_its_number() {
        let rows: [(&[i32], &[u16]); 3] =
            [(&[i32::MIN, -1, 7], &[1, 0x7fff, 3]), (&[], &[]), (&[-1, 0, i32::MAX], &[2, 5, 6])];
        let postings = Postings::of_rows(rows.into_iter());
        assert!(postings.terms.is_sorted());
        for (row, (terms, counts)) in rows.into_iter().enumerate() {
            for (&term, &count) in terms.iter().zip(counts) {
                assert!(postings.of(term, row, row + 1) == [Posting { row: row as u16, count }]);
            }
        }
        assert_eq!((postings.of(-1, 0, 3).len(), postings.of(1, 0, 3).len(), postings.of(7, 1, 3).len()), (2, 0, 0));
    }
}
