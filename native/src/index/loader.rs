//! A whole space from the streams of the database.

use std::collections::VecDeque;

use super::SpaceIndex;
use super::copy::{Cutter, Fields, Next, fixed, text};
use super::row::{NEVER, Row};
use super::segments::MAX_ROWS;
use crate::error::{Fault, require};

/// Fields of a memory: those of a row before its vectors.
const MEMORY_FIELDS: usize = 14;

/// Fields of a vector: its memory and its components.
const VECTOR_FIELDS: usize = 2;

/// Vectors held beside the index at most: 25 MB of 384 dimensions.
const MAX_VECTORS: usize = 4 * MAX_ROWS;

/// Puts rows into an index that nobody reads yet.
///
/// Streams come in pairs: some memories by ascending id, then the vectors of those memories in the same order. What has
/// all of its vectors is put in at once, so that no more than one pair is held beside the index.
#[derive(Debug, Default)]
pub struct Loader {
    cutter: Cutter,
    /// Whether vectors come now.
    vectors: bool,
    /// The beginning of a row whose end has not come yet.
    part: Vec<u8>,
    /// Memories whose vectors may still come.
    waiting: VecDeque<Row>,
    /// Memories with all their vectors.
    whole: Vec<Row>,
    /// Of all of `whole`.
    vectors_of_whole: usize,
    last_memory: Option<u128>,
    last_vector: u128,
    failed: bool,
}

impl Loader {
    /// Takes the next piece, whose borders may be anywhere.
    ///
    /// # Errors
    ///
    /// Where it is not what the streams must be; from then on nothing is taken.
    pub fn feed(&mut self, index: &SpaceIndex, data: &[u8]) -> Result<(), Fault> {
        require(!self.failed, || "an earlier piece was refused".into())?;
        self.failed = true;
        self.take(index, data)?;
        self.failed = false;
        Ok(())
    }

    /// Puts in what is left.
    ///
    /// # Errors
    ///
    /// Where a stream did not end, or came without its other half.
    pub fn finish(&mut self, index: &SpaceIndex) -> Result<(), Fault> {
        let ended = !self.failed && !self.cutter.is_inside() && !self.vectors && self.part.is_empty();
        require(ended, || "a stream has not ended".into())?;
        index.apply(std::mem::take(&mut self.whole), &[])
    }

    fn take(&mut self, index: &SpaceIndex, data: &[u8]) -> Result<(), Fault> {
        if self.part.is_empty() {
            let rest = self.rows_of(index, data)?;
            self.part.extend_from_slice(rest);
        } else {
            let mut part = std::mem::take(&mut self.part);
            part.extend_from_slice(data);
            let left = self.rows_of(index, &part)?.len();
            part.drain(..part.len() - left);
            self.part = part;
        }
        Ok(())
    }

    /// Takes all whole rows of `data` and gives back what is left.
    fn rows_of<'a>(&mut self, index: &SpaceIndex, mut data: &'a [u8]) -> Result<&'a [u8], Fault> {
        loop {
            let columns = if self.vectors { VECTOR_FIELDS } else { MEMORY_FIELDS };
            match self.cutter.next(columns, &mut data)? {
                Next::Row(fields) if self.vectors => self.vector(index, fields)?,
                Next::Row(fields) => self.memory(index, fields)?,
                Next::End => self.end(index)?,
                Next::Part => return Ok(data),
            }
        }
    }

    fn memory(&mut self, index: &SpaceIndex, fields: Fields<'_>) -> Result<(), Fault> {
        let row = memory(fields)?;
        require(self.last_memory < Some(row.id), || "memories must come in the order of their ids".into())?;
        row.check(index.dimensions())?;
        self.last_memory = Some(row.id);
        self.waiting.push_back(row);
        Ok(())
    }

    fn vector(&mut self, index: &SpaceIndex, mut fields: Fields<'_>) -> Result<(), Fault> {
        let id = u128::from_be_bytes(fields.fixed("memory_id")?);
        let vector = fields.halves("embedding")?;
        fields.finish()?;
        require(self.last_vector <= id, || "vectors must come in the order of their memories".into())?;
        self.last_vector = id;
        while self.waiting.front().is_some_and(|row| row.id < id) {
            self.pass_on(index)?;
        }
        // A vector of a memory that is not there is nobody's, as it is for the statements.
        if let Some(row) = self.waiting.front_mut().filter(|row| row.id == id) {
            row.vectors.push(vector);
        }
        Ok(())
    }

    fn end(&mut self, index: &SpaceIndex) -> Result<(), Fault> {
        while self.vectors && !self.waiting.is_empty() {
            self.pass_on(index)?;
        }
        self.vectors = !self.vectors;
        Ok(())
    }

    /// The first of those that wait has all of its vectors.
    fn pass_on(&mut self, index: &SpaceIndex) -> Result<(), Fault> {
        let Some(row) = self.waiting.pop_front() else { return Ok(()) };
        self.vectors_of_whole += row.vectors.len();
        self.whole.push(row);
        if self.whole.len() < MAX_ROWS && self.vectors_of_whole < MAX_VECTORS {
            return Ok(());
        }
        self.vectors_of_whole = 0;
        index.apply(std::mem::replace(&mut self.whole, Vec::with_capacity(MAX_ROWS)), &[])
    }
}

/// A memory without its vectors.
fn memory(mut fields: Fields<'_>) -> Result<Row, Fault> {
    let row = Row {
        id: u128::from_be_bytes(fields.fixed("id")?),
        agent: fields.text("agent_id")?.into(),
        memory_type: fields.text("memory_type")?.parse()?,
        visibility: fields.text("visibility")?.parse()?,
        state: fields.text("state")?.parse()?,
        tags: fields.array("tags", |tag| text(tag, "a tag").map(Into::into))?,
        session_id: fields.optional_text("session_id")?.map(Into::into),
        source: fields.optional_text("source")?.map(Into::into),
        text: first_half(fields.fixed("content_hash")?),
        importance: f64::from_be_bytes(fields.fixed("importance")?),
        created: fields.time("created_at")?.ok_or_else(|| Fault::new("created_at must not be NULL"))?,
        expires: fields.time("expires_at")?.unwrap_or(NEVER),
        terms: fields.array("terms", |term| Ok(i32::from_be_bytes(fixed(term, "a term")?)))?,
        counts: fields.array("term_counts", |count| Ok(u16::from_be_bytes(fixed(count, "a count")?)))?,
        vectors: Vec::new(),
    };
    fields.finish()?;
    Ok(row)
}

fn first_half(hash: [u8; 32]) -> u128 {
    hash.iter().take(16).fold(0, |number, &byte| number << 8 | u128::from(byte))
}
