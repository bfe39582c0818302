//! Memory that starts on a cache line, or in large pages where it is large enough.

use std::ops::{Deref, DerefMut};

use crate::pages::{HUGE, prefer_huge};

const LINE: usize = 64;

/// A fixed number of bytes or numbers, all zero at first. Of many the system gives memory only when they are written.
#[derive(Debug)]
pub(super) struct Buffer<T> {
    memory: Vec<T>,
    start: usize,
    length: usize,
}

impl<T: Copy + Default> Buffer<T> {
    /// `length` zeros.
    pub fn new(length: usize) -> Self {
        let bytes = length * size_of::<T>();
        let align = if bytes < HUGE { LINE } else { HUGE };
        let memory = vec![T::default(); length + align / size_of::<T>()];
        let start = memory.as_ptr().align_offset(align);
        let buffer = Self { memory, start, length };
        if align == HUGE {
            prefer_huge(buffer.as_ptr().cast(), bytes);
        }
        buffer
    }

    /// Bytes in use: what aligns it is never touched.
    pub fn bytes(&self) -> usize {
        self.length * size_of::<T>()
    }
}

impl<T> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.memory[self.start..self.start + self.length]
    }
}

impl<T> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.memory[self.start..self.start + self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::{Buffer, LINE};

    #[test]
    fn a_buffer_starts_on_a_cache_line_and_is_zero() {
        for length in [0, 1, 15, 16, 1000, 100_000] {
            let (bytes, floats) = (Buffer::<i8>::new(length), Buffer::<f32>::new(length));
            assert_eq!((bytes.len(), floats.len()), (length, length));
            assert_eq!((bytes.as_ptr().addr() % LINE, floats.as_ptr().addr() % LINE), (0, 0));
            assert!(bytes.iter().all(|&byte| byte == 0) && floats.iter().all(|&float| float == 0.0));
        }
    }
}
