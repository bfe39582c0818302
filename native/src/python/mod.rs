//! The only folder that names `PyO3`: it checks and copies what Python hands in, lets other threads in
//! around long work, and turns faults and panics into exceptions.

#![allow(clippy::needless_pass_by_value)] // arguments are extracted from Python by value

mod asked;
mod encoder;
mod loader;

use std::slice;

use pyo3::exceptions::{PyOverflowError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};

use asked::Asked;

use crate::encoder::Isa as EncoderIsa;
use crate::error::Fault;
use crate::index;
use crate::index::rank::Hit;
use crate::index::request::Request;
use crate::index::row::{NEVER, Row};
use crate::kernel::Isa;
use crate::panics::{Panicked, caught};
use crate::terms;

impl From<Fault> for PyErr {
    fn from(fault: Fault) -> Self {
        PyValueError::new_err(fault.to_string())
    }
}

/// Runs `work`; a panic in it becomes a `RuntimeError`, which `except Exception` catches.
fn guarded<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    // What the index guards is published whole or not at all, so a panic leaves nothing half done.
    // An encoder drops the memory that a panic left half written.
    caught(work).map_err(|Panicked| PyRuntimeError::new_err("the native module failed"))
}

/// A number that does not fit is a wrong value, also where it is a field of what was read.
fn out_of_range(py: Python<'_>, error: PyErr) -> PyErr {
    let mut causes = std::iter::successors(Some(error.clone_ref(py)), |error| error.cause(py));
    let overflow = causes.find(|error| error.is_instance_of::<PyOverflowError>(py));
    overflow.map_or(error, |overflow| PyValueError::new_err(overflow.value(py).to_string()))
}

fn first_sixteen(bytes: &[u8], length: usize, what: &str) -> PyResult<u128> {
    let first = bytes.first_chunk().filter(|_| bytes.len() == length);
    let first = first.ok_or_else(|| Fault::new(format!("{what} must have {length} bytes, not {}", bytes.len())))?;
    Ok(u128::from_be_bytes(*first))
}

fn uuid(bytes: &[u8]) -> PyResult<u128> {
    first_sixteen(bytes, 16, "id")
}

fn halves(bytes: &[u8]) -> PyResult<Vec<u16>> {
    let (pairs, rest) = bytes.as_chunks();
    if !rest.is_empty() {
        return Err(Fault::new("a vector of half-precision numbers has an even number of bytes").into());
    }
    Ok(pairs.iter().map(|pair| u16::from_le_bytes(*pair)).collect())
}

/// The first fields of `IndexRow` in their order.
type Kind = (PyBackedBytes, String, PyBackedStr, PyBackedStr, PyBackedStr, Vec<String>, Option<String>, Option<String>);
/// The other fields of `IndexRow` in their order.
type Content = (PyBackedBytes, f64, i64, Option<i64>, Vec<i32>, Vec<u16>, Vec<PyBackedBytes>);

const KIND_FIELDS: usize = 8;
const ROW_FIELDS: usize = KIND_FIELDS + 7;

fn row(tuple: &Bound<'_, PyAny>) -> PyResult<Row> {
    let fields = tuple.cast::<PyTuple>()?;
    let named = |error| out_of_range(tuple.py(), error);
    let (id, agent, memory_type, visibility, state, tags, session_id, source): Kind =
        fields.get_slice(0, KIND_FIELDS).extract().map_err(named)?;
    // Longer than a row may be: one with too many fields must not pass.
    let (hash, importance, created, expires, terms, counts, vectors): Content =
        fields.get_slice(KIND_FIELDS, ROW_FIELDS + 1).extract().map_err(named)?;
    Ok(Row {
        id: uuid(&id)?,
        agent,
        memory_type: memory_type.parse()?,
        visibility: visibility.parse()?,
        state: state.parse()?,
        tags,
        session_id,
        source,
        text: first_sixteen(&hash, 32, "content_hash")?,
        importance,
        created,
        expires: expires.unwrap_or(NEVER),
        terms,
        counts,
        vectors: vectors.iter().map(|vector| halves(vector)).collect::<PyResult<_>>()?,
    })
}

/// The fields of a hit in the order of the stub.
type HitTuple<'py> = (Bound<'py, PyBytes>, f64, Option<f32>, f64, f64, f64, f64, usize);

fn hit<'py>(py: Python<'py>, hit: &Hit) -> HitTuple<'py> {
    let id = PyBytes::new(py, &hit.id.to_be_bytes());
    (id, hit.score, hit.cosine, hit.lexical, hit.relevance, hit.recency, hit.importance, hit.duplicates)
}

fn read(ranking: &Bound<'_, PyAny>) -> PyResult<Request> {
    ranking.extract().and_then(Asked::request).map_err(|error| out_of_range(ranking.py(), error))
}

/// A list of hits.
fn answer<'py>(py: Python<'py>, hits: &[Hit]) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, hits.iter().map(|found| hit(py, found)))
}

