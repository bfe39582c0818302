//! Large pages for large pieces of memory: fewer look-ups of addresses.

/// The size of a large page.
pub const HUGE: usize = 2 << 20;

/// Asks the system for large pages in this range of addresses; it may refuse.
#[cfg(target_os = "linux")]
pub fn prefer_huge(start: *const u8, bytes: usize) {
    // SAFETY: the advice changes no content, whatever the range holds.
    let _refused = unsafe { libc::madvise(start.cast_mut().cast(), bytes, libc::MADV_HUGEPAGE) };
}

/// Asks the system for large pages in this range of addresses; it may refuse.
#[cfg(not(target_os = "linux"))]
pub fn prefer_huge(_start: *const u8, _bytes: usize) {}
