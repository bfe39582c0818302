//! One request and its way through a snapshot, block by block.

use std::ops::Range;

use super::chosen::Chosen;
use super::columns::Columns;
use super::lexicon::Lexicon;
use super::memo::Memo;
use super::rank::{Hit, Work, occurrences};
use super::request::Request;
use super::scope::Sight;
use super::slices::Slice;
use super::snapshot::Snapshot;
use super::vectors::{NONE, Owners};
use crate::kernel::Kernel;
use crate::kernel::codes::{Look, QueryCodes, below};
use crate::kernel::formula::Formula;
use crate::kernel::lanes::{QueryLine, pack_query};
use crate::kernel::reach::{BLOCK, Decay, Hopes, Reach};
use crate::topk::{Candidate, Collector, Runs};

/// Rows are scored in full without asking for bounds where more than one in so many of the last block reached the bar.
const CROWD: usize = 4;

/// What is the same for all rows.
pub struct Search<'a> {
    kernel: &'a Kernel,
    request: &'a Request,
    formula: Formula,
    reach: Reach,
    query: Option<Query>,
    lexicon: Option<Lexicon>,
    /// By part, newest first: those hold more of the best, so that the bar rises early.
    slices: Vec<Option<Slice<'a>>>,
}

struct Query {
    lines: Vec<QueryLine>,
    codes: QueryCodes,
}

impl<'a> Search<'a> {
    /// Of a request that was checked.
    pub fn new(snapshot: &'a Snapshot, kernel: &'a Kernel, request: &'a Request) -> Self {
        let sight = Sight::of(&request.scope, &snapshot.agents);
        let slices: Vec<_> = snapshot.parts.iter().rev().map(|part| Slice::of(part, &sight, request)).collect();
        let lexicon = request.reads_terms().then(|| Lexicon::count(&slices, request));
        let query = request.compared_vector();
        let query = query.map(|query| Query { lines: pack_query(query), codes: QueryCodes::new(query) });
        let formula = request.formula();
        Self { kernel, request, formula, reach: Reach::new(&formula), query, lexicon, slices }
    }

    /// A walk that has not begun.
    pub fn pass(&self, runs: Runs) -> Pass<'_> {
        let least = self.request.min_score.unwrap_or(f64::NEG_INFINITY);
        Pass {
            search: self,
            collector: Collector::new(self.request.k, self.request.collapse, least, runs),
            part: 0,
            crowded: true,
            work: Work::default(),
            room: Room::default(),
        }
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

/// Memory that is used again from block to block.
#[derive(Default)]
struct Room {
    /// BM25 of the slice's rows; empty where terms are not read.
    lexical: Vec<f64>,
    bounds: Memo,
    dots: Memo,
    chosen: Chosen,
}

/// One walk over the slices of a search.
pub struct Pass<'s> {
    search: &'s Search<'s>,
    collector: Collector,
    part: usize,
    /// Whether so many rows reach the bar that bounds would be work in vain.
    crowded: bool,
    work: Work,
    room: Room,
}

/// Some rows of one block.
struct Rows<'s> {
    slice: &'s Slice<'s>,
    /// The block's first row and the one after its last.
    start: usize,
    end: usize,
    /// The eligible rows of the block after it.
    next: u64,
    decay: Decay,
}