/// A list of hits, or the error instead of it.
fn outcome(py: Python<'_>, found: Result<Vec<Hit>, Fault>) -> PyResult<Bound<'_, PyAny>> {
    match found {
        Ok(hits) => Ok(answer(py, &hits)?.into_any()),
        Err(fault) => Ok(PyErr::from(fault).into_value(py).into_bound(py).into_any()),
    }
}

/// All memories of one space, ranked exactly.
#[pyclass(frozen, module = "memex._native")]
struct SpaceIndex(index::SpaceIndex);

/// Rows whose memory takes more than some 0.2 ms to give back.
const MANY_ROWS: usize = 2000;

impl Drop for SpaceIndex {
    /// A large index is given back beside Python: its last reference goes where others wait, as on an event loop.
    fn drop(&mut self) {
        let held = self.0.take();
        if held.rows() > MANY_ROWS {
            // Where no thread can be had, it is given back here.
            let _begun = std::thread::Builder::new().spawn(move || drop(held));
        }
    }
}

#[pymethods]
impl SpaceIndex {
    #[new]
    #[pyo3(signature = (dimensions, isa = "auto"))]
    fn new(dimensions: usize, isa: &str) -> PyResult<Self> {
        Ok(Self(index::SpaceIndex::new(dimensions, isa.parse::<Isa>()?)?))
    }

    /// Take `removed` out, then put `rows` in, each in place of the row of the same id; all in one step for readers.
    fn apply(&self, py: Python<'_>, rows: Vec<Bound<'_, PyAny>>, removed: Vec<PyBackedBytes>) -> PyResult<()> {
        let rows = rows.iter().map(row).collect::<PyResult<Vec<_>>>()?;
        let removed = removed.iter().map(|id| uuid(id)).collect::<PyResult<Vec<_>>>()?;
        // Even a small change may have to wait for another writer.
        Ok(py.detach(|| guarded(|| self.0.apply(rows, &removed)))??)
    }

    /// Join small parts and drop rows that are gone, while others read and write.
    fn compact(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| guarded(|| self.0.compact()))
    }

    /// The exact best k, best first.
    fn rank<'py>(&self, py: Python<'py>, ranking: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let request = read(&ranking)?;
        let rank = || guarded(|| self.0.rank(slice::from_ref(&request)).pop());
        let found = if self.0.is_long(&request) { py.detach(rank) } else { rank() }?;
        answer(py, &found.transpose()?.unwrap_or_default())
    }

    /// What `rank` gives for each, or its error; all from one walk over one state.
    fn rank_all<'py>(&self, py: Python<'py>, rankings: Vec<Bound<'py, PyAny>>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let (mut sound, mut errors) = (Vec::new(), Vec::new());
        for ranking in &rankings {
            match read(ranking) {
                Ok(request) => sound.push(request),
                Err(error) => errors.push((sound.len(), error)),
            }
        }
        let answers = py.detach(|| guarded(|| self.0.rank(&sound)))?;
        let mut answers: Vec<_> = answers.into_iter().map(|found| outcome(py, found)).collect::<PyResult<_>>()?;
        for (place, error) in errors.into_iter().rev() {
            answers.insert(place, error.into_value(py).into_bound(py).into_any());
        }
        Ok(answers)
    }

    /// The answer of `rank` to a question that was asked before of the same state, if it is kept and certain. A
    /// ranking of what is asked here again keeps its answer.
    fn again<'py>(&self, py: Python<'py>, ranking: Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyList>>> {
        let request = read(&ranking)?;
        let hits = guarded(|| self.0.again(&request))??;
        hits.map(|hits| answer(py, &hits)).transpose()
    }

    /// Whether `compact` has something to do.
    #[getter]
    fn fragmented(&self) -> bool {
        self.0.is_fragmented()
    }

    /// Rows that all rankings together compared, and those of them that they scored in full.
    #[getter]
    fn work(&self) -> (u64, u64) {
        let work = self.0.work();
        (work.scanned, work.scored)
    }

    /// Components of a vector.
    #[getter]
    fn dimensions(&self) -> usize {
        self.0.dimensions()
    }

    /// The instruction set in use.
    #[getter]
    fn isa(&self) -> &'static str {
        self.0.isa().name()
    }

    /// How many rows are held, archived and expired ones included.
    #[getter]
    fn rows(&self) -> usize {
        self.0.snapshot().rows()
    }

    /// Memory that the index takes, in bytes.
    #[getter]
    fn bytes(&self) -> usize {
        self.0.snapshot().bytes()
    }
}

/// The terms of a text: distinct ids, ascending, and how often each occurs.
#[pyfunction]
fn tokenize(py: Python<'_>, text: &str) -> PyResult<(Vec<i32>, Vec<u16>)> {
    // Some 100 ns a word: only texts of hundreds of words are worth letting other threads in.
    const LONG_TEXT: usize = 1000;
    let work = || guarded(|| terms::tokenize(text));
    let found = if text.len() > LONG_TEXT { py.detach(work) } else { work() }?;
    Ok((found.ids, found.counts))
}

/// How the module was built and what it runs on.
#[pyfunction]
fn build_info(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let info = PyDict::new(py);
    info.set_item("version", env!("CARGO_PKG_VERSION"))?;
    info.set_item("profile", if cfg!(debug_assertions) { "debug" } else { "release" })?;
    info.set_item("isa", Isa::best().name())?;
    info.set_item("encoder", EncoderIsa::best().name())?;
    info.set_item("target", format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS))?;
    Ok(info)
}

/// Exact fused ranking, text terms and the text encoder.
#[pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::encoder::Encoder;
    #[pymodule_export]
    use super::loader::Loader;
    #[pymodule_export]
    use super::{SpaceIndex, build_info, tokenize};

    #[pymodule_init]
    fn init(m: &Bound<'_, PyModule>) -> PyResult<()> {
        m.add("__version__", env!("CARGO_PKG_VERSION"))?;
        m.add("TERMS_VERSION", crate::terms::VERSION)
    }
}
