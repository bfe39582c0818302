//! The way of one request through a snapshot, stretch by stretch.

use std::ops::Range;

use super::chosen::Chosen;
use super::columns::Columns;
use super::hopeful::{self, Hopeful};
use super::memo::Memo;
use super::rank::Work;
use super::search::Search;
use super::slices::Slice;
use super::vectors::{NONE, Owners, Vectors};
use crate::kernel::Kernel;
use crate::kernel::codes::below;
use crate::kernel::lanes::QueryLine;
use crate::kernel::query::{Grain, Look, QueryCodes, Window};
use crate::kernel::reach::{BLOCK, Decay, Hopes};
use crate::topk::{Candidate, Collector, Runs};

/// Of the rows of a stretch that may be in the answer so many are scored first: the best by their bounds raise the bar.
const FIRST: usize = 16;

/// Memory that is used again from block to block.
#[derive(Default)]
struct Room {
    /// BM25 of the slice's rows; empty where terms are not read.
    lexical: Vec<f64>,
    /// The query for the slice's vectors; `None` where vectors are not compared.
    codes: Option<QueryCodes>,
    /// Whether the codes are for vectors around the origin, as those of all small segments are.
    plain: bool,
    coarse: Memo,
    fine: Memo,
    dots: Memo,
    chosen: Chosen,
    /// Rows whose bounds reach the bar.
    hopeful: Hopeful,
}

impl Room {
    /// Turns to the vectors of a slice.
    fn compare(&mut self, kernel: &Kernel, query: &[QueryLine], vectors: &Vectors) {
        let plain = vectors.centre().is_origin();
        if !(plain && self.plain) {
            self.codes = Some(kernel.rounded(query, vectors.centre()));
            self.plain = plain;
        }
        if !matches!(vectors.owners(), Owners::Plain) {
            for memo in [&mut self.coarse, &mut self.fine, &mut self.dots] {
                memo.forget(vectors.len());
            }
        }
    }
}

/// One walk over the slices of a search.
pub struct Pass<'s> {
    search: &'s Search<'s>,
    collector: Collector,
    part: usize,
    work: Work,
    /// Apart, because it is large and passes are moved.
    room: Box<Room>,
}

/// Some rows of one block.
struct Rows<'s> {
    slice: &'s Slice<'s>,
    /// The block's first row and the one after its last.
    start: usize,
    end: usize,
    /// What is eligible of the block after it.
    next: u64,
    decay: Decay,
}

