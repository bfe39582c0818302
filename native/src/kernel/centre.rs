//! The vector that others are taken from before they are rounded.

use super::lanes::{LANES, Line, QueryLine, widen};

const NOTHING: QueryLine = QueryLine([0.0; LANES]);

/// μ of [`super::codes`]: any finite vector will do, the mean leaves least.
#[derive(Debug, Default)]
pub struct Centre {
    lines: Vec<QueryLine>,
    norm: f64,
}

impl Centre {
    /// The mean of vectors of `stride` lines each; the origin where there is none.
    #[inline(always)]
    #[allow(clippy::inline_always)] // must take on the instruction set of the kernel that calls it
    pub fn of(lines: &[Line], stride: usize) -> Self {
        let mut sums = vec![[0f64; LANES]; stride];
        for vector in lines.chunks_exact(stride) {
            for (sums, line) in sums.iter_mut().zip(vector) {
                for (sum, &bits) in sums.iter_mut().zip(&line.0) {
                    *sum += f64::from(widen(bits));
                }
            }
        }
        let count = (lines.len() / stride).max(1) as f64;
        let lines: Vec<_> = sums.into_iter().map(|sums| QueryLine(sums.map(|sum| (sum / count) as f32))).collect();
        let squares = lines.iter().flat_map(|line| line.0).map(|mu| f64::from(mu) * f64::from(mu));
        let norm = squares.sum::<f64>().sqrt();
        Self { lines, norm }
    }

    /// ‖μ‖.
    pub const fn norm(&self) -> f64 {
        self.norm
    }

    /// Whether it is the origin for want of vectors to take a mean of.
    pub fn is_origin(&self) -> bool {
        self.lines.is_empty()
    }

    /// Line `i` of it.
    #[inline]
    pub fn line(&self, i: usize) -> &QueryLine {
        self.lines.get(i).unwrap_or(&NOTHING)
    }

    /// All of it for vectors of `stride` lines.
    pub fn lines(&self, stride: usize) -> Vec<QueryLine> {
        (0..stride).map(|i| *self.line(i)).collect()
    }

    /// Component `i` of it.
    pub fn component(&self, i: usize) -> f64 {
        f64::from(self.line(i / LANES).0[i % LANES])
    }

    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        self.lines.capacity() * size_of::<QueryLine>()
    }
}
