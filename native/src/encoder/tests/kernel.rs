//! Lanes and curves.

use std::f64::consts::SQRT_2;

use super::{assert_near, on_each_isa};
use crate::encoder::kernel::curves::{INTEGERS, exp2, gelu};
use crate::encoder::kernel::{LANES, Lanes, Work};

#[derive(Clone, Copy)]
enum Curve {
    Gelu,
    Exp2,
}

struct Curves<'a> {
    curve: Curve,
    numbers: &'a [[f32; LANES]],
}

impl Work for Curves<'_> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn run<L: Lanes>(self) -> Vec<f32> {
        let mut results = self.numbers.to_vec();
        for register in &mut results {
            let x = L::load(register);
            match self.curve {
                Curve::Gelu => gelu(x).store(register),
                Curve::Exp2 => exp2(x).store(register),
            }
        }
        results.into_flattened()
    }
}

/// Numbers from `low` to `high` as registers, and what the curve makes of them.
fn curve(curve: Curve, low: f32, high: f32) -> impl Iterator<Item = (f32, f32)> {
    let numbers: Vec<f32> = (0..=16_000u16).map(|part| low + (high - low) * f32::from(part) / 16_000.0).collect();
    let numbers = numbers.as_chunks().0;
    let results = on_each_isa(|isa| isa.run(Curves { curve, numbers }));
    numbers.as_flattened().to_vec().into_iter().zip(results)
}

/// The error function: its Taylor series within 3, and 1 less its continued fraction beyond.
fn erf(x: f64) -> f64 {
    if x.abs() > 3.0 {
        let fraction = (1..60).rev().fold(x.abs(), |below, step| x.abs() + f64::from(step) / 2.0 / below);
        return (1.0 - (-x * x).exp() / fraction / std::f64::consts::PI.sqrt()).copysign(x);
    }
    let mut term = x;
    let mut sum = x;
    for step in 1..80 {
        term *= -x * x / f64::from(step);
        sum += term / f64::from(2 * step + 1);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

/// The normal distribution function.
pub(super) fn normal(x: f64) -> f64 {
    0.5 * (1.0 + erf(x / SQRT_2))
}

#[test]
fn gelu_is_that_of_the_error_function() {
    for (low, high) in [(-10.0, 10.0), (-1.0, 1.0), (-1e6, 1e6)] {
        for (x, found) in curve(Curve::Gelu, low, high) {
            let wide = f64::from(x);
            assert_near(found, wide * normal(wide), 1e-4f64.max(1e-6 * wide.abs()));
        }
    }
}

#[test]
fn powers_of_two_are_near_and_never_subnormal() {
    for (x, found) in curve(Curve::Exp2, -100.0, 20.0) {
        let expected = f64::from(x).exp2();
        assert_near(found, expected, expected * 8e-5);
    }
    for (_, found) in curve(Curve::Exp2, -1e30, -100.0) {
        assert_near(found, (-100f64).exp2(), 1e-34);
    }
}

#[test]
fn what_is_no_number_stays_so() {
    for curve in [Curve::Gelu, Curve::Exp2] {
        for isa in crate::encoder::Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
            let results = isa.run(Curves { curve, numbers: &[[f32::NAN; LANES]] });
            assert!(results.iter().all(|number| number.is_nan()), "{isa}");
        }
    }
}

/// Everything that lanes do with lanes, one result after another.
struct Operations {
    a: [f32; LANES],
    b: [f32; LANES],
}

impl Work for Operations {
    type Output = Vec<f32>;

    #[inline(always)]
    fn run<L: Lanes>(self) -> Vec<f32> {
        let (a, b) = (L::load(&self.a), L::load(&self.b));
        let (low, high) = (L::splat(-0.0), L::splat(0.0));
        let mut results = vec![a.total(), low.or_below(b).lowest(), high.or_above(b).highest()];
        let mut keep = |lanes: L| {
            let mut register = [0.0; LANES];
            lanes.store(&mut register);
            results.extend(register);
        };
        for lanes in [a.plus(b), a.minus(b), a.times(b), a.over(b), a.times_plus(b, a), a.or_less(b), a.or_more(b)] {
            keep(lanes);
        }
        keep(high.or_size(a).or_size(b));
        keep(low.or_below(a).or_below(b));
        keep(high.or_above(a).or_above(b));
        let table = *[self.a, self.b].as_flattened().first_chunk().expect("two registers");
        keep(L::pick(&table, b.plus(L::splat(INTEGERS))));
        for count in 0..=LANES {
            keep(a.first(count, b));
        }
        let mut codes = [0u8; LANES];
        a.plus(L::splat(INTEGERS)).store_codes(&mut codes);
        keep(L::widen(&codes.map(|code| (code >> 1).cast_signed())));
        results
    }
}

proptest::proptest! {
    #[test]
    fn operations_are_the_same_bits_everywhere(
        a in proptest::array::uniform16(-0.5f32..300.0), b in proptest::array::uniform16(-3f32..3.0),
    ) {
        let results = on_each_isa(|isa| isa.run(Operations { a, b }));
        let sum: f64 = a.iter().copied().map(f64::from).sum();
        assert_near(results[0], sum, 1e-3);
        assert_eq!(results[1], b.iter().copied().fold(0.0, f32::min));
        assert_eq!(results[2], b.iter().copied().fold(0.0, f32::max));
    }
}

#[test]
fn codes_are_rounded_half_to_even() {
    let a = [-0.4, -0.5, 0.0, 0.5, 1.5, 2.4, 2.6, 3.5, 4.5, 99.5, 100.5, 128.0, 254.4, 254.5, 255.0, 255.4];
    let halved = [0u8, 0, 0, 0, 2, 2, 3, 4, 4, 100, 100, 128, 254, 254, 255, 255].map(|code| f32::from(code >> 1));
    let results = on_each_isa(|isa| isa.run(Operations { a, b: [1.0; LANES] }));
    assert_eq!(results[results.len() - LANES..], halved);
}

/// Two numbers of each lane rounded to 16 bits, the same unpacked again, and sums of products.
struct InPairs([[f32; LANES]; 4]);

impl Work for InPairs {
    type Output = Vec<f32>;

    #[inline(always)]
    fn run<L: Lanes>(self) -> Vec<f32> {
        let [a, b, c, d] = self.0.map(|numbers| L::load(&numbers));
        let (first, second) = (L::pairs(a, b), L::pairs(c, d));
        let mut stored = [0; LANES];
        L::store_pairs(first, &mut stored);
        let first = L::load_pairs(&stored);
        let mut sums = vec![];
        for pairs in [second, L::splat_pair(1), L::splat_pair(1 << 16), L::splat_pair(-1)] {
            let mut register = [0.0; LANES];
            L::from_sums(L::add_pairs(L::add_pairs(L::no_sums(), first, pairs), first, pairs)).store(&mut register);
            sums.extend(register);
        }
        sums
    }
}

/// What lanes hold in pairs: whole numbers of 14 bits, and halves between two.
fn halves() -> impl proptest::strategy::Strategy<Value = [f32; LANES]> {
    proptest::array::uniform16(proptest::prelude::Strategy::prop_map(-16_382i16..=16_382, |half| f32::from(half) / 2.0))
}

proptest::proptest! {
    #[test]
    fn pairs_are_rounded_half_to_even_and_their_products_exact(a in halves(), b in halves(), c in halves(), d in halves()) {
        let found = on_each_isa(|isa| isa.run(InPairs([a, b, c, d])));
        for lane in 0..LANES {
            let [a, b, c, d] = [a, b, c, d].map(|numbers| f64::from(numbers[lane]).round_ties_even());
            for (part, sum) in [a * c + b * d, a, b, -a - b].into_iter().enumerate() {
                assert_eq!(found[part * LANES + lane], (2.0 * sum) as f32);
            }
        }
    }
}

#[test]
fn what_is_no_number_is_larger_than_any_and_no_pair() {
    let (none, less, some) = ([f32::NAN; LANES], [-f32::NAN; LANES], [-4.0; LANES]);
    for isa in crate::encoder::Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
        for (a, b) in [(none, some), (some, none), (less, some), (some, less)] {
            let results = isa.run(Operations { a, b });
            let [size, low, high] = [7, 8, 9].map(|place| &results[3 + place * LANES..][..LANES]);
            assert!(size.iter().all(|size| size.is_nan()), "{isa}");
            let end = if a[0].is_sign_negative() && b[0].is_sign_negative() { low } else { high };
            assert!(end.iter().all(|end| end.is_nan()), "{isa}");
        }
        assert!(isa.run(InPairs([none, none, some, some])).iter().all(|&sum| sum == 0.0), "{isa}");
    }
}

