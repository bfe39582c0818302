//! The exact best k of a snapshot, for one request or for several in one pass.

use super::pass::Pass;
use super::request::Request;
use super::search::Search;
use super::slices::Slice;
use super::snapshot::Snapshot;
use super::vectors::NONE;
use crate::kernel::Kernel;
use crate::kernel::formula::Formula;
use crate::topk::{Candidate, Runs};

/// One memory of the answer with the parts of its score.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// UUID as a number.
    pub id: u128,
    /// The fused score, finite.
    pub score: f64,
    /// Best inner product of the memory's vectors; `None` where none was compared.
    pub cosine: Option<f32>,
    /// BM25; 0 where terms were not read.
    pub lexical: f64,
    /// 0 to 1.
    pub relevance: f64,
    /// 0 to 1.
    pub recency: f64,
    /// The factor 1 + weight · (importance − 1).
    pub importance: f64,
    /// Other eligible rows of the same text, folded into this hit.
    pub duplicates: usize,
}

impl Hit {
    /// Of a row of an answer.
    pub fn of(formula: &Formula, found: &Candidate, importance: f64, duplicates: usize) -> Self {
        Self {
            id: found.id,
            score: found.score,
            cosine: (found.cosine > NONE).then_some(found.cosine),
            lexical: found.lexical,
            relevance: formula.relevance(found.cosine, found.lexical),
            recency: formula.recency(found.created),
            importance: formula.importance(importance),
            duplicates,
        }
    }
}

/// How many rows a ranking looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// Rows that were compared by codes or in full.
    pub scanned: u64,
    /// Rows that were scored in full.
    pub scored: u64,
}

impl std::ops::AddAssign for Work {
    fn add_assign(&mut self, more: Self) {
        self.scanned += more.scanned;
        self.scored += more.scored;
    }
}

/// Answers requests that were checked, all from one walk over the snapshot. Each answer is the one that its request
/// gets alone.
pub fn rank(snapshot: &Snapshot, kernel: &Kernel, requests: &[&Request]) -> (Vec<Vec<Hit>>, Work) {
    let searches: Vec<_> = requests.iter().map(|request| Search::new(snapshot, kernel, request)).collect();
    let (found, mut work) = walked(&searches, Runs::Cuttable);
    let answers = searches.into_iter().zip(found).map(|(search, found)| {
        let best = whole(&search, found, &mut work);
        answer(snapshot, search, best, &mut work)
    });
    let answers = answers.collect();
    (answers, work)
}

/// The hits, from another walk where the first went deep for an answer that cannot be kept.
fn answer(snapshot: &Snapshot, mut search: Search<'_>, mut best: Vec<Candidate>, work: &mut Work) -> Vec<Hit> {
    if search.depth > search.request.k {
        if let Some(hits) = snapshot.answers.keep(&search, &best, snapshot.rows()) {
            return hits;
        }
        search.depth = search.request.k;
        best = whole(&search, alone(&search, Runs::Cuttable, work), work);
    }
    best.iter().map(|candidate| search.hit(candidate)).collect()
}

/// The best rows of a search, from another walk where the first could not tell.
fn whole(search: &Search<'_>, found: Option<Vec<Candidate>>, work: &mut Work) -> Vec<Candidate> {
    found.or_else(|| alone(search, Runs::Whole, work)).unwrap_or_default()
}

fn alone(search: &Search<'_>, runs: Runs, work: &mut Work) -> Option<Vec<Candidate>> {
    let (mut found, more) = walked(std::slice::from_ref(search), runs);
    *work += more;
    found.pop().flatten()
}

/// The best rows of each search from one walk; `None` where only a walk with whole runs can tell.
fn walked(searches: &[Search<'_>], runs: Runs) -> (Vec<Option<Vec<Candidate>>>, Work) {
    let mut passes: Vec<_> = searches.iter().map(|search| Pass::new(search, runs)).collect();
    walk(&mut passes, searches.first().map_or(0, |search| search.slices.len()));
    let mut work = Work::default();
    let found = passes.into_iter().map(|pass| {
        work += pass.work();
        pass.finish()
    });
    (found.collect(), work)
}

/// Blocks that are looked over before the best of them are scored: few at first, so that the bar is soon known, then as
/// many as the second cache holds.
const STRETCHES: std::ops::RangeInclusive<usize> = 4..=64;

/// Every stretch of every part meets all passes before the next one, so that it is read from memory once.
fn walk(passes: &mut [Pass<'_>], parts: usize) {
    let mut stretch = *STRETCHES.start();
    for part in 0..parts {
        let words = passes.iter_mut().map(|pass| pass.enter(part)).filter(|words| !words.is_empty());
        let all = words.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)).unwrap_or_default();
        let mut start = all.start;
        while start < all.end {
            let end = all.end.min(start + stretch);
            for pass in passes.iter_mut() {
                pass.visit(start..end);
            }
            start = end;
            stretch = (4 * stretch).min(*STRETCHES.end());
        }
    }
}

/// Eligible rows of the text of an eligible row.
pub(super) fn occurrences(slices: &[Option<Slice<'_>>], found: &Candidate) -> usize {
    let (own, row) = (found.place.0 as usize, found.place.1 as usize);
    let each = slices.iter().enumerate().filter_map(|(part, slice)| Some((part, slice.as_ref()?)));
    let count = |slice: &Slice<'_>| slice.segment.of_text(found.text).filter(|&row| slice.is_eligible(row)).count();
    let is_alone = |part, slice: &Slice<'_>| part == own && !slice.segment.repeated.has(row);
    each.map(|(part, slice)| if is_alone(part, slice) { 1 } else { count(slice) }).sum()
}
