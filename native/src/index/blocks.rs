//! What bounds a row's score apart from vectors and terms, in as few bytes as will do.

use super::columns::Columns;
use crate::kernel::codes::{above, below};
use crate::kernel::reach::BLOCK;

/// A block of 64 rows.
#[derive(Debug, Clone, Copy)]
pub struct Block {
    /// When its newest row was created, microseconds since 1970.
    pub newest: i64,
    /// The largest importance, rounded up.
    pub importance: f32,
}

/// The blocks of a segment and columns of its rows.
#[derive(Debug)]
pub struct Blocks {
    /// By number of the block.
    pub each: Vec<Block>,
    /// Microseconds by which each row is older than the newest of its block, rounded down.
    pub ages: Vec<f32>,
    /// Importance of each row, rounded up.
    pub importances: Vec<f32>,
}

impl Blocks {
    /// Of the rows of a segment.
    pub fn of(columns: &Columns) -> Self {
        let rows = columns.rows();
        let importances: Vec<_> = columns.importances.iter().map(|&importance| above(importance)).collect();
        let mut blocks = Self { each: Vec::new(), ages: Vec::with_capacity(rows), importances };
        for (created, importances) in columns.created.chunks(BLOCK).zip(blocks.importances.chunks(BLOCK)) {
            let newest = created.iter().copied().max().unwrap_or_default();
            let importance = importances.iter().copied().fold(0.0, f32::max);
            blocks.each.push(Block { newest, importance });
            blocks.ages.extend(created.iter().map(|&time| age(newest, time)));
        }
        blocks.each.shrink_to_fit();
        blocks
    }

    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        let rows = self.ages.capacity() + self.importances.capacity();
        rows * 4 + self.each.capacity() * size_of::<Block>()
    }
}

fn age(newest: i64, time: i64) -> f32 {
    below(newest as f64 - time as f64).max(0.0)
}
