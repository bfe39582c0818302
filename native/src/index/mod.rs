//! The resident index of one space.
//!
//! Rows live in immutable segments. A writer makes the next [`snapshot::Snapshot`] beside the current
//! one and publishes it in one step; readers take the current one and never wait.

pub mod agents;
pub mod bits;
pub mod blocks;
pub mod chosen;
pub mod columns;
mod copy;
pub mod filters;
pub mod labels;
pub mod lexicon;
pub mod loader;
pub mod memo;
pub mod postings;
pub mod rank;
pub mod request;
pub mod row;
pub mod scope;
pub mod search;
pub mod segments;
pub mod slices;
pub mod snapshot;
pub mod vectors;

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;

use crate::error::{Fault, require};
use crate::kernel::lanes::lines_for;
use crate::kernel::{Isa, Kernel};
use rank::Hit;
use request::Request;
use row::Row;
use snapshot::Snapshot;

/// Dimensions that a space may have at most.
pub const MAX_DIMENSIONS: usize = 4096;

/// Work above which a ranking is worth letting other threads in, in half-precision components: about 20 µs.
const LONG_WORK: usize = 384 * 1000;

/// All memories of one space.
#[derive(Debug)]
pub struct SpaceIndex {
    dimensions: usize,
    kernel: Kernel,
    current: ArcSwap<Snapshot>,
    writing: Mutex<()>,
}

impl SpaceIndex {
    /// An empty index for vectors of `dimensions` components, 1 to [`MAX_DIMENSIONS`].
    ///
    /// # Errors
    ///
    /// Where `dimensions` is out of range.
    pub fn new(dimensions: usize, isa: Isa) -> Result<Self, Fault> {
        let fits = (1..=MAX_DIMENSIONS).contains(&dimensions);
        require(fits, || format!("dimensions must be 1 to {MAX_DIMENSIONS}, not {dimensions}"))?;
        let current = ArcSwap::from_pointee(Snapshot::default());
        Ok(Self { dimensions, kernel: Kernel::new(isa), current, writing: Mutex::new(()) })
    }

    /// Components of a vector.
    pub const fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// The instruction set in use.
    pub const fn isa(&self) -> Isa {
        self.kernel.isa()
    }

    /// The current state.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Leaves the index empty; what it held is the caller's.
    pub fn take(&self) -> Arc<Snapshot> {
        self.current.swap(Arc::default())
    }

    /// Takes `removed` out, then puts `rows` in, each in place of the row of the same id. Readers see
    /// all of it or nothing; applying the same again changes nothing.
    ///
    /// # Errors
    ///
    /// Where a row is faulty; then nothing is applied.
    pub fn apply(&self, rows: Vec<Row>, removed: &[u128]) -> Result<(), Fault> {
        rows.iter().try_for_each(|row| row.check(self.dimensions))?;
        // A writer that panicked published nothing, so what it guarded is sound.
        let _turn = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let next = self.snapshot().after(lines_for(self.dimensions), rows, removed);
        self.current.store(Arc::new(next));
        Ok(())
    }

    /// Whether ranking may take more than some 20 µs.
    pub fn is_long(&self, request: &Request) -> bool {
        self.current.load().rows_of(&request.scope) * self.dimensions > LONG_WORK
    }

    /// The exact best k, best first.
    ///
    /// # Errors
    ///
    /// Where the request is faulty.
    pub fn rank(&self, request: &Request) -> Result<Vec<Hit>, Fault> {
        request.check(self.dimensions)?;
        let (mut answers, _work) = rank::rank(&self.snapshot(), &self.kernel, &[request]);
        Ok(answers.remove(0))
    }
}
