//! The encoder as Python sees it.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::{guarded, out_of_range};
use crate::encoder;
use crate::error::require;

/// Far above what any caller sends at once.
const MOST_TEXTS: usize = 1 << 20;

/// A BERT encoder on int8 weights.
#[pyclass(frozen, module = "memex._native")]
pub(super) struct Encoder(encoder::Encoder);

#[pymethods]
impl Encoder {
    #[new]
    #[pyo3(signature = (weights, pooling, isa = "auto"))]
    fn new(py: Python<'_>, weights: PathBuf, pooling: &str, isa: &str) -> PyResult<Self> {
        let (pooling, isa) = (pooling.parse()?, isa.parse()?);
        Ok(Self(py.detach(|| guarded(|| encoder::Encoder::open(&weights, pooling, isa)))??))
    }

    /// The texts' vectors one after another, little-endian f32.
    fn encode<'py>(&self, py: Python<'py>, batch: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        // What an object says of its length is memory that is set aside for it: it must be believable.
        let (count, window) = (batch.len()?, self.0.window());
        require(count <= MOST_TEXTS, || format!("a batch has {count} texts, at most {MOST_TEXTS} are taken"))?;
        let batch: Vec<Bound<'py, PyAny>> = batch.extract()?;
        let texts = batch.iter().enumerate().map(|(number, text)| {
            let length = text.len()?;
            require(length <= window, || format!("text {number} has {length} tokens, not 1 to {window}"))?;
            text.extract().map_err(|error| out_of_range(py, error))
        });
        let texts = texts.collect::<PyResult<Vec<Vec<u32>>>>()?;
        let vectors = py.detach(|| guarded(|| self.0.encode(&texts)))??;
        PyBytes::new_with(py, 4 * vectors.len(), |bytes| {
            for (four, component) in bytes.as_chunks_mut().0.iter_mut().zip(&vectors) {
                *four = component.to_le_bytes();
            }
            Ok(())
        })
    }

    /// Components of a vector.
    #[getter]
    fn dimensions(&self) -> usize {
        self.0.dimensions()
    }

    /// The most tokens of a text.
    #[getter]
    fn window(&self) -> usize {
        self.0.window()
    }

    /// Ids are below this.
    #[getter]
    fn vocabulary(&self) -> usize {
        self.0.vocabulary()
    }

    /// The instruction set in use.
    #[getter]
    fn isa(&self) -> &'static str {
        self.0.isa().name()
    }

    /// Memory of the model, in bytes.
    #[getter]
    fn bytes(&self) -> usize {
        self.0.bytes()
    }

    /// Memory of each call that runs at the same time as others, in bytes.
    #[getter]
    fn stream_bytes(&self) -> usize {
        self.0.stream_bytes()
    }
}
