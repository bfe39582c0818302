//! Memory for many lines.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ops::Deref;
use std::ptr::NonNull;

use crate::pages::{HUGE, prefer_huge};

/// A vector of lines with a fixed capacity, in huge pages where it is large enough.
#[derive(Debug)]
pub struct Lines<L> {
    start: NonNull<L>,
    length: usize,
    capacity: usize,
}

// SAFETY: the memory is owned, and only `&mut self` changes it.
unsafe impl<L: Copy + Send> Send for Lines<L> {}
// SAFETY: as above.
unsafe impl<L: Copy + Sync> Sync for Lines<L> {}

impl<L: Copy> Lines<L> {
    /// Empty, with room for `capacity` lines.
    pub fn with_capacity(capacity: usize) -> Self {
        let layout = layout::<L>(capacity);
        if layout.size() == 0 {
            return Self { start: NonNull::dangling(), length: 0, capacity };
        }
        // SAFETY: the layout's size is not 0.
        let memory = unsafe { alloc(layout) };
        let Some(start) = NonNull::new(memory.cast()) else { handle_alloc_error(layout) };
        // A scan over small pages spends half of its time on finding them.
        if layout.align() == HUGE {
            prefer_huge(memory, layout.size());
        }
        Self { start, length: 0, capacity }
    }

    /// Appends lines.
    ///
    /// # Panics
    ///
    /// Where there is no room for them.
    pub fn extend(&mut self, lines: &[L]) {
        assert!(lines.len() <= self.capacity - self.length);
        // SAFETY: there is room; `lines` cannot overlap what `&mut self` owns alone.
        unsafe {
            let end = self.start.add(self.length);
            end.copy_from_nonoverlapping(NonNull::from(lines).cast(), lines.len());
        }
        self.length += lines.len();
    }

    /// Leaves the first `length` lines, where there are more.
    pub fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    /// The same lines with no more room than they take.
    #[must_use]
    pub fn shrunk(self) -> Self {
        if self.length == self.capacity {
            return self;
        }
        let mut shrunk = Self::with_capacity(self.length);
        shrunk.extend(&self);
        shrunk
    }

    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        layout::<L>(self.capacity).size()
    }
}

impl<L> Deref for Lines<L> {
    type Target = [L];

    fn deref(&self) -> &[L] {
        // SAFETY: the first `length` lines were written, and live as long as `self`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl<L> Drop for Lines<L> {
    fn drop(&mut self) {
        let layout = layout::<L>(self.capacity);
        if layout.size() > 0 {
            // SAFETY: `with_capacity` allocated it with this layout.
            unsafe { dealloc(self.start.as_ptr().cast(), layout) }
        }
    }
}

/// # Panics
///
/// Where the lines would not fit the address space.
fn layout<L>(capacity: usize) -> Layout {
    let lines = Layout::array::<L>(capacity).expect("a segment fits in memory");
    let align = if lines.size() < HUGE { lines.align() } else { HUGE };
    lines.align_to(align).expect("a segment fits in memory")
}

#[cfg(test)]
mod tests {
    use super::{HUGE, Lines};
    use crate::kernel::lanes::{LANES, Line};

    #[test]
    fn lines_come_back_as_they_were_put_in() {
        for lines in [0, 1, 7, HUGE / 64 - 1, HUGE / 64, HUGE / 64 + 5] {
            let mut kept = Lines::with_capacity(lines);
            (0..lines).for_each(|number| kept.extend(&[Line([number as u16; LANES])]));
            assert_eq!(kept.len(), lines);
            assert!(kept.iter().enumerate().all(|(number, line)| line.0 == [number as u16; LANES]));
            for left in [lines + 1, lines / 2, 0] {
                kept.truncate(left);
                assert_eq!(kept.len(), lines.min(left));
            }
        }
    }

    #[test]
    #[should_panic(expected = "assertion failed")]
    fn what_has_no_room_is_refused() {
        Lines::with_capacity(1).extend(&[Line([0; LANES]); 2]);
    }
}
