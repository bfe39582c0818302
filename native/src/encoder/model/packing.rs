//! Weights as the kernel reads them.

use crate::encoder::buffer::Buffer;
use crate::encoder::kernel::tile::{COLUMNS, Scaling};
use crate::encoder::kernel::{LANES, Step};
use crate::encoder::layers::embedding::Table;
use crate::encoder::layers::linear::Linear;
use crate::encoder::layers::norm::Affine;

/// One linear step as the file has it: `y = (x @ codes) * scale + bias`.
pub(in crate::encoder) struct Plain {
    /// [inputs, outputs].
    pub codes: Vec<i8>,
    /// [outputs].
    pub scale: Vec<f32>,
    /// [outputs].
    pub bias: Vec<f32>,
}

impl Plain {
    fn outputs(&self) -> usize {
        self.scale.len()
    }

    fn inputs(&self) -> usize {
        self.codes.len() / self.outputs()
    }

    /// Packs columns into panels: each entry of `columns` names an output of the file, or none for zeros.
    ///
    /// Inputs are padded to whole registers with weights of zero, so that it does not matter what codes meet them.
    pub fn pack(&self, columns: &[Option<usize>]) -> Linear {
        let depth = self.inputs().next_multiple_of(LANES) / 4;
        let panels = columns.len().div_ceil(COLUMNS);
        let mut weights = Buffer::new(panels * depth * size_of::<Step>());
        let mut scalings = vec![Scaling { scale: [0.0; COLUMNS], zero: [0; COLUMNS], bias: [0.0; COLUMNS] }; panels];
        for (number, output) in columns.iter().enumerate().filter_map(|(number, &output)| Some((number, output?))) {
            let (panel, column) = (number / COLUMNS, number % COLUMNS);
            let sum = self.pack_column(
                output,
                column,
                &mut weights[panel * depth * size_of::<Step>()..][..depth * size_of::<Step>()],
            );
            let scaling = &mut scalings[panel];
            scaling.scale[column] = self.scale[output];
            scaling.zero[column] = -sum;
            scaling.bias[column] = self.bias[output];
        }
        Linear::new(weights, scalings)
    }

    /// Puts one output's weights in their places, and gives their sum.
    fn pack_column(&self, output: usize, column: usize, panel: &mut [i8]) -> i32 {
        let place = column / LANES * 4 * LANES + column % LANES * 4;
        let mut sum = 0;
        for (input, row) in self.codes.chunks_exact(self.outputs()).enumerate() {
            panel[input / 4 * size_of::<Step>() + place + input % 4] = row[output];
            sum += i32::from(row[output]);
        }
        sum
    }
}

/// A table whose rows are filled up to whole registers.
pub(in crate::encoder) fn table(codes: &[i8], scales: Vec<f32>) -> Table {
    let width = codes.len() / scales.len();
    let whole = width.next_multiple_of(LANES);
    let mut padded = Buffer::new(scales.len() * whole);
    for (row, to) in codes.chunks_exact(width).zip(padded.chunks_exact_mut(whole)) {
        to[..width].copy_from_slice(row);
    }
    Table::new(padded, scales)
}

/// `gamma` and `beta` times `factor`, filled up with zeros to whole registers.
pub(in crate::encoder) fn affine(gamma: &[f32], beta: &[f32], factor: &[f32]) -> Affine {
    let products = |numbers: &[f32]| {
        let mut padded = Buffer::new(numbers.len().next_multiple_of(LANES));
        for ((padded, number), factor) in padded.iter_mut().zip(numbers).zip(factor) {
            *padded = number * factor;
        }
        padded
    };
    Affine { gamma: products(gamma), beta: products(beta) }
}
