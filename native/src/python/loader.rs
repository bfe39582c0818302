//! The loading of a space as Python sees it.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use super::{SpaceIndex, guarded};
use crate::error::Fault;
use crate::index::loader;

/// Fills an index from streams of COPY BINARY.
#[pyclass(frozen, module = "memex._native")]
pub(super) struct Loader {
    index: Py<SpaceIndex>,
    // A loader that panicked takes nothing any more, so what the lock guards is sound.
    state: Mutex<loader::Loader>,
}

impl Loader {
    fn work(
        &self,
        py: Python<'_>,
        step: impl FnOnce(&mut loader::Loader, &crate::index::SpaceIndex) -> Result<(), Fault> + Send,
    ) -> PyResult<()> {
        let index = &self.index.get().0;
        let work = || guarded(|| step(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner), index));
        Ok(py.detach(work)??)
    }
}

#[pymethods]
impl Loader {
    #[new]
    fn new(index: Py<SpaceIndex>) -> Self {
        Self { index, state: Mutex::default() }
    }

    /// Take the next piece of the streams.
    fn feed(&self, py: Python<'_>, data: PyBackedBytes) -> PyResult<()> {
        self.work(py, |state, index| state.feed(index, &data))
    }

    /// Put in what is left.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        self.work(py, loader::Loader::finish)
    }
}
