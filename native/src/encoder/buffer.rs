//! Memory that starts on a cache line.

use std::ops::{Deref, DerefMut};

const LINE: usize = 64;

/// A fixed number of elements, all zero at first. Of large ones the system gives pages only when they are written.
#[derive(Debug)]
pub(super) struct Buffer<T> {
    memory: Vec<T>,
    start: usize,
    length: usize,
}

impl<T: Copy> Buffer<T> {
    /// `length` times `zero`.
    pub fn new(zero: T, length: usize) -> Self {
        let spare = LINE.div_ceil(size_of::<T>());
        let memory = vec![zero; length + spare];
        // Elements that are not whole parts of a line have no such place; then any is right, if slower.
        let start = Some(memory.as_ptr().align_offset(LINE)).filter(|&start| start <= spare).unwrap_or(0);
        Self { memory, start, length }
    }

    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        size_of_val(self.memory.as_slice())
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
            let (bytes, floats) = (Buffer::new(0u8, length), Buffer::new([0f32; 32], length));
            assert_eq!((bytes.len(), floats.len()), (length, length));
            assert_eq!(bytes.as_ptr().addr() % LINE, 0);
            assert_eq!(floats.as_ptr().addr() % LINE, 0);
            assert!(bytes.iter().all(|&byte| byte == 0));
        }
    }
}
