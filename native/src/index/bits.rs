//! Sets of row numbers, 64 to a word.

/// A set of the rows of one segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bits(Vec<u64>);

impl Bits {
    /// Rows 0 to `rows` for which `holds`.
    pub fn of(rows: usize, holds: impl Fn(usize) -> bool) -> Self {
        Self::from_rows(rows, (0..rows).filter(|&row| holds(row)))
    }

    /// These rows of `rows`.
    pub fn from_rows(rows: usize, chosen: impl Iterator<Item = usize>) -> Self {
        let mut bits = Self(vec![0; rows.div_ceil(64)]);
        chosen.for_each(|row| bits.0[row / 64] |= 1 << (row % 64));
        bits
    }

    /// Whether `row` is in the set.
    pub fn has(&self, row: usize) -> bool {
        self.0[row / 64] >> (row % 64) & 1 == 1
    }

    /// Takes `row` out of the set.
    pub fn remove(&mut self, row: usize) {
        self.0[row / 64] &= !(1 << (row % 64));
    }

    /// Whether no row is in the set.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    /// How many rows are in the set.
    pub fn count(&self) -> usize {
        count(&self.0)
    }

    /// The words, row 0 in the lowest bit of the first.
    pub fn words(&self) -> &[u64] {
        &self.0
    }
}

/// Set bits in all words.
pub fn count(words: &[u64]) -> usize {
    words.iter().map(|word| word.count_ones() as usize).sum()
}

/// The numbers of the set bits of a word, ascending.
pub fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros() as usize);
        word &= word.wrapping_sub(1);
        bit
    })
}

/// The bits of word number `word` that are rows of `from..to`.
pub fn span(word: usize, from: usize, to: usize) -> u64 {
    let low = from.saturating_sub(word * 64).min(64) as u32;
    let high = to.saturating_sub(word * 64).min(64) as u32;
    below(high) & !below(low)
}

fn below(bit: u32) -> u64 {
    1u64.checked_shl(bit).map_or(u64::MAX, |power| power - 1)
}

#[cfg(test)]
mod tests {
    use super::{Bits, ones, span};

    #[test]
    fn a_set_holds_what_was_put_in_and_not_taken_out() {
        let mut bits = Bits::of(130, |row| row % 2 == 0);
        bits.remove(128);
        bits.remove(1);
        assert_eq!(bits.count(), 64);
        assert!(bits.has(126) && !bits.has(128) && !bits.has(1));
        assert_eq!(ones(bits.words()[1]).next(), Some(0));
    }

    #[test]
    fn a_span_is_cut_to_its_word() {
        assert_eq!(span(0, 0, 64), u64::MAX);
        assert_eq!(span(1, 0, 64), 0);
        assert_eq!(span(0, 3, 5), 0b11000);
        assert_eq!(span(1, 3, 65), 1);
        assert_eq!(ones(span(2, 130, 400)).count(), 62);
    }
}
