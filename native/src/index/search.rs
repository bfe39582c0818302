//! One request with what it concerns of a snapshot.

use super::lexicon::Lexicon;
use super::rank::{Hit, occurrences};
use super::request::Request;
use super::scope::Sight;
use super::slices::Slice;
use super::snapshot::Snapshot;
use super::vectors::NONE;
use crate::kernel::Kernel;
use crate::kernel::formula::Formula;
use crate::kernel::lanes::{QueryLine, pack_query};
use crate::kernel::reach::Reach;
use crate::topk::Candidate;

/// What is the same for all rows.
pub struct Search<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) request: &'a Request,
    pub(super) formula: Formula,
    pub(super) reach: Reach,
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
        Self { kernel, request, formula, reach: Reach::new(&formula), query, lexicon, slices }
    }

    /// What is told of a row of the answer.
    ///
    /// # Panics
    ///
    /// Where the candidate is of another search.
    pub fn hit(&self, found: &Candidate) -> Hit {
        let (part, row) = (found.place.0 as usize, found.place.1 as usize);
        let columns = &self.slices[part].as_ref().expect("a candidate is of a slice").segment.columns;
        let others = if self.request.collapse { occurrences(&self.slices, found.text) - 1 } else { 0 };
        Hit {
            id: found.id,
            score: found.score,
            cosine: (found.cosine > NONE).then_some(found.cosine),
            lexical: found.lexical,
            relevance: self.formula.relevance(found.cosine, found.lexical),
            recency: self.formula.recency(found.created),
            importance: self.formula.importance(columns.importances[row]),
            duplicates: others,
        }
    }
}
