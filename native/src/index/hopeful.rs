//! Rows that may be in the answer, with bounds of their scores.

use super::bits::ones;
use crate::kernel::codes::below;
use crate::kernel::reach::BLOCK;

/// Bounds and rows, each pair one number, so that to order them is to compare numbers.
#[derive(Debug, Default)]
pub struct Hopeful(Vec<u64>);

impl Hopeful {
    /// Adds the rows set in `word` of the block that begins with row `start`; no bound is below 0.
    pub fn note(&mut self, start: usize, word: u64, bounds: &[f32; BLOCK]) {
        if word == u64::MAX {
            self.0.extend(bounds.iter().zip(start as u64..).map(|(bound, row)| pair(*bound, row)));
        } else {
            self.0.extend(ones(word).map(|bit| pair(bounds[bit], (start + bit) as u64)));
        }
    }

    /// Those with the `count` largest bounds, in any order, and the others.
    pub fn best(&mut self, count: usize) -> (&[u64], &[u64]) {
        let Some(others) = self.0.len().checked_sub(count).filter(|&others| others > 0) else { return (&self.0, &[]) };
        self.0.select_nth_unstable(others);
        let (others, best) = self.0.split_at(others);
        (best, others)
    }

    /// Drops all.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

/// Less than it is no pair whose bound reaches `bar`.
pub fn least(bar: f64) -> u64 {
    pair(below(bar).max(0.0), 0)
}

/// The row of a pair.
pub fn row(pair: u64) -> u32 {
    pair as u32
}

/// Numbers that are not below 0 are ordered as their bits are.
fn pair(bound: f32, row: u64) -> u64 {
    u64::from(bound.to_bits()) << 32 | row
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, Hopeful, least, row};

    #[test]
    fn the_best_are_those_with_the_largest_bounds() {
        for rows in [0, 1, 15, 16, 17, 40, 256, 300] {
            let mut hopeful = Hopeful::default();
            let bound = |row: usize| (row * 37 % 101) as f32 / 8.0;
            for start in (0..rows).step_by(BLOCK) {
                let word = u64::MAX >> (BLOCK - (rows - start).min(BLOCK));
                hopeful.note(start, word, &std::array::from_fn(|bit| bound(start + bit)));
            }
            let (best, others) = hopeful.best(16);
            assert_eq!((best.len(), best.len() + others.len()), (rows.min(16), rows));
            assert!(others.iter().all(|other| best.iter().all(|best| other < best)));
            let mut all: Vec<_> = best.iter().chain(others).map(|&pair| row(pair) as usize).collect();
            assert!(all.iter().zip(best).all(|(&row, &pair)| (pair >= least(5.0)) == (bound(row) >= 5.0)));
            all.sort_unstable();
            assert!(all.into_iter().eq(0..rows));
        }
    }
}
