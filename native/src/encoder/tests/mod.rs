//! Each step of a layer against the same in double precision, and all instruction sets against one another.

#![allow(clippy::float_cmp)] // the same numbers are meant

mod attention;
mod kernel;
mod linear;
mod lock;
mod norm;
#[path = "../../../tests/encoder/weights.rs"]
mod weights;

use crate::encoder::Isa;

/// What `run` gives on every instruction set of this machine, which must be the same bits.
fn on_each_isa(run: impl Fn(Isa) -> Vec<f32>) -> Vec<f32> {
    let expected = run(Isa::Scalar);
    for isa in Isa::ALL.into_iter().skip(1) {
        if isa.is_available() {
            let found = run(isa);
            let bits = |numbers: &[f32]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&found), bits(&expected), "{isa}");
        } else {
            eprintln!("skipped: this machine cannot run isa {isa}");
        }
    }
    expected
}

/// Asserts that `found` is within `tolerance` of `expected`.
fn assert_near(found: f32, expected: f64, tolerance: f64) {
    assert!((f64::from(found) - expected).abs() <= tolerance, "{found} is not {expected} within {tolerance}");
}
