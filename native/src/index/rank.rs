//! The exact best k of a snapshot.

use super::bits::ones;
use super::lexicon::Lexicon;
use super::request::Request;
use super::scope::Sight;
use super::slices::Slice;
use super::snapshot::Snapshot;
use super::vectors::NONE;
use crate::kernel::Kernel;
use crate::kernel::formula::{Block, Formula};
use crate::kernel::lanes::{QueryLine, pack_query};
use crate::topk::{Candidate, Collector, Runs};

/// Rows that are scored together: one word of a mask.
const BLOCK: usize = 64;

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

/// Answers a request that was checked.
pub fn rank(snapshot: &Snapshot, kernel: &Kernel, request: &Request) -> Vec<Hit> {
    let sight = Sight::of(&request.scope, &snapshot.agents);
    // Newest parts first: they hold more of the best, so that the bar rises early.
    let parts = snapshot.parts.iter().rev();
    let slices: Vec<_> = parts.filter_map(|part| Slice::of(part, &sight, request)).collect();
    let lexicon = request.reads_terms().then(|| Lexicon::count(&slices, request));
    let query = request.compared_vector().map(pack_query);
    let scan = Scan { kernel, formula: request.formula(), query, lexicon };
    let pass = |runs| {
        let least = request.min_score.unwrap_or(f64::NEG_INFINITY);
        let mut collector = Collector::new(request.k, request.collapse, least, runs);
        scan.offer_all(&slices, &mut collector);
        collector.finish()
    };
    let best = pass(Runs::Cuttable).or_else(|| pass(Runs::Whole)).unwrap_or_default();
    best.iter().map(|candidate| scan.hit(&slices, candidate, request.collapse)).collect()
}

/// What is the same for all rows of one search.
struct Scan<'a> {
    kernel: &'a Kernel,
    formula: Formula,
    query: Option<Vec<QueryLine>>,
    lexicon: Option<Lexicon>,
}

/// Room that is used again from block to block.
struct Room {
    lexical: Vec<f64>,
    cosines: [f32; BLOCK],
    scores: [f64; BLOCK],
    spare: Vec<f32>,
}

impl Scan<'_> {
    fn offer_all(&self, slices: &[Slice<'_>], collector: &mut Collector) {
        let mut room = Room { lexical: Vec::new(), cosines: [NONE; BLOCK], scores: [0.0; BLOCK], spare: Vec::new() };
        for (number, slice) in slices.iter().enumerate() {
            self.fill_lexical(slice, &mut room.lexical);
            for (i, &word) in slice.eligible().iter().enumerate().filter(|(_, word)| **word != 0) {
                self.score(slice, i, word, &mut room);
                offer(slice, number, i, word, &room, collector);
            }
        }
    }

    fn fill_lexical(&self, slice: &Slice<'_>, lexical: &mut Vec<f64>) {
        if let Some(lexicon) = &self.lexicon {
            return lexicon.fill(slice, lexical);
        }
        lexical.clear();
        lexical.resize(slice.end_row() - slice.first_row(), 0.0);
    }

    /// Scores the rows of word `i` of the masks, at least those set in `word`.
    fn score(&self, slice: &Slice<'_>, i: usize, word: u64, room: &mut Room) {
        let start = slice.first_row() + i * BLOCK;
        let end = slice.end_row().min(start + BLOCK);
        let rows = end - start;
        self.compare(slice, start, word, room);
        let columns = &slice.segment.columns;
        let block = Block {
            cosines: &room.cosines[..rows],
            lexical: &room.lexical[i * BLOCK..][..rows],
            created: &columns.created[start..end],
            importances: &columns.importances[start..end],
        };
        self.kernel.scores(&self.formula, &block, &mut room.scores[..rows]);
    }

    /// Best inner products of the rows set in `word`; in between others may be computed too.
    fn compare(&self, slice: &Slice<'_>, start: usize, word: u64, room: &mut Room) {
        let Some(query) = &self.query else { return };
        let (first, last) = (word.trailing_zeros() as usize, 63 - word.leading_zeros() as usize);
        let vectors = &slice.segment.vectors;
        let mut best = |first: usize, last: usize| {
            let out = &mut room.cosines[first..=last];
            vectors.best(self.kernel, query, start + first, out, &mut room.spare);
        };
        if word.count_ones() as usize * 2 > last - first {
            best(first, last);
        } else {
            ones(word).for_each(|bit| best(bit, bit));
        }
    }

    fn hit(&self, slices: &[Slice<'_>], found: &Candidate, collapse: bool) -> Hit {
        let (slice, row) = (&slices[found.place.0 as usize], found.place.1 as usize);
        let others = if collapse { occurrences(slices, found.text) - 1 } else { 0 };
        Hit {
            id: found.id,
            score: found.score,
            cosine: (found.cosine > NONE).then_some(found.cosine),
            lexical: found.lexical,
            relevance: self.formula.relevance(found.cosine, found.lexical),
            recency: self.formula.recency(found.created),
            importance: self.formula.importance(slice.segment.columns.importances[row]),
            duplicates: others,
        }
    }
}

/// Eligible rows of a text.
fn occurrences(slices: &[Slice<'_>], text: u128) -> usize {
    let each = slices.iter().map(|slice| slice.segment.of_text(text).filter(|&row| slice.is_eligible(row)).count());
    each.sum()
}

/// Offers the rows set in `word` that reach the bar.
fn offer(slice: &Slice<'_>, number: usize, i: usize, word: u64, room: &Room, collector: &mut Collector) {
    let columns = &slice.segment.columns;
    for bit in ones(word) {
        let score = room.scores[bit];
        if score >= collector.bar() {
            let row = slice.first_row() + i * BLOCK + bit;
            collector.offer(Candidate {
                score,
                created: columns.created[row],
                id: columns.ids[row],
                text: columns.texts[row],
                cosine: room.cosines[bit],
                lexical: room.lexical[i * BLOCK + bit],
                place: (number as u32, row as u32),
            });
        }
    }
}
