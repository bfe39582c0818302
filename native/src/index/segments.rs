//! Segments: rows that never change once they are published.

use super::bits::Bits;
use super::blocks::Blocks;
use super::columns::{Columns, Extent, Record};
use super::labels::Marks;
use super::postings::Postings;
use super::row::{MemoryType, Row, State, Visibility};
use super::vectors::{Builder, Form, Vectors};

/// Rows that a segment holds at most; their numbers fit 16 bits.
pub const MAX_ROWS: usize = 8192;

/// Rows with everything that ranking reads, in order of their agents.
#[derive(Debug)]
pub struct Segment {
    /// What each row holds apart from vectors and terms.
    pub columns: Columns,
    /// What bounds the rows' scores.
    pub blocks: Blocks,
    /// The chunks' vectors.
    pub vectors: Vectors,
    /// Where each term occurs.
    pub postings: Postings,
    /// Tags, sessions and sources.
    pub marks: Marks,
    /// Rows of each type.
    pub types: [Bits; MemoryType::ALL.len()],
    /// Rows in state active.
    pub active: Bits,
    /// Rows in state archived.
    pub archived: Bits,
    /// Rows that other agents may see.
    pub shared: Bits,
    /// Rows whose texts other rows have too.
    pub repeated: Bits,
    /// When the first of the rows is gone.
    pub earliest_expiry: i64,
    /// What types and times there are.
    pub extent: Extent,
    by_id: Vec<u16>,
    by_text: Vec<u16>,
}

impl Segment {
    /// Of new rows with the numbers of their agents.
    ///
    /// # Panics
    ///
    /// Where there are more than [`MAX_ROWS`].
    pub fn of_rows(form: Form, rows: &mut [(u32, Row)]) -> Self {
        assert!(rows.len() <= MAX_ROWS);
        rows.sort_by_key(|(agent, _)| *agent);
        let count = rows.iter().map(|(_, row)| row.vectors.len()).sum();
        let (mut columns, mut vectors) = (Columns::default(), Builder::new(form, count));
        for (agent, row) in rows.iter() {
            columns.push(record(*agent, row));
            vectors.push(&row.vectors);
        }
        let terms = rows.iter().map(|(_, row)| (&row.terms[..], &row.counts[..]));
        let marks = Marks::of_rows(rows.iter().map(|(_, row)| row));
        Self::seal(columns, vectors.finish(), Postings::of_rows(terms), marks)
    }

    /// Of the rows of several segments that are still present there.
    ///
    /// # Panics
    ///
    /// Where those are more than [`MAX_ROWS`].
    pub fn merged(form: Form, sources: &[(&Self, &Bits)]) -> Self {
        let order = surviving(sources);
        assert!(order.len() <= MAX_ROWS);
        let count = order.iter().map(|&(s, row)| sources[s].0.vectors.owners().count(row)).sum();
        let (mut columns, mut vectors) = (Columns::default(), Builder::new(form, count));
        let mut moves: Vec<_> = sources.iter().map(|(source, _)| vec![None; source.rows()]).collect();
        for (new, &(s, row)) in order.iter().enumerate() {
            columns.push(sources[s].0.columns.get(row));
            vectors.push_from(&sources[s].0.vectors, row);
            moves[s][row] = Some(new as u16);
        }
        let postings: Vec<_> = sources.iter().map(|(source, _)| &source.postings).collect();
        let marks: Vec<_> = sources.iter().map(|(source, _)| &source.marks).collect();
        Self::seal(columns, vectors.finish(), Postings::merged(&postings, &moves), Marks::merged(&marks, &moves))
    }

    fn seal(columns: Columns, vectors: Vectors, postings: Postings, marks: Marks) -> Self {
        let rows = columns.rows();
        let numbers = || (0..rows as u16).collect::<Vec<_>>();
        let (mut by_id, mut by_text) = (numbers(), numbers());
        by_id.sort_unstable_by_key(|&row| columns.ids[usize::from(row)]);
        by_text.sort_unstable_by_key(|&row| columns.texts[usize::from(row)]);
        let in_state = |state| Bits::of(rows, |row| columns.states[row] == state);
        let (active, archived) = (in_state(State::Active), in_state(State::Archived));
        let types = MemoryType::ALL.map(|one| Bits::of(rows, |row| columns.types[row] == one));
        let shared = Bits::of(rows, |row| columns.visibilities[row] == Visibility::Shared);
        let repeated = repeated(&columns, &by_text);
        let earliest_expiry = columns.next_expiry(i64::MIN);
        let (extent, blocks) = (columns.extent(), Blocks::of(&columns));
        Self {
            columns,
            blocks,
            vectors,
            postings,
            marks,
            types,
            active,
            archived,
            shared,
            repeated,
            earliest_expiry,
            extent,
            by_id,
            by_text,
        }
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.columns.rows()
    }