impl Pass<'_> {
    /// What was done so far.
    pub const fn work(&self) -> Work {
        self.work
    }

    /// The answer, best first; `None` where only a pass with whole runs can tell.
    pub fn finish(self) -> Option<Vec<Candidate>> {
        self.collector.finish()
    }

    /// Turns to a part; the numbers of the blocks to visit there.
    pub fn enter(&mut self, part: usize) -> Range<usize> {
        self.part = part;
        let Some(slice) = &self.search.slices[part] else { return 0..0 };
        self.fill_lexical(slice);
        if self.search.query.is_some() && !matches!(slice.segment.vectors.owners(), Owners::Plain) {
            self.room.bounds.forget(slice.segment.vectors.len());
            self.room.dots.forget(slice.segment.vectors.len());
        }
        slice.first_word..slice.first_word + slice.eligible().len()
    }

    fn fill_lexical(&mut self, slice: &Slice<'_>) {
        if let Some(lexicon) = &self.search.lexicon {
            lexicon.fill(slice, &mut self.room.lexical);
        }
    }

    /// Offers what is eligible in a block and can be in the answer.
    pub fn visit(&mut self, word: usize) {
        let Some(slice) = &self.search.slices[self.part] else { return };
        let eligible = word.checked_sub(slice.first_word).and_then(|i| slice.eligible().get(i));
        let Some(&eligible) = eligible.filter(|&&rows| rows != 0) else { return };
        let (start, end) = (word * BLOCK, slice.end_row().min((word + 1) * BLOCK));
        let decay = self.search.reach.decay(slice.segment.blocks.each[word].newest);
        let next = slice.eligible().get(word + 1 - slice.first_word).copied().unwrap_or_default();
        let rows = Rows { slice, start, end, next, decay };
        if !self.may_reach(&rows, word) {
            return;
        }
        let scored = if self.crowded { eligible } else { self.reaching(&rows, eligible) };
        self.work += Work { scanned: u64::from(eligible.count_ones()), scored: u64::from(scored.count_ones()) };
        let reached = if scored == 0 { 0 } else { self.offer(&rows, scored) };
        self.crowded = reached * CROWD > eligible.count_ones() as usize;
    }

    /// BM25 of the rows of a block, nothing where terms are not read.
    fn lexical(&self, rows: &Rows<'_>) -> &[f64] {
        let first = rows.slice.first_row();
        self.room.lexical.get(rows.start - first..rows.end - first).unwrap_or_default()
    }

    /// Whether a row of the block could reach the bar if it were as similar as can be.
    fn may_reach(&self, rows: &Rows<'_>, word: usize) -> bool {
        let most = self.lexical(rows).iter().copied().fold(0.0, f64::max);
        let bound = self.search.reach.most(most, rows.decay, rows.slice.segment.blocks.each[word].importance);
        bound >= below(self.collector.bar())
    }

    /// Those of `eligible` whose bounds reach the bar.
    fn reaching(&mut self, rows: &Rows<'_>, eligible: u64) -> u64 {
        let Search { kernel, reach, query, .. } = self.search;
        if let Some(query) = query {
            let vectors = &rows.slice.segment.vectors;
            let chosen = &mut self.room.chosen;
            chosen.choose(rows.start, eligible);
            chosen.follow(rows.end, rows.next);
            let (numbers, ahead, out) = chosen.compared();
            let owners = vectors.owners();
            let ahead = if matches!(owners, Owners::Plain) { ahead } else { &[] };
            let find = |numbers: &[u32], out: &mut [f32]| {
                vectors.bounds(kernel, &query.codes, &Look { numbers, ahead }, out);
            };
            self.room.bounds.best(owners, numbers, out, find);
            chosen.spread(eligible);
        }
        let blocks = &rows.slice.segment.blocks;
        let hopes = Hopes {
            cosines: &self.room.chosen.cosines[..rows.end - rows.start],
            lexical: self.lexical(rows),
            ages: &blocks.ages[rows.start..rows.end],
            importances: &blocks.importances[rows.start..rows.end],
            decay: rows.decay,
        };
        kernel.reaching(reach, &hopes, below(self.collector.bar())) & eligible
    }

    /// Scores the rows set in `scored` and offers those that reach the bar; how many of them reach it in the end.
    fn offer(&mut self, rows: &Rows<'_>, scored: u64) -> usize {
        let Search { kernel, formula, query, .. } = self.search;
        let Room { chosen, dots, lexical, .. } = &mut self.room;
        let segment = rows.slice.segment;
        chosen.choose(rows.start, scored);
        let (numbers, _, out) = chosen.compared();
        out.fill(NONE);
        if let Some(query) = query {
            let find = |numbers: &[u32], out: &mut [f32]| segment.vectors.dots(kernel, &query.lines, numbers, out);
            dots.best(segment.vectors.owners(), numbers, out, find);
        }
        chosen.score(kernel, formula, &segment.columns, lexical, rows.slice.first_row());
        for (i, &score) in chosen.scores().iter().enumerate() {
            if score >= self.collector.bar() {
                self.collector.offer(candidate(score, chosen.parts(i), &segment.columns, self.part));
            }
        }
        if self.crowded {
            self.collector.settle();
        }
        chosen.scores().iter().filter(|&&score| score >= self.collector.bar()).count()
    }
}

fn candidate(score: f64, (row, cosine, lexical): (usize, f32, f64), columns: &Columns, part: usize) -> Candidate {
    Candidate {
        score,
        created: columns.created[row],
        id: columns.ids[row],
        text: columns.texts[row],
        cosine,
        lexical,
        place: (part as u32, row as u32),
    }
}
