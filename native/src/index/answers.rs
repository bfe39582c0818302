//! Answers that are given again while a state of the index lasts.
//!
//! Scores only fall as time passes: recency does, and all else of them stays. So of a question that is asked again and
//! again a few more than the best k are kept, and of all other rows only a bound on their scores. As long as the k-th
//! of the kept ones stays above that bound, the best k are the best k of the kept ones: the same bits as a ranking's.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::size_of_val;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::rank::{Hit, occurrences};
use super::request::Request;
use super::search::Search;
use crate::kernel::formula::Formula;
use crate::topk::{Candidate, Collector, Runs, TIE};

/// Rows that are kept beside the best k: with a half-life of a month they carry an answer over days.
const SPARE: usize = 32;

/// Answers for more hits than that are not kept.
const MOST_HITS: usize = 100;

/// Memory for kept answers, some 4 KB each, of a state of so many rows, in bytes: a small part of what the rows take.
pub const fn room(rows: usize) -> usize {
    const OF_A_ROW: usize = 80;
    const MOST: usize = 2 << 20;
    if rows < MOST / OF_A_ROW { rows * OF_A_ROW } else { MOST }
}

/// Questions that are known to have been asked of one state.
const MOST_QUESTIONS: usize = 512;

/// More than scores of the same row may rise by rounding while they fall.
const ROUNDING: f64 = 1e-12;

/// What was asked of one state, and the answers to what was asked more than once.
#[derive(Debug, Default)]
pub struct Answers(Mutex<Asked>);

#[derive(Debug, Default)]
struct Asked {
    questions: HashMap<u64, Fate>,
    /// How often kept answers were given or taken.
    turn: u64,
    /// What the kept answers take.
    bytes: usize,
}

/// What becomes of the answer to a question.
#[derive(Debug)]
enum Fate {
    /// It was asked once.
    Given,
    /// It was asked again: the next one is to be kept.
    Awaited,
    /// With the turn when it was last given.
    Kept(Box<Kept>, u64),
    /// Rows are too close to each other or to others of their text, or there is no room for so large an answer.
    GivenAlways,
}

impl Answers {
    /// The answer, where it is kept and certain. Where it is not, the question is known from now on: the ranking of one
    /// that was asked before keeps its answer.
    pub fn again(&self, request: &Request) -> Option<Vec<Hit>> {
        if !is_short(request) {
            return None;
        }
        let question = number(request);
        let mut asked = self.asked();
        let hits = asked.give(question, request);
        if hits.is_none() {
            asked.note(question);
        }
        hits
    }

    /// How many of the best rows a ranking of it has to find.
    pub fn depth(&self, request: &Request) -> usize {
        let asked = self.asked();
        let keeps = !asked.questions.is_empty() && is_short(request) && asked.awaits(number(request));
        request.k + if keeps { SPARE } else { 0 }
    }

    /// Keeps the best rows of a search that went deeper than k into a state of `rows`; its answer, where they make it
    /// certain.
    pub fn keep(&self, search: &Search<'_>, best: &[Candidate], rows: usize) -> Option<Vec<Hit>> {
        let question = number(search.request);
        let kept = Kept::of(search, best);
        let hits = kept.as_ref().and_then(|kept| kept.at(search.request.now));
        let mut asked = self.asked();
        match kept.filter(|_| hits.is_some()) {
            Some(kept) => asked.keep(question, kept, rows),
            None => asked.set(question, Fate::GivenAlways),
        }
        hits
    }

    fn asked(&self) -> MutexGuard<'_, Asked> {
        // Nothing here is half done after a panic: at worst a question is forgotten.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Asked {
    fn give(&mut self, question: u64, request: &Request) -> Option<Vec<Hit>> {
        let Fate::Kept(kept, used) = self.questions.get_mut(&question)? else { return None };
        let hits = kept.of_same(request).then(|| kept.at(request.now)).flatten()?;
        self.turn += 1;
        *used = self.turn;
        Some(hits)
    }

    fn note(&mut self, question: u64) {
        if self.questions.len() >= MOST_QUESTIONS {
            self.questions.retain(|_, fate| matches!(fate, Fate::Kept(..)));
        }
        match self.questions.entry(question) {
            Entry::Vacant(place) => drop(place.insert(Fate::Given)),
            Entry::Occupied(mut place) if matches!(place.get(), Fate::Given) => drop(place.insert(Fate::Awaited)),
            Entry::Occupied(_) => {}
        }
    }

    fn awaits(&self, question: u64) -> bool {
        matches!(self.questions.get(&question), Some(Fate::Awaited | Fate::Kept(..)))
    }

