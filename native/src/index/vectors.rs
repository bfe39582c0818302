//! The vectors of a segment: none, one or more for each row.

use crate::kernel::Kernel;
use crate::kernel::lanes::{Line, QueryLine, pack};

/// What a row without vectors has for its best inner product.
pub const NONE: f32 = f32::NEG_INFINITY;

/// Half-precision vectors in order of their rows.
#[derive(Debug)]
pub struct Vectors {
    stride: usize,
    lines: Vec<Line>,
    /// Number of the first vector of each row, and one more for the end.
    starts: Vec<u32>,
    one_each: bool,
}

impl Vectors {
    /// No rows yet, of vectors with `stride` lines.
    pub fn new(stride: usize) -> Self {
        Self { stride, lines: Vec::new(), starts: vec![0], one_each: true }
    }

    /// Makes room for this many vectors.
    pub fn reserve(&mut self, vectors: usize) {
        self.lines.reserve_exact(vectors * self.stride);
    }

    /// Appends a row with these vectors, each half-precision bits of the index's dimensions.
    pub fn push(&mut self, vectors: &[Vec<u16>]) {
        for vector in vectors {
            pack(vector, &mut self.lines);
        }
        self.end_row(vectors.len());
    }

    /// Appends row `row` of `source`.
    pub fn push_from(&mut self, source: &Self, row: usize) {
        let (from, to) = (source.starts[row] as usize, source.starts[row + 1] as usize);
        self.lines.extend_from_slice(&source.lines[from * self.stride..to * self.stride]);
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
        self.lines.capacity() * size_of::<Line>() + self.starts.capacity() * 4
    }
}
