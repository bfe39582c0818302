//! A panic of one call does not reach the next.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::weights::{SMALL, parts};
use crate::encoder::{Encoder, Isa, Pooling};
use crate::panics::{Panicked, caught};

#[test]
fn a_poisoned_lock_does_not_stop_later_calls() {
    let weights = parts(SMALL, 1).bytes();
    let encoder = Encoder::new(&weights, Pooling::Mean, Isa::best()).expect("a sound file");
    let before = encoder.encode(&[[1, 2, 3]]).expect("sound ids");
    let panic = catch_unwind(AssertUnwindSafe(|| {
        let _held = encoder.idle.lock();
        panic!("while the lock is held");
    }));
    assert!(panic.is_err() && encoder.idle.is_poisoned());
    assert_eq!(encoder.encode(&[[1, 2, 3]]).expect("sound ids"), before);
}

#[test]
fn what_a_panic_left_half_written_is_not_used_again() {
    let weights = parts(SMALL, 1).bytes();
    let encoder = Encoder::new(&weights, Pooling::Mean, Isa::best()).expect("a sound file");
    let before = encoder.encode(&[[1, 2, 3]]).expect("sound ids");
    let panic = caught(|| {
        let mut scratch = encoder.take_scratch();
        scratch.hidden.fill(f32::NAN);
        panic!("in the middle of a pass");
    });
    assert_eq!(panic, Err::<(), _>(Panicked));
    assert_eq!(encoder.idle.lock().expect("not poisoned").len(), 0);
    assert_eq!(encoder.encode(&[[1, 2, 3]]).expect("sound ids"), before);
}
