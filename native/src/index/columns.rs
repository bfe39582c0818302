//! The columns of a segment: what each row holds apart from vectors and terms.

use super::row::{MemoryType, NEVER, State, Visibility};

/// One row of the columns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Record {
    /// UUID as a number.
    pub id: u128,
    /// The text's number.
    pub text: u128,
    /// Microseconds since 1970.
    pub created: i64,
    /// Microseconds since 1970, or [`NEVER`].
    pub expires: i64,
    /// 0 to 2.
    pub importance: f64,
    /// The agent's number in the index.
    pub agent: u32,
    /// Occurrences of terms.
    pub length: u32,
    /// What kind of thing was learned.
    pub memory_type: MemoryType,
    /// Who may read it.
    pub visibility: Visibility,
    /// Where it stands in its life.
    pub state: State,
}

/// Columns of rows in order of their agents, so that an agent's rows are consecutive.
#[derive(Debug, Default)]
pub struct Columns {
    pub(super) ids: Vec<u128>,
    pub(super) texts: Vec<u128>,
    pub(super) created: Vec<i64>,
    pub(super) expires: Vec<i64>,
    pub(super) importances: Vec<f64>,
    pub(super) agents: Vec<u32>,
    pub(super) lengths: Vec<u32>,
    pub(super) types: Vec<MemoryType>,
    pub(super) visibilities: Vec<Visibility>,
    pub(super) states: Vec<State>,
}

/// What types and times there are among rows.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// The bit of each type, as [`MemoryType::bit`] has it.
    pub types: u8,
    /// Microseconds since 1970.
    pub oldest: i64,
    /// Microseconds since 1970.
    pub newest: i64,
}

impl Columns {
    /// Appends a row.
    pub fn push(&mut self, record: Record) {
        debug_assert!(self.agents.last().is_none_or(|&last| last <= record.agent));
        self.ids.push(record.id);
        self.texts.push(record.text);
        self.created.push(record.created);
        self.expires.push(record.expires);
        self.importances.push(record.importance);
        self.agents.push(record.agent);
        self.lengths.push(record.length);
        self.types.push(record.memory_type);
        self.visibilities.push(record.visibility);
        self.states.push(record.state);
    }

    /// The row of this number.
    pub fn get(&self, row: usize) -> Record {
        Record {
            id: self.ids[row],
            text: self.texts[row],
            created: self.created[row],
            expires: self.expires[row],
            importance: self.importances[row],
            agent: self.agents[row],
            length: self.lengths[row],
            memory_type: self.types[row],
            visibility: self.visibilities[row],
            state: self.states[row],
        }
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.ids.len()
    }

    /// When the first of the rows is gone that is not yet at `now`, or [`NEVER`].
    pub fn next_expiry(&self, now: i64) -> i64 {
        self.expires.iter().copied().filter(|&expires| expires > now).min().unwrap_or(NEVER)
    }

    /// What types and times there are among the rows.
    pub fn extent(&self) -> Extent {
        let types = self.types.iter().fold(0, |types, &one| types | one.bit());
        let oldest = self.created.iter().copied().min().unwrap_or(i64::MAX);
        Extent { types, oldest, newest: self.created.iter().copied().max().unwrap_or(i64::MIN) }
    }

    /// The rows of an agent.
    pub fn of_agent(&self, agent: u32) -> std::ops::Range<usize> {
        let start = self.agents.partition_point(|&other| other < agent);
        let length = self.agents[start..].partition_point(|&other| other == agent);
        start..start + length
    }

    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        let wide = self.ids.capacity() + self.texts.capacity();
        let long = self.created.capacity() + self.expires.capacity() + self.importances.capacity();
        let short = self.agents.capacity() + self.lengths.capacity();
        let narrow = self.types.capacity() + self.visibilities.capacity() + self.states.capacity();
        wide * 16 + long * 8 + short * 4 + narrow
    }
}
