//! One state of the index. Readers hold a snapshot; a writer makes the next one beside it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::agents::Agents;
use super::answers::{Answers, room};
use super::bits::Bits;
use super::row::Row;
use super::scope::{Scope, Sight};
use super::segments::{MAX_ROWS, Segment};
use super::vectors::Form;

/// A segment with those of its rows that are still present.
#[derive(Debug, Clone)]
pub struct Part {
    /// The rows.
    pub segment: Arc<Segment>,
    /// Those neither removed nor replaced.
    pub present: Arc<Bits>,
    count: usize,
}

impl Part {
    fn new(segment: Segment) -> Self {
        let rows = segment.rows();
        Self { segment: Arc::new(segment), present: Arc::new(Bits::of(rows, |_| true)), count: rows }
    }

    /// One part of all rows that are present in several.
    pub fn merged(form: Form, parts: &[Self]) -> Self {
        let sources: Vec<_> = parts.iter().map(|part| (&*part.segment, &*part.present)).collect();
        Self::new(Segment::merged(form, &sources))
    }

    /// How many rows are present.
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Takes a memory out, if it is here.
    pub fn remove(&mut self, id: u128) -> bool {
        let found = self.segment.find(id).filter(|&row| self.present.has(row));
        if let Some(row) = found {
            Arc::make_mut(&mut self.present).remove(row);
            self.count -= 1;
        }
        found.is_some()
    }
}

/// All parts of the index as they were at one moment.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// Oldest first.
    pub parts: Vec<Part>,
    /// The agents met so far.
    pub agents: Arc<Agents>,
    /// What was asked of this state.
    pub answers: Answers,
}

impl Snapshot {
    /// How many rows are present.
    pub fn rows(&self) -> usize {
        self.parts.iter().map(Part::count).sum()
    }

    /// Bytes on the heap, with the room for kept answers.
    pub fn bytes(&self) -> usize {
        let parts = self.parts.iter().map(|part| part.segment.bytes() + part.segment.rows() / 8);
        parts.sum::<usize>() + self.agents.bytes() + room(self.rows()) + self.parts.capacity() * size_of::<Part>()
    }

    /// Rows that a search of this scope walks over at most, present or not.
    pub fn rows_of(&self, scope: &Scope) -> usize {
        let sight = Sight::of(scope, &self.agents);
        self.parts.iter().map(|part| sight.rows(&part.segment.columns)).sum()
    }

    /// The state after `removed` went and `rows` came, a row in place of the one of the same id.
    #[must_use]
    pub fn after(&self, form: Form, rows: Vec<Row>, removed: &[u128]) -> Self {
        let (parts, agents) = (self.parts.clone(), self.agents.clone());
        let mut next = Self { parts, agents, answers: Answers::default() };
        let rows = last_of_each(rows);
        for &id in removed.iter().chain(rows.iter().map(|row| &row.id)) {
            // Newest first: what changes is mostly new.
            let _found = next.parts.iter_mut().rev().any(|part| part.remove(id));
        }
        next.parts.retain(|part| part.count > 0);
        next.append(form, rows);
        next
    }

    fn append(&mut self, form: Form, rows: Vec<Row>) {
        let mut numbered = self.numbered(rows);
        for chunk in numbered.chunks_mut(MAX_ROWS) {
            self.parts.push(Part::new(Segment::of_rows(form, chunk)));
        }
    }

    fn numbered(&mut self, rows: Vec<Row>) -> Vec<(u32, Row)> {
        let known = rows.iter().all(|row| self.agents.number(&row.agent).is_some());
        if !known {
            let agents = Arc::make_mut(&mut self.agents);
            for row in &rows {
                agents.meet(&row.agent);
            }
        }
        rows.into_iter().map(|row| (self.agents.number(&row.agent).unwrap_or_default(), row)).collect()
    }
}

/// Of several rows with one id the last.
fn last_of_each(rows: Vec<Row>) -> Vec<Row> {
    let distinct = || rows.iter().map(|row| row.id).collect::<HashSet<_>>().len() == rows.len();
    if rows.is_sorted_by(|a, b| a.id < b.id) || distinct() {
        return rows;
    }
    let last: HashMap<u128, usize> = rows.iter().enumerate().map(|(i, row)| (row.id, i)).collect();
    let kept = rows.into_iter().enumerate().filter(|(i, row)| last[&row.id] == *i);
    kept.map(|(_, row)| row).collect()
}
