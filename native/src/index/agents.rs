//! Agents' names as small numbers.

use std::collections::HashMap;

/// The agents that an index has met. Numbers are given in order and never change.
#[derive(Debug, Default, Clone)]
pub struct Agents(HashMap<Box<str>, u32>);

impl Agents {
    /// The number of an agent, if met.
    pub fn number(&self, name: &str) -> Option<u32> {
        self.0.get(name).copied()
    }

    /// The number of an agent, met now if not before.
    pub fn meet(&mut self, name: &str) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(name.into()).or_insert(next)
    }

    /// The numbers of those of `names` that were met, ascending.
    pub fn numbers(&self, names: &[String]) -> Vec<u32> {
        let mut numbers: Vec<_> = names.iter().filter_map(|name| self.number(name)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        // One byte of control for each slot of the table.
        let slots = self.0.capacity() * (size_of::<(Box<str>, u32)>() + 1);
        slots + self.0.keys().map(|name| name.len()).sum::<usize>()
    }
}
