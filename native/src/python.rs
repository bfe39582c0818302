//! The only file that names PyO3.
use pyo3::prelude::*;

/// The compiled module.
#[pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(m: &Bound<'_, PyModule>) -> PyResult<()> {
        m.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
