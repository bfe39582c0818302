//! The resident index of one space.
//!
//! Rows live in immutable segments. A writer makes the next [`snapshot::Snapshot`] beside the current
//! one and publishes it in one step; readers take the current one and never wait.

pub mod agents;
pub mod answers;
pub mod bits;
pub mod blocks;
pub mod chosen;
pub mod columns;
pub mod compaction;
mod copy;
pub mod filters;
pub mod hopeful;
pub mod labels;
pub mod lexicon;
pub mod loader;
pub mod memo;
pub mod pass;
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

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;

use crate::error::{Fault, require};
use crate::kernel::lanes::lines_for;
use crate::kernel::{Isa, Kernel};
use compaction::Compaction;
use rank::{Hit, Work};
use request::Request;
use row::Row;
use snapshot::Snapshot;
use vectors::Form;

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
    compacting: Mutex<()>,
    scanned: AtomicU64,
    scored: AtomicU64,
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
        Ok(Self {
            dimensions,
            kernel: Kernel::new(isa),
            current: ArcSwap::default(),
            writing: Mutex::default(),
            compacting: Mutex::default(),
            scanned: AtomicU64::default(),
            scored: AtomicU64::default(),
        })
    }

    /// Components of a vector.
    pub const fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// The instruction set in use.
    pub const fn isa(&self) -> Isa {
        self.kernel.isa()
    }

    const fn form(&self) -> Form {
        Form { stride: lines_for(self.dimensions), kernel: self.kernel }
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
    /// all of it or nothing; applying the same again changes nothing. What is there already is not copied.
    ///
    /// # Errors
    ///
    /// Where a row is faulty; then nothing is applied.
    pub fn apply(&self, rows: Vec<Row>, removed: &[u128]) -> Result<(), Fault> {
        rows.iter().try_for_each(|row| row.check(self.dimensions))?;
        let _turn = turn(&self.writing);
        let next = self.snapshot().after(self.form(), rows, removed);
        self.current.store(Arc::new(next));
        Ok(())
    }

    /// Whether [`Self::compact`] has something to do.
    pub fn is_fragmented(&self) -> bool {
        compaction::is_due(&self.current.load().parts)
    }

    /// Joins small parts and drops rows that are gone. Readers and writers go on meanwhile.
    pub fn compact(&self) {
        let _alone = turn(&self.compacting);
        let Some(made) = Compaction::of(self.snapshot(), self.form()) else { return };
        let _turn = turn(&self.writing);
        self.current.store(Arc::new(made.replace(&self.snapshot())));
    }

    /// Whether ranking may take more than some 20 µs.
    pub fn is_long(&self, request: &Request) -> bool {
        let (snapshot, is_long) = (self.current.load(), |rows| rows * self.dimensions > LONG_WORK);
        is_long(snapshot.rows()) && is_long(snapshot.rows_of(&request.scope))
    }

    /// The exact best k of each request, best first, all from one state and in one walk over it; a fault of a request
    /// is its own.
    pub fn rank(&self, requests: &[Request]) -> Vec<Result<Vec<Hit>, Fault>> {
        let checked = requests.iter().map(|request| request.check(self.dimensions).map(|()| request));
        let checked: Vec<_> = checked.collect();
        let sound: Vec<_> = checked.iter().filter_map(|request| request.as_ref().ok().copied()).collect();
        let (answers, work) = rank::rank(&self.snapshot(), &self.kernel, &sound);
        self.scanned.fetch_add(work.scanned, Ordering::Relaxed);
        self.scored.fetch_add(work.scored, Ordering::Relaxed);
        let mut answers = answers.into_iter();
        checked.into_iter().map(|request| request.map(|_| answers.next().unwrap_or_default())).collect()
    }

    /// The answer of [`Self::rank`] to a question that was asked before of the same state, where that is kept and
    /// certain; a ranking of what is asked here again keeps its answer.
    ///
    /// # Errors
    ///
    /// Where the request is faulty.
    pub fn again(&self, request: &Request) -> Result<Option<Vec<Hit>>, Fault> {
        request.check(self.dimensions)?;
        Ok(self.current.load().answers.again(request))
    }

    /// What all rankings together looked at so far.
    pub fn work(&self) -> Work {
        Work { scanned: self.scanned.load(Ordering::Relaxed), scored: self.scored.load(Ordering::Relaxed) }
    }
}

/// A turn of one at a time. Who panicked published nothing, so what it guarded is sound.
fn turn(lock: &Mutex<()>) -> MutexGuard<'_, ()> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
