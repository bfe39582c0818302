//! A panic of one call does not reach the next.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::weights::{SMALL, parts};
use crate::encoder::{Encoder, Isa, Pooling};

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