    /// Keeps an answer in place of those that were not given for the longest time.
    fn keep(&mut self, question: u64, kept: Kept, rows: usize) {
        let room = room(rows);
        self.forget(question);
        while self.bytes + kept.bytes() > room && self.bytes > 0 {
            self.forget_oldest();
        }
        if kept.bytes() > room {
            return self.set(question, Fate::GivenAlways);
        }
        self.bytes += kept.bytes();
        self.turn += 1;
        self.questions.insert(question, Fate::Kept(Box::new(kept), self.turn));
    }

    fn set(&mut self, question: u64, fate: Fate) {
        self.forget(question);
        self.questions.insert(question, fate);
    }

    fn forget(&mut self, question: u64) {
        if let Some(Fate::Kept(kept, _)) = self.questions.remove(&question) {
            self.bytes -= kept.bytes();
        }
    }

    fn forget_oldest(&mut self) {
        let used = |(&question, fate): (&u64, &Fate)| match fate {
            Fate::Kept(_, used) => Some((*used, question)),
            _ => None,
        };
        if let Some((_, oldest)) = self.questions.iter().filter_map(used).min() {
            self.forget(oldest);
        }
    }
}

/// The best rows of a question.
#[derive(Debug)]
struct Kept {
    request: Request,
    rows: Vec<Row>,
    /// No other row scores more, nor will.
    others: f64,
    /// When a row goes, microseconds since 1970: the statistics of terms change with it.
    until: i64,
}

impl Kept {
    /// Of the `best` rows of `search`; `None` where time may bring other rows of their texts forward.
    fn of(search: &Search<'_>, best: &[Candidate]) -> Option<Self> {
        let alone = |found: &Candidate| occurrences(&search.slices, found) == 1;
        if search.request.collapse && !best.iter().all(alone) {
            return None;
        }
        let least = best.iter().map(|found| found.score).fold(f64::INFINITY, f64::min);
        // Those not found are below the last group of the found ones, or within it.
        let others = if best.len() < search.depth { f64::NEG_INFINITY } else { least + TIE + ROUNDING };
        let rows = best.iter().map(|found| Row::of(found, search.importance(found))).collect();
        Some(Self { request: search.request.clone(), rows, others, until: search.next_expiry() })
    }

    fn of_same(&self, request: &Request) -> bool {
        self.request == Request { now: self.request.now, ..request.clone() }
    }

    /// The answer at a time; `None` where that is not certain.
    fn at(&self, now: i64) -> Option<Vec<Hit>> {
        if now < self.request.now || now >= self.until {
            return None;
        }
        let request = &self.request;
        let formula = request.formula_at(now);
        let least = request.min_score.unwrap_or(f64::NEG_INFINITY);
        let mut collector = Collector::new(request.k, false, least, Runs::Whole);
        for (place, row) in self.rows.iter().enumerate() {
            collector.offer(row.candidate(place, &formula));
        }
        collector.settle();
        let certain = self.others == f64::NEG_INFINITY || self.others < collector.bar();
        let best = collector.finish().filter(|_| certain)?;
        let hit = |row: &Candidate| Hit::of(&formula, row, self.rows[row.place.1 as usize].importance, 0);
        Some(best.iter().map(hit).collect())
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.request.bytes() + size_of_val(&*self.rows)
    }
}

/// What the score of a row is made of, and its name.
#[derive(Debug)]
struct Row {
    id: u128,
    created: i64,
    lexical: f64,
    importance: f64,
    cosine: f32,
}

impl Row {
    const fn of(found: &Candidate, importance: f64) -> Self {
        let Candidate { id, created, lexical, cosine, .. } = *found;
        Self { id, created, lexical, importance, cosine }
    }

    /// The row in place `place` at the time of the formula, the only one of its text.
    fn candidate(&self, place: usize, formula: &Formula) -> Candidate {
        let Self { id, created, lexical, importance, cosine } = *self;
        let relevance = formula.relevance(cosine, lexical);
        let score = formula.score(relevance, formula.recency(created), formula.importance(importance));
        Candidate { score, created, id, text: id, cosine, lexical, place: (0, place as u32) }
    }
}

/// Whether the request is small enough to be kept beside its answer.
const fn is_short(request: &Request) -> bool {
    request.k <= MOST_HITS && request.filters.only.is_none()
}

/// A number of the question, whenever it is asked. Rarely two questions have one.
fn number(request: &Request) -> u64 {
    /// More than texts of one model share.
    const COMPONENTS: usize = 16;
    let Request { scope, mode, terms, counts, k, filters, collapse, include_archived, .. } = request;
    let mut hasher = DefaultHasher::new();
    (scope, mode, terms, counts, k, filters, collapse, include_archived).hash(&mut hasher);
    let constants = [request.alpha, request.half_life_days, request.importance_weight, request.floor, request.ceiling];
    constants.iter().chain(&request.min_score).for_each(|number| number.to_bits().hash(&mut hasher));
    let components = request.vector.iter().flatten().take(COMPONENTS);
    components.for_each(|number| number.to_bits().hash(&mut hasher));
    hasher.finish()
}