    /// The row of a memory. A segment holds an id once.
    pub fn find(&self, id: u128) -> Option<usize> {
        let ids = &self.columns.ids;
        let (&first, &last) = (self.by_id.first()?, self.by_id.last()?);
        // Ids grow with time, so that most segments are passed over here.
        if id < ids[usize::from(first)] || id > ids[usize::from(last)] {
            return None;
        }
        let found = self.by_id.binary_search_by_key(&id, |&row| ids[usize::from(row)]);
        found.ok().map(|i| usize::from(self.by_id[i]))
    }

    /// The rows of those of `ids`, distinct and ascending, that are here.
    pub fn of_ids(&self, ids: &[u128]) -> impl Iterator<Item = usize> {
        let id_of = |row: &u16| self.columns.ids[usize::from(*row)];
        let near = self.by_id.first().zip(self.by_id.last()).map_or(&[][..], |(first, last)| {
            let rest = &ids[ids.partition_point(|&id| id < id_of(first))..];
            &rest[..rest.partition_point(|&id| id <= id_of(last))]
        });
        let mut rest = &self.by_id[..];
        near.iter().filter_map(move |&id| {
            rest = &rest[gallop(rest, |row| id_of(row) < id)..];
            rest.first().filter(|row| id_of(row) == id).map(|&row| usize::from(row))
        })
    }

    /// The rows of a text.
    pub fn of_text(&self, text: u128) -> impl Iterator<Item = usize> {
        let texts = &self.columns.texts;
        let start = self.by_text.partition_point(|&row| texts[usize::from(row)] < text);
        let rows = self.by_text[start..].iter().map(|&row| usize::from(row));
        rows.take_while(move |&row| texts[row] == text)
    }

    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        let lists = (self.by_id.capacity() + self.by_text.capacity()) * 2;
        self.columns.bytes()
            + self.vectors.bytes()
            + self.postings.bytes()
            + self.marks.bytes()
            + lists
            + self.rows() * (MemoryType::ALL.len() + 4) / 8
    }
}

fn record(agent: u32, row: &Row) -> Record {
    Record {
        id: row.id,
        text: row.text,
        created: row.created,
        expires: row.expires,
        importance: row.importance,
        agent,
        length: row.length(),
        memory_type: row.memory_type,
        visibility: row.visibility,
        state: row.state,
    }
}

/// Rows, given in the order of their texts, whose texts others of them have too.
fn repeated(columns: &Columns, by_text: &[u16]) -> Bits {
    let text = |row: &u16| columns.texts[usize::from(*row)];
    let several = by_text.chunk_by(|a, b| text(a) == text(b)).filter(|rows| rows.len() > 1);
    Bits::from_rows(columns.rows(), several.flatten().map(|&row| usize::from(row)))
}

/// Where `is_before` ends to hold in an ordered list, soon found where that is near the beginning.
fn gallop<T>(list: &[T], is_before: impl Fn(&T) -> bool) -> usize {
    let mut step = 1;
    while list.get(step).is_some_and(&is_before) {
        step *= 2;
    }
    let (from, end) = (step / 2, list.len().min(step + 1));
    from + list[from..end].partition_point(is_before)
}

/// Source and row of what is present, in order of agents and within an agent in order of arrival.
fn surviving(sources: &[(&Segment, &Bits)]) -> Vec<(usize, usize)> {
    let each = sources.iter().enumerate();
    let all = each
        .flat_map(|(s, (source, present))| (0..source.rows()).filter(|&row| present.has(row)).map(move |row| (s, row)));
    let mut order: Vec<_> = all.collect();
    order.sort_by_key(|&(s, row)| sources[s].0.columns.agents[row]);
    order
}
