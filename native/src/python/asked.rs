//! A search as Python asks it: a `memex.model.Ranking`.

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};

use crate::error::{Fault, require};
use crate::index::filters::Filters;
use crate::index::request::{Mode, Request};
use crate::index::scope::Scope;

/// The attributes that are read. What is `None` costs no more than asking for it.
#[derive(FromPyObject)]
pub struct Asked<'py> {
    scope: AskedScope,
    mode: PyBackedStr,
    vector: Option<Vector>,
    terms: Bound<'py, PyAny>,
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

/// A `memex.model.Scope` without its tenant: an index is of one.
#[derive(FromPyObject)]
struct AskedScope {
    agent_id: String,
    others: Option<Vec<String>>,
}

/// A `memex.model.Terms`.
#[derive(FromPyObject, Default)]
struct AskedTerms {
    ids: Vec<i32>,
    counts: Vec<u16>,
}

/// An array of single-precision numbers.
struct Vector(Vec<f32>);

impl<'py> FromPyObject<'_, 'py> for Vector {
    type Error = PyErr;

    fn extract(array: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let buffer = PyBuffer::get(&array)?;
        // What PyO3 compares lets numbers of the other byte order pass.
        require(buffer.format() == c"f", || "the vector must have single-precision numbers".into())?;
        Ok(Self(buffer.to_vec(array.py())?))
    }
}

impl Asked<'_> {
    /// The same as the index takes it. In semantic mode terms are not looked at.
    pub fn request(self) -> PyResult<Request> {
        let mode = self.mode.parse()?;
        let terms: AskedTerms = if mode == Mode::Semantic { AskedTerms::default() } else { self.terms.extract()? };
        let types = self.types.map(|names| names.iter().map(|name| name.parse()).collect()).transpose()?;
        Ok(Request {
            scope: Scope { agent: self.scope.agent_id, others: self.scope.others },
            mode,
            vector: self.vector.map(|vector| vector.0),
            terms: terms.ids,
            counts: terms.counts,
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
