//! The weights file: every tensor is checked before it is used.

use std::collections::HashMap;
use std::str::FromStr;

use safetensors::{Dtype, SafeTensors};

use crate::error::{Fault, require};

const LAYOUT: &str = "memex-encoder-1";

/// A weights file in memory.
pub(super) struct WeightsFile<'a> {
    tensors: SafeTensors<'a>,
    facts: HashMap<String, String>,
}

impl<'a> WeightsFile<'a> {
    /// Reads the header. Offsets that lie outside of the file or overlap are refused.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Fault> {
        let broken = |error| Fault::new(format!("is not a safetensors file: {error}"));
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(broken)?;
        let tensors = SafeTensors::deserialize(bytes).map_err(broken)?;
        let facts = metadata.metadata().iter().flatten().map(|(name, value)| (name.clone(), value.clone())).collect();
        let file = Self { tensors, facts };
        let layout: String = file.fact("layout")?;
        require(layout == LAYOUT, || format!("has the layout {layout:?}, not {LAYOUT:?}"))?;
        Ok(file)
    }

    /// A value from the metadata.
    pub fn fact<T: FromStr>(&self, name: &str) -> Result<T, Fault> {
        let value = self.facts.get(name).and_then(|value| value.parse().ok());
        value.ok_or_else(|| Fault::new(format!("does not say its {name}")))
    }

    /// The rows and columns of a matrix.
    pub fn shape(&self, name: &str) -> Result<(usize, usize), Fault> {
        match *self.tensor(name)?.shape() {
            [rows, columns] => Ok((rows, columns)),
            ref shape => Err(Fault::new(format!("has {name} of shape {shape:?}, not a matrix"))),
        }
    }

    /// The codes of a matrix of this shape, row by row.
    pub fn codes(&self, name: &str, rows: usize, columns: usize) -> Result<Vec<i8>, Fault> {
        let bytes = self.data(name, Dtype::I8, &[rows, columns])?;
        Ok(bytes.iter().map(|byte| byte.cast_signed()).collect())
    }

    /// A vector of this length, every number finite.
    pub fn floats(&self, name: &str, length: usize) -> Result<Vec<f32>, Fault> {
        let bytes = self.data(name, Dtype::F32, &[length])?;
        let floats: Vec<f32> = bytes.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)).collect();
        require(floats.iter().all(|number| number.is_finite()), || format!("has numbers in {name} that are none"))?;
        Ok(floats)
    }

    fn data(&self, name: &str, dtype: Dtype, shape: &[usize]) -> Result<&'a [u8], Fault> {
        let tensor = self.tensor(name)?;
        let fits = tensor.dtype() == dtype && tensor.shape() == shape;
        require(fits, || format!("has {name} of {} {:?}, not {dtype} {shape:?}", tensor.dtype(), tensor.shape()))?;
        Ok(tensor.data())
    }

    fn tensor(&self, name: &str) -> Result<safetensors::tensor::TensorView<'a>, Fault> {
        self.tensors.tensor(name).map_err(|_| Fault::new(format!("has no {name}")))
    }
}
