//! Some rows, gathered to be compared and scored together.

use super::bits::ones;
use super::columns::Columns;
use super::hopeful;
use crate::kernel::Kernel;
use crate::kernel::formula::{Block, Formula};
use crate::kernel::reach::BLOCK;

/// Columns of the chosen rows, one after another.
#[derive(Debug)]
pub struct Chosen {
    count: usize,
    numbers: [u32; BLOCK],
    /// Best inner products, or what they are not above.
    pub cosines: [f32; BLOCK],
    lexical: [f64; BLOCK],
    created: [i64; BLOCK],
    importances: [f64; BLOCK],
    scores: [f64; BLOCK],
}

impl Default for Chosen {
    fn default() -> Self {
        Self {
            count: 0,
            numbers: [0; BLOCK],
            cosines: [0.0; BLOCK],
            lexical: [0.0; BLOCK],
            created: [0; BLOCK],
            importances: [0.0; BLOCK],
            scores: [0.0; BLOCK],
        }
    }
}

impl Chosen {
    /// Chooses the rows set in `word` of the block that begins with row `start`.
    pub fn choose(&mut self, start: usize, word: u64) {
        self.count = word.count_ones() as usize;
        fill(&mut self.numbers, start, word);
    }

    /// Chooses no row.
    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// Chooses besides the rows of those pairs that are no less than `least`, until the last or until [`BLOCK`] are
    /// chosen; the pairs after that.
    pub fn gather<'p>(&mut self, mut pairs: &'p [u64], least: u64) -> &'p [u64] {
        while self.count < BLOCK && !pairs.is_empty() {
            // As many as there is room for whatever they are.
            let (now, later) = pairs.split_at(pairs.len().min(BLOCK - self.count));
            let mut count = self.count;
            for &pair in now {
                self.numbers[count] = hopeful::row(pair);
                count += usize::from(pair >= least);
            }
            (self.count, pairs) = (count, later);
        }
        pairs
    }

    /// How many are chosen.
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Leaves those whose scores are not below `bar`.
    pub fn keep(&mut self, bar: f64) {
        let mut kept = 0;
        for i in 0..self.count {
            self.numbers[kept] = self.numbers[i];
            kept += usize::from(self.scores[i] >= bar);
        }
        self.count = kept;
    }

    /// The chosen rows and room for a number of each.
    pub fn compared(&mut self) -> (&[u32], &mut [f32]) {
        (&self.numbers[..self.count], &mut self.cosines[..self.count])
    }

    /// Moves the number of each row to the row's place in the block that all are of.
    pub fn spread(&mut self, word: u64) {
        if self.count == BLOCK {
            return;
        }
        let compact = self.cosines;
        ones(word).zip(compact).for_each(|(bit, number)| self.cosines[bit] = number);
    }

    /// Scores the rows. `lexical` is BM25 of the rows from `first` on, empty where terms are not read.
    pub fn score(&mut self, kernel: &Kernel, formula: &Formula, columns: &Columns, lexical: &[f64], first: usize) {
        for (i, &number) in self.numbers[..self.count].iter().enumerate() {
            let row = number as usize;
            self.lexical[i] = lexical.get(row - first).copied().unwrap_or_default();
            self.created[i] = columns.created[row];
            self.importances[i] = columns.importances[row];
        }
        let block = Block {
            cosines: &self.cosines[..self.count],
            lexical: &self.lexical[..self.count],
            created: &self.created[..self.count],
            importances: &self.importances[..self.count],
        };
        kernel.scores(formula, &block, &mut self.scores[..self.count]);
    }

    /// The scores.
    pub fn scores(&self) -> &[f64] {
        &self.scores[..self.count]
    }

    /// Row, cosine and BM25 of the chosen row `i`.
    pub fn parts(&self, i: usize) -> (usize, f32, f64) {
        (self.numbers[i] as usize, self.cosines[i], self.lexical[i])
    }
}

fn fill(numbers: &mut [u32; BLOCK], start: usize, word: u64) {
    if word == u64::MAX {
        let each = numbers.iter_mut().zip(start as u32..);
        return each.for_each(|(number, row)| *number = row);
    }
    for (number, bit) in numbers.iter_mut().zip(ones(word)) {
        *number = (start + bit) as u32;
    }
}
