//! Panics as values.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// A panic was caught. Its message went to the standard error output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Panicked;

/// Runs `work`. What it shares with others must be whole after a panic, or of no use to them.
///
/// # Errors
///
/// Where it panics.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| Panicked)
}

#[cfg(test)]
mod tests {
    use super::{Panicked, caught};

    #[test]
    fn a_panic_is_an_error_and_all_else_is_passed_on() {
        assert_eq!(caught(|| 3), Ok(3));
        assert_eq!(caught(|| [1, 2].get(5).expect("five")), Err(Panicked));
        assert_eq!(caught(|| panic!("again")), Err::<(), _>(Panicked));
    }
}
