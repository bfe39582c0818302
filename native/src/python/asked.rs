//! A search as Python asks it: a dict of `memex._native._Request`.

use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};

use crate::error::Fault;
use crate::index::filters::Filters;
use crate::index::request::Request;
use crate::index::scope::Scope;

/// The items of the dict.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Asked {
    agent: String,
    others: Option<Vec<String>>,
    mode: PyBackedStr,
    vector: Option<PyBackedBytes>,
    term_ids: Vec<i32>,
    term_counts: Vec<u16>,
    k: usize,
    alpha: f64,
    half_life_days: f64,
    importance_weight: f64,
    floor: f64,
    ceiling: f64,
    min_score: Option<f64>,
    now: i64,
    collapse: bool,
    include_archived: bool,
    types: Option<Vec<PyBackedStr>>,
    created_after: Option<i64>,
    created_before: Option<i64>,
    tags_any: Option<Vec<String>>,
    tags_all: Option<Vec<String>>,
    session_id: Option<String>,
    source: Option<String>,
    only: Option<PyBackedBytes>,
}

impl Asked {
    /// The same as the index takes it.
    pub fn request(self) -> Result<Request, Fault> {
        let types = self.types.map(|names| names.iter().map(|name| name.parse()).collect()).transpose()?;
        Ok(Request {
            scope: Scope { agent: self.agent, others: self.others },
            mode: self.mode.parse()?,
            vector: self.vector.as_deref().map(floats).transpose()?,
            terms: self.term_ids,
            counts: self.term_counts,
            k: self.k,
            alpha: self.alpha,
            half_life_days: self.half_life_days,
            importance_weight: self.importance_weight,
            floor: self.floor,
            ceiling: self.ceiling,
            min_score: self.min_score,
            filters: Filters {
                types,
                created_after: self.created_after,
                created_before: self.created_before,
                tags_any: self.tags_any,
                tags_all: self.tags_all,
                session_id: self.session_id,
                source: self.source,
                only: self.only.map(|joined| ids(&joined)).transpose()?,
            },
            now: self.now,
            collapse: self.collapse,
            include_archived: self.include_archived,
        })
    }
}

fn ids(bytes: &[u8]) -> Result<Vec<u128>, Fault> {
    let (sixteens, rest) = bytes.as_chunks();
    if !rest.is_empty() {
        return Err(Fault::new("ids have a multiple of 16 bytes"));
    }
    Ok(sixteens.iter().map(|id| u128::from_be_bytes(*id)).collect())
}

fn floats(bytes: &[u8]) -> Result<Vec<f32>, Fault> {
    let (fours, rest) = bytes.as_chunks();
    if !rest.is_empty() {
        return Err(Fault::new("a vector of single-precision numbers has a multiple of 4 bytes"));
    }
    Ok(fours.iter().map(|four| f32::from_le_bytes(*four)).collect())
}
