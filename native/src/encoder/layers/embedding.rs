//! Words plus positions.

use crate::encoder::buffer::Buffer;
use crate::encoder::kernel::{LANES, Lanes, Work};

/// Rows of 8-bit codes, each with its scale, padded to whole registers.
#[derive(Debug)]
pub(in crate::encoder) struct Table {
    /// [rows, width].
    codes: Buffer<i8>,
    /// [rows].
    scales: Vec<f32>,
}

impl Table {
    /// From `scales.len()` rows of as many codes each, whole registers of them.
    pub fn new(codes: Buffer<i8>, scales: Vec<f32>) -> Self {
        Self { codes, scales }
    }

    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        self.codes.bytes() + size_of_val(self.scales.as_slice())
    }

    fn row(&self, row: usize) -> (&[[i8; LANES]], f32) {
        let width = self.codes.len() / self.scales.len();
        (self.codes[row * width..][..width].as_chunks().0, self.scales[row])
    }
}

/// Writes the sums of a text's words and their places, [tokens, stride].
pub(in crate::encoder) struct Embed<'a> {
    pub words: &'a Table,
    pub positions: &'a Table,
    pub text: &'a [u32],
    pub hidden: &'a mut [f32],
    pub stride: usize,
}

impl Work for Embed<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        for (place, (&id, hidden)) in self.text.iter().zip(self.hidden.chunks_exact_mut(self.stride)).enumerate() {
            let ((word, word_scale), (position, position_scale)) =
                (self.words.row(id as usize), self.positions.row(place));
            let (word_scale, position_scale) = (L::splat(word_scale), L::splat(position_scale));
            for ((hidden, word), position) in hidden.as_chunks_mut().0.iter_mut().zip(word).zip(position) {
                let position = L::widen(position).times(position_scale);
                L::widen(word).times_plus(word_scale, position).store(hidden);
            }
        }
    }
}
