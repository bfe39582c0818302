//! One request with what it concerns of a snapshot.

use super::lexicon::Lexicon;
use super::rank::{Hit, occurrences};
use super::request::Request;
use super::row::NEVER;
use super::scope::Sight;
use super::slices::Slice;
use super::snapshot::Snapshot;
use crate::kernel::Kernel;
use crate::kernel::density::Density;
use crate::kernel::formula::Formula;
use crate::kernel::lanes::{QueryLine, pack_query};
use crate::kernel::reach::Reach;
use crate::topk::Candidate;

/// What is the same for all rows.
pub struct Search<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) request: &'a Request,
    /// How many of the best rows are looked for: k, and more where they are to be kept.
    pub(super) depth: usize,
    pub(super) formula: Formula,
    pub(super) reach: Reach,
    pub(super) density: Density,
    pub(super) query: Option<Vec<QueryLine>>,
    pub(super) lexicon: Option<Lexicon>,
    /// By part, newest first: those hold more of the best, so that the bar rises early.
    pub(super) slices: Vec<Option<Slice<'a>>>,
}

impl<'a> Search<'a> {
    /// Of a request that was checked.
    pub fn new(snapshot: &'a Snapshot, kernel: &'a Kernel, request: &'a Request) -> Self {
        let sight = Sight::of(&request.scope, &snapshot.agents);
        let slices: Vec<_> = snapshot.parts.iter().rev().map(|part| Slice::of(part, &sight, request)).collect();
        let lexicon = request.reads_terms().then(|| Lexicon::count(&slices, request));
        let query = request.compared_vector().map(pack_query);
        let formula = request.formula();
        let depth = snapshot.answers.depth(request);
        let (reach, density) = (Reach::new(&formula), kernel.density(code_bytes(&slices)));
        Self { kernel, request, depth, formula, reach, density, query, lexicon, slices }
    }

    /// What is told of a row of the answer.
    ///
    /// # Panics
    ///
    /// Where the candidate is of another search.
    pub fn hit(&self, found: &Candidate) -> Hit {
        let others = if self.request.collapse { occurrences(&self.slices, found) - 1 } else { 0 };
        Hit::of(&self.formula, found, self.importance(found), others)
    }

    /// The importance of a row of the answer, 0 to 2.
    ///
    /// # Panics
    ///
    /// Where the candidate is of another search.
    pub fn importance(&self, found: &Candidate) -> f64 {
        let (part, row) = (found.place.0 as usize, found.place.1 as usize);
        self.slices[part].as_ref().expect("a candidate is of a slice").segment.columns.importances[row]
    }

    /// When the first of the rows goes that have not gone yet, microseconds since 1970.
    pub fn next_expiry(&self) -> i64 {
        let segments = self.slices.iter().flatten().map(|slice| slice.segment);
        segments.map(|segment| segment.columns.next_expiry(self.request.now)).min().unwrap_or(NEVER)
    }
}

/// What a walk over all blocks reads of codes.
fn code_bytes(slices: &[Option<Slice<'_>>]) -> usize {
    slices.iter().flatten().map(|slice| slice.segment.vectors.scanned_bytes()).sum()
}
