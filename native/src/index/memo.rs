//! Numbers that belong to vectors, for rows that share them.

use super::vectors::{NONE, Owners};

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
    pub fn best(&mut self, owners: Owners<'_>, rows: &[u32], out: &mut [f32], find: impl FnOnce(&[u32], &mut [f32])) {
        if matches!(owners, Owners::Plain) {
            return find(rows, &mut out[..rows.len()]);
        }
        self.learn(owners, rows, find);
        for (out, &row) in out.iter_mut().zip(rows) {
            *out = NONE;
            owners.each(row as usize, |number| *out = out.max(self.known[number as usize]));
        }
    }

    fn learn(&mut self, owners: Owners<'_>, rows: &[u32], find: impl FnOnce(&[u32], &mut [f32])) {
        self.asked.clear();
        for &row in rows {
            owners.each(row as usize, |number| {
                let known = &mut self.known[number as usize];
                if known.is_nan() {
                    *known = NONE;
                    self.asked.push(number);
                }
            });
        }
        self.found.resize(self.asked.len(), NONE);
        find(&self.asked, &mut self.found);
        self.asked.iter().zip(&self.found).for_each(|(&number, &found)| self.known[number as usize] = found);
    }
}
