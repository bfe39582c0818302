//! Joining small parts and dropping rows that are gone, beside readers and writers.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::answers::Answers;
use super::bits::ones;
use super::segments::{MAX_ROWS, Segment};
use super::snapshot::{Part, Snapshot};
use super::vectors::Form;

/// Parts are joined where at least so many can be, so that a row is copied a dozen times in its life and a search walks
/// over some twenty small parts at most.
const FEWEST: usize = 4;

/// Parts of a snapshot made anew.
pub struct Compaction {
    before: Arc<Snapshot>,
    /// Consecutive parts of it, ascending, and what they become.
    made: Vec<(Range<usize>, Part)>,
}

impl Compaction {
    /// Of a snapshot; `None` where there is nothing to do.
    pub fn of(before: Arc<Snapshot>, form: Form) -> Option<Self> {
        let plan = plan(&before.parts);
        let made: Vec<_> =
            plan.into_iter().map(|range| (range.clone(), Part::merged(form, &before.parts[range]))).collect();
        (!made.is_empty()).then_some(Self { before, made })
    }

    /// The state that `now` becomes, which may have lost and got rows since.
    pub fn replace(self, now: &Snapshot) -> Snapshot {
        let mut at: HashMap<*const Segment, usize> = HashMap::new();
        for (i, part) in self.before.parts.iter().enumerate() {
            at.insert(Arc::as_ptr(&part.segment), i);
        }
        let later: HashMap<_, _> = now.parts.iter().map(|part| (Arc::as_ptr(&part.segment), part)).collect();
        let mut made = self.made.into_iter().map(|(range, part)| {
            let part = without(part, &self.before.parts[range.clone()], &later);
            (range, part)
        });
        let mut next = made.next();
        let mut parts = Vec::with_capacity(now.parts.len());
        for part in &now.parts {
            let number = at.get(&Arc::as_ptr(&part.segment)).copied().unwrap_or(usize::MAX);
            while let Some((_, part)) = next.take_if(|(range, _)| range.end <= number) {
                parts.push(part);
                next = made.next();
            }
            if next.as_ref().is_none_or(|(range, _)| !range.contains(&number)) {
                parts.push(part.clone());
            }
        }
        parts.extend(next.into_iter().chain(made).map(|(_, part)| part));
        parts.retain(|part| part.count() > 0);
        Snapshot { parts, agents: now.agents.clone(), answers: Answers::default() }
    }
}

/// A part without the rows that `sources`, of which it was made, have lost since.
fn without(mut part: Part, sources: &[Part], later: &HashMap<*const Segment, &Part>) -> Part {
    for source in sources {
        let now = later.get(&Arc::as_ptr(&source.segment));
        for (number, &word) in source.present.words().iter().enumerate() {
            let kept = now.map_or(0, |now| now.present.words()[number]);
            for bit in ones(word & !kept) {
                part.remove(source.segment.columns.ids[number * 64 + bit]);
            }
        }
    }
    part
}

/// Whether something is to be made anew.
pub fn is_due(parts: &[Part]) -> bool {
    !plan(parts).is_empty()
}

/// Consecutive parts, each run of which becomes one: small ones, and those of which half is gone.
fn plan(parts: &[Part]) -> Vec<Range<usize>> {
    let mut plan = Vec::new();
    let mut end = parts.len();
    while end > 0 {
        let start = joinable(parts, end);
        let run = if end - start >= FEWEST { start..end } else { end - 1..end };
        let half_gone = parts[end - 1].count() * 2 <= parts[end - 1].segment.rows();
        end = run.start;
        if run.len() > 1 || half_gone {
            plan.push(run);
        }
    }
    plan.reverse();
    plan
}

/// Where the parts begin that can become one with the part before `end`: each is no larger than all after it.
fn joinable(parts: &[Part], end: usize) -> usize {
    let mut start = end - 1;
    let mut rows = parts[start].count();
    while start > 0 && parts[start - 1].count() <= rows && parts[start - 1].count() + rows <= MAX_ROWS {
        start -= 1;
        rows += parts[start].count();
    }
    start
}
