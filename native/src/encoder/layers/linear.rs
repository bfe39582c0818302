//! A linear step: codes times int8 weights, plus a bias; and the three things done with its outputs.

use std::ops::Range;
use std::sync::Arc;

use crate::encoder::buffer::Buffer;
use crate::encoder::kernel::tile::{COLUMNS, Outlet, ROWS, Scaling, Tile, halves, store_halves};
use crate::encoder::kernel::{Lanes, Step};
use crate::encoder::layers::codes::Codes;
use crate::encoder::layers::even;

/// Panels that the rows of a tile meet one after another, so that a tile is set up less often.
const PANELS: usize = 4;

/// Weights in panels of 32 columns, so that a tile reads them in order.
#[derive(Debug)]
pub(in crate::encoder) struct Linear {
    /// Holds the weights of this step, and perhaps of others.
    memory: Arc<Buffer<i8>>,
    /// Where they are: [panels, depth]; a step is four inputs.
    place: Range<usize>,
    /// [panels].
    scalings: Vec<Scaling>,
    depth: usize,
}

impl Linear {
    /// From `scalings.len()` panels of as many steps each.
    pub fn new(weights: Buffer<i8>, scalings: Vec<Scaling>) -> Self {
        let depth = steps(&weights).len() / scalings.len();
        Self { place: 0..weights.len(), memory: Arc::new(weights), scalings, depth }
    }

    /// Moves the weights of several steps into one piece of memory, in their order. In large pages they spare a short
    /// text thousands of look-ups of addresses, a twentieth of its time.
    pub fn gather(linears: &mut [&mut Self]) {
        let mut memory = Buffer::new(linears.iter().map(|linear| linear.weights().len()).sum());
        let mut end = 0;
        for linear in &mut *linears {
            let place = end..end + linear.weights().len();
            memory[place.clone()].copy_from_slice(linear.weights());
            end = place.end;
            linear.place = place;
        }
        let memory = Arc::new(memory);
        for linear in linears {
            linear.memory = Arc::clone(&memory);
        }
    }

    fn weights(&self) -> &[i8] {
        &self.memory[self.place.clone()]
    }

    /// How many panels of columns there are.
    pub fn panels(&self) -> usize {
        self.scalings.len()
    }

    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        self.weights().len() + size_of_val(self.scalings.as_slice())
    }

    /// Sends the rows `rows` of `input` through; `outlet` numbers them from 0.
    #[inline(always)]
    pub fn apply<L: Lanes>(&self, input: &Codes, rows: Range<usize>, outlet: &mut impl Outlet) {
        let weights = steps(self.weights());
        for panels in even(self.panels(), PANELS) {
            let weights = &weights[panels.start * self.depth..panels.end * self.depth];
            let scalings = &self.scalings[panels.clone()];
            for tile in even(rows.len(), ROWS) {
                let (codes, roundings) = input.rows(rows.start + tile.start..rows.start + tile.end);
                macro_rules! of_size {
                    ($($size:literal)*) => {
                        match tile.len() {
                            $($size => L::outline(Tile::<_, $size> {
                                codes,
                                stride: input.stride(),
                                roundings,
                                weights,
                                scalings,
                                row: tile.start,
                                panel: panels.start,
                                outlet: &mut *outlet,
                            }),)*
                            _ => unreachable!("a tile has at most {ROWS} rows"),
                        }
                    };
                }
                of_size!(1 2 3 4 5 6 7 8 9 10 11 12 13 14);
            }
        }
    }
}

/// Weights by steps.
pub(in crate::encoder) fn steps(weights: &[i8]) -> &[Step] {
    weights.as_chunks().0.as_chunks().0
}

/// Outputs by panel, [panels, rows], as attention reads them.
pub(in crate::encoder) struct ByPanel<'a> {
    pub outputs: &'a mut [[f32; COLUMNS]],
    pub rows: usize,
}

impl Outlet for ByPanel<'_> {
    #[inline(always)]
    fn take<L: Lanes>(&mut self, row: usize, panel: usize, outputs: [L; 2]) {
        store_halves(outputs, &mut self.outputs[panel * self.rows + row]);
    }
}

/// Outputs added to what is there, [rows, panels].
pub(in crate::encoder) struct Residual<'a> {
    pub hidden: &'a mut [[f32; COLUMNS]],
    pub panels: usize,
}

impl Outlet for Residual<'_> {
    #[inline(always)]
    fn take<L: Lanes>(&mut self, row: usize, panel: usize, outputs: [L; 2]) {
        let place = &mut self.hidden[row * self.panels + panel];
        let [low, high] = halves::<L>(place);
        store_halves([outputs[0].plus(low), outputs[1].plus(high)], place);
    }
}

/// Outputs by row, [rows, panels] with rows `stride` panels apart.
pub(in crate::encoder) struct ByRow<'a> {
    pub outputs: &'a mut [[f32; COLUMNS]],
    pub stride: usize,
}

impl Outlet for ByRow<'_> {
    #[inline(always)]
    fn take<L: Lanes>(&mut self, row: usize, panel: usize, outputs: [L; 2]) {
        store_halves(outputs, &mut self.outputs[row * self.stride + panel]);
    }
}
