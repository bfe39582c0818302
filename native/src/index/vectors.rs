//! The vectors of a segment: none, one or more for each row.

use crate::kernel::Kernel;
use crate::kernel::lanes::{QueryLine, pack};
use crate::kernel::lines::Lines;

/// What a row without vectors has for its best inner product.
pub const NONE: f32 = f32::NEG_INFINITY;

/// Half-precision vectors in order of their rows.
#[derive(Debug)]
pub struct Vectors {
    stride: usize,
    lines: Lines,
    /// Number of the first vector of each row, and one more for the end.
    starts: Vec<u32>,
    one_each: bool,
}

impl Vectors {
    /// No rows yet, with room for this many vectors of `stride` lines.
    pub fn new(stride: usize, vectors: usize) -> Self {
        Self { stride, lines: Lines::with_capacity(vectors * stride), starts: vec![0], one_each: true }
    }

    /// Appends a row with these vectors, each half-precision bits of the index's dimensions.
    pub fn push(&mut self, vectors: &[Vec<u16>]) {
        for vector in vectors {
            pack(vector).for_each(|line| self.lines.extend(&[line]));
        }
        self.end_row(vectors.len());
    }

    /// Appends row `row` of `source`.
    pub fn push_from(&mut self, source: &Self, row: usize) {
        let (from, to) = (source.starts[row] as usize, source.starts[row + 1] as usize);
        self.lines.extend(&source.lines[from * self.stride..to * self.stride]);
        self.end_row(to - from);
    }

    fn end_row(&mut self, vectors: usize) {
        self.one_each &= vectors == 1;
        self.starts.push((self.lines.len() / self.stride) as u32);
    }

    /// How many vectors row `row` has.
    pub fn count(&self, row: usize) -> usize {
        (self.starts[row + 1] - self.starts[row]) as usize
    }

    /// Best inner product of each of the consecutive rows from `first`, into `out`. `spare` is room to work in.
    pub fn best(&self, kernel: &Kernel, query: &[QueryLine], first: usize, out: &mut [f32], spare: &mut Vec<f32>) {
        let starts = &self.starts[first..=first + out.len()];
        let (from, to) = (starts[0] as usize, starts[out.len()] as usize);
        let lines = &self.lines[from * self.stride..to * self.stride];
        if self.one_each {
            return kernel.dots(query, lines, out);
        }
        spare.resize(to - from, NONE);
        kernel.dots(query, lines, spare);
        for (out, bounds) in out.iter_mut().zip(starts.windows(2)) {
            let own = &spare[bounds[0] as usize - from..bounds[1] as usize - from];
            *out = own.iter().copied().fold(NONE, f32::max);
        }
    }

    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        self.lines.bytes() + self.starts.capacity() * 4
    }
}