struct Turn([[u8; 4 * LANES]; LANES]);

impl Work for Turn {
    type Output = Vec<f32>;

    #[inline(always)]
    fn run<L: Lanes>(self) -> Vec<f32> {
        let mut rows = [L::no_sums(); LANES];
        for (row, bytes) in rows.iter_mut().zip(&self.0) {
            *row = L::quads(bytes);
        }
        let mut turned = self.0;
        for (bytes, row) in turned.iter_mut().zip(L::turn(rows)) {
            L::store_quads(row, bytes);
        }
        turned.as_flattened().iter().map(|&byte| f32::from(byte)).collect()
    }
}

#[test]
fn rows_become_columns() {
    let rows = std::array::from_fn(|row| std::array::from_fn(|byte| (16 * row + byte % 4) as u8 ^ (byte / 4) as u8));
    let turned = on_each_isa(|isa| isa.run(Turn(rows)));
    for (place, number) in turned.into_iter().enumerate() {
        let (row, column, byte) = (place / (4 * LANES), place / 4 % LANES, place % 4);
        assert_eq!(number, f32::from(rows[column][4 * row + byte]));
    }
}

/// Sums of four products, on top of multiples.
struct Sums {
    codes: [u8; 4],
    weights: [i8; 4 * LANES],
    of: [i32; LANES],
    factor: i32,
}

impl Work for Sums {
    type Output = Vec<f32>;

    #[inline(always)]
    fn run<L: Lanes>(self) -> Vec<f32> {
        let sums = L::multiples(&self.of, self.factor);
        let mut register = [0.0; LANES];
        L::from_sums(L::add_products(sums, L::codes(self.codes), L::weights(&self.weights))).store(&mut register);
        register.to_vec()
    }
}

proptest::proptest! {
    #[test]
    fn products_of_codes_and_weights_are_added(
        codes: [u8; 4], weights in proptest::array::uniform32(proptest::array::uniform2(-128i8..=127)),
        of in proptest::array::uniform16(-100_000i32..=100_000), factor in 0i32..=255,
    ) {
        let weights: [i8; 4 * LANES] = *weights.as_flattened().first_chunk().expect("64 weights");
        let found = on_each_isa(|isa| isa.run(Sums { codes, weights, of, factor }));
        for (lane, found) in found.into_iter().enumerate() {
            let products = codes.iter().zip(&weights[4 * lane..]).map(|(&code, &weight)| i32::from(code) * i32::from(weight));
            assert_eq!(found, (of[lane] * factor + products.sum::<i32>()) as f32);
        }
    }
}