impl<'s> Pass<'s> {
    /// One that has not begun.
    pub fn new(search: &'s Search<'s>, runs: Runs) -> Self {
        let request = search.request;
        let least = request.min_score.unwrap_or(f64::NEG_INFINITY);
        let collector = Collector::new(search.depth, request.collapse, least, runs);
        Self { search, collector, part: 0, work: Work::default(), room: Box::default() }
    }

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
        if let Some(query) = &self.search.query {
            self.room.compare(self.search.kernel, query, &slice.segment.vectors);
        }
        slice.first_word..slice.first_word + slice.eligible().len()
    }

    fn fill_lexical(&mut self, slice: &Slice<'_>) {
        if let Some(lexicon) = &self.search.lexicon {
            lexicon.fill(slice, &mut self.room.lexical);
        }
    }

    /// Offers what is eligible in these blocks and can be in the answer.
    pub fn visit(&mut self, words: Range<usize>) {
        let Some(slice) = &self.search.slices[self.part] else { return };
        let (first, end) = (slice.first_word, slice.first_word + slice.eligible().len());
        for word in words.start.max(first)..words.end.min(end) {
            self.look_over(slice, word);
        }
        self.score_hopeful(slice);
    }

    /// Notes the eligible rows of a block whose bounds reach the bar.
    fn look_over(&mut self, slice: &Slice<'_>, word: usize) {
        let eligible = slice.eligible()[word - slice.first_word];
        let (start, end) = (word * BLOCK, slice.end_row().min((word + 1) * BLOCK));
        let decay = self.search.reach.decay(slice.segment.blocks.each[word].newest);
        let next = slice.eligible().get(word + 1 - slice.first_word).copied().unwrap_or_default();
        let rows = Rows { slice, start, end, next, decay };
        if eligible == 0 || !self.may_reach(&rows, word) {
            return;
        }
        self.work.scanned += u64::from(eligible.count_ones());
        let mut bounds = [0.0; BLOCK];
        let reaching = self.reaching(&rows, eligible, &mut bounds);
        self.room.hopeful.note(start, reaching, &bounds);
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

    /// Those of `eligible` whose bounds, by the coarse codes, reach the bar.
    fn reaching(&mut self, rows: &Rows<'_>, eligible: u64, bounds: &mut [f32; BLOCK]) -> u64 {
        let Search { kernel, reach, density, .. } = self.search;
        let Room { chosen, codes, coarse, .. } = &mut *self.room;
        if let Some(codes) = codes {
            let (vectors, first) = (&rows.slice.segment.vectors, rows.start);
            if matches!(vectors.owners(), Owners::Plain) && rows.end - first == BLOCK {
                let next = density.asked_for(rows.next);
                let window = Window { first, rows: density.compared(eligible), next };
                vectors.block_bounds(kernel, codes, &window, &mut chosen.cosines);
            } else {
                chosen.choose(first, eligible);
                let (numbers, out) = chosen.compared();
                coarse.best(vectors.owners(), numbers, out, |numbers, out| {
                    vectors.bounds(kernel, codes, &Look { numbers, grain: Grain::Coarse }, out);
                });
                chosen.spread(eligible);
            }
        }
        let blocks = &rows.slice.segment.blocks;
        let hopes = Hopes {
            cosines: &self.room.chosen.cosines[..rows.end - rows.start],
            lexical: self.lexical(rows),
            ages: &blocks.ages[rows.start..rows.end],
            importances: &blocks.importances[rows.start..rows.end],
            decay: rows.decay,
        };
        kernel.reaching(reach, &hopes, below(self.collector.bar()), bounds) & eligible
    }

    /// Scores the hopeful rows, the most hopeful first: they spare many others that.
    fn score_hopeful(&mut self, slice: &Slice<'_>) {
        let mut hopeful = std::mem::take(&mut self.room.hopeful);
        let (best, others) = hopeful.best(FIRST);
        self.score_reaching(slice, best);
        if !others.is_empty() {
            self.collector.settle();
            self.score_reaching(slice, others);
        }
        hopeful.clear();
        self.room.hopeful = hopeful;
    }

    /// Scores those that reach the bar still.
    fn score_reaching(&mut self, slice: &Slice<'_>, pairs: &[u64]) {
        self.room.chosen.clear();
        let mut rest = pairs;
        while !rest.is_empty() {
            rest = self.room.chosen.gather(rest, hopeful::least(self.collector.bar()));
            if rest.is_empty() || self.room.chosen.count() == BLOCK {
                self.score_chosen(slice);
            }
        }
    }

    /// Scores the chosen rows, by the fine codes and then in full, and offers those that reach the bar.
    fn score_chosen(&mut self, slice: &Slice<'_>) {
        let Search { kernel, formula, query, .. } = self.search;
        let Room { chosen, codes, fine, dots, lexical, .. } = &mut *self.room;
        let (segment, first, bar) = (slice.segment, slice.first_row(), self.collector.bar());
        let vectors = &segment.vectors;
        if let Some(codes) = codes.as_ref().filter(|_| bar > f64::NEG_INFINITY) {
            let (numbers, out) = chosen.compared();
            fine.best(vectors.owners(), numbers, out, |numbers, out| {
                vectors.bounds(kernel, codes, &Look { numbers, grain: Grain::Fine }, out);
            });
            chosen.score(kernel, formula, &segment.columns, lexical, first);
            chosen.keep(bar);
        }
        let (numbers, out) = chosen.compared();
        out.fill(NONE);
        if let Some(query) = query {
            let find = |numbers: &[u32], out: &mut [f32]| vectors.dots(kernel, query, numbers, out);
            dots.best(vectors.owners(), numbers, out, find);
        }
        chosen.score(kernel, formula, &segment.columns, lexical, first);
        self.work.scored += chosen.count() as u64;
        for (i, &score) in chosen.scores().iter().enumerate() {
            if score >= self.collector.bar() {
                self.collector.offer(candidate(score, chosen.parts(i), &segment.columns, self.part));
            }
        }
        chosen.clear();
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
