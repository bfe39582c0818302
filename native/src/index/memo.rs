//! Numbers that belong to vectors, for rows that share them.

use super::vectors::{NONE, Vectors};

/// One number for each vector of a segment, found when it is first asked for.
#[derive(Debug, Default)]
pub struct Memo {
    /// NaN where none was asked for.
    known: Vec<f32>,
    asked: Vec<u32>,
    found: Vec<f32>,
}

impl Memo {
    /// Begins anew for this many vectors.
    pub fn forget(&mut self, vectors: usize) {
        self.known.clear();
        self.known.resize(vectors, f32::NAN);
    }

    /// The largest number of each row's vectors, [`NONE`] where it has none, into `out`. `find` tells the numbers of
    /// vectors, none of which is NaN.
    pub fn best(&mut self, vectors: &Vectors, rows: &[u32], out: &mut [f32], find: impl FnOnce(&[u32], &mut [f32])) {
        if vectors.is_plain() {
            return find(rows, &mut out[..rows.len()]);
        }
        self.learn(vectors, rows, find);
        for (out, &row) in out.iter_mut().zip(rows) {
            *out = vectors.of(row as usize).map(|number| self.known[number as usize]).fold(NONE, f32::max);
        }
    }

    fn learn(&mut self, vectors: &Vectors, rows: &[u32], find: impl FnOnce(&[u32], &mut [f32])) {
        self.asked.clear();
        for number in rows.iter().flat_map(|&row| vectors.of(row as usize)) {
            let known = &mut self.known[number as usize];
            if known.is_nan() {
                *known = NONE;
                self.asked.push(number);
            }
        }
        self.found.resize(self.asked.len(), NONE);
        find(&self.asked, &mut self.found);
        self.asked.iter().zip(&self.found).for_each(|(&number, &found)| self.known[number as usize] = found);
    }
}
