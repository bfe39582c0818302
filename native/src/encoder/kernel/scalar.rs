//! Plain Rust: every machine has it. Far too slow to serve with; it is what the other paths are compared with.

use super::{LANES, Lanes, Pairs, Step, Work};

/// 16 lanes in an array.
#[derive(Clone, Copy)]
pub(in crate::encoder) struct Scalar([f32; LANES]);

impl Scalar {
    fn each(self, other: Self, operation: impl Fn(f32, f32) -> f32) -> Self {
        Self(std::array::from_fn(|lane| operation(self.0[lane], other.0[lane])))
    }

    fn fold(self, operation: impl Fn(f32, f32) -> f32) -> f32 {
        let mut left = self.0;
        for half in [8, 4, 2, 1] {
            for lane in 0..half {
                left[lane] = operation(left[lane], left[lane + half]);
            }
        }
        left[0]
    }
}

fn less(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

fn more(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

fn quad(bytes: [u8; 4]) -> i32 {
    i32::from_le_bytes(bytes)
}

impl Lanes for Scalar {
    type Ints = [i32; LANES];

    fn outline<W: Work>(work: W) -> W::Output {
        work.run::<Self>()
    }

    fn splat(number: f32) -> Self {
        Self([number; LANES])
    }

    fn load(from: &[f32; LANES]) -> Self {
        Self(*from)
    }

    fn widen(from: &[i8; LANES]) -> Self {
        Self(from.map(f32::from))
    }

    fn store(self, to: &mut [f32; LANES]) {
        *to = self.0;
    }

    fn round(self, to: &mut [u8; LANES]) {
        #[allow(clippy::cast_sign_loss)] // codes begin at 0
        let codes = self.0.map(|number| number.round_ties_even() as u8);
        *to = codes;
    }

    fn plus(self, other: Self) -> Self {
        self.each(other, |a, b| a + b)
    }

    fn minus(self, other: Self) -> Self {
        self.each(other, |a, b| a - b)
    }

    fn times(self, other: Self) -> Self {
        self.each(other, |a, b| a * b)
    }

    fn over(self, other: Self) -> Self {
        self.each(other, |a, b| a / b)
    }

    fn times_plus(self, factor: Self, term: Self) -> Self {
        Self(std::array::from_fn(|lane| self.0[lane].mul_add(factor.0[lane], term.0[lane])))
    }

    fn or_less(self, other: Self) -> Self {
        self.each(other, less)
    }

    fn or_more(self, other: Self) -> Self {
        self.each(other, more)
    }

    fn or_size(self, other: Self) -> Self {
        self.each(other, |size, number| f32::from_bits(size.to_bits().max(number.abs().to_bits())))
    }

    fn nearest(self) -> Self {
        Self(self.0.map(f32::round_ties_even))
    }

    fn below_zero(self) -> Self {
        Self(self.0.map(|number| -number.abs()))
    }

    fn times_two_to(self, power: Self) -> Self {
        // The power goes where a number in single precision has its exponent.
        self.each(power, |number, power| number * f32::from_bits((power as i32 + 127).cast_unsigned() << 23))
    }

    fn pick(table: &[f32; LANES], place: Self) -> Self {
        Self(place.0.map(|place| table[place.to_bits() as usize % LANES]))
    }

    fn first(self, count: usize, rest: Self) -> Self {
        Self(std::array::from_fn(|lane| if lane < count { self.0[lane] } else { rest.0[lane] }))
    }

    fn total(self) -> f32 {
        self.fold(|a, b| a + b)
    }

    fn least(self) -> f32 {
        self.fold(less)
    }

    fn most(self) -> f32 {
        self.fold(more)
    }

    fn transpose(rows: [Self; LANES]) -> [Self; LANES] {
        std::array::from_fn(|column| Self(rows.map(|row| row.0[column])))
    }

    fn no_sums() -> Self::Ints {
        [0; LANES]
    }

    fn codes(codes: [u8; 4]) -> Self::Ints {
        [quad(codes); LANES]
    }

    fn weights(weights: &[i8; 4 * LANES]) -> Self::Ints {
        std::array::from_fn(|lane| quad(std::array::from_fn(|input| weights[4 * lane + input].cast_unsigned())))
    }

    fn add_products(mut sums: Self::Ints, codes: Self::Ints, weights: Self::Ints) -> Self::Ints {
        for ((sum, codes), weights) in sums.iter_mut().zip(codes).zip(weights) {
            for (code, weight) in codes.to_le_bytes().into_iter().zip(weights.to_le_bytes()) {
                *sum += i32::from(code) * i32::from(weight.cast_signed());
            }
        }
        sums
    }

    fn pairs(first: Self, second: Self) -> Self::Ints {
        let halves = |number: f32| number.round_ties_even() as i32;
        std::array::from_fn(|lane| halves(first.0[lane]) & 0xffff | halves(second.0[lane]) << 16)
    }

    fn splat_pair(pair: i32) -> Self::Ints {
        [pair; LANES]
    }

    fn load_pairs(from: &Pairs) -> Self::Ints {
        *from
    }

    fn store_pairs(pairs: Self::Ints, to: &mut Pairs) {
        *to = pairs;
    }

    fn add_pairs(mut sums: Self::Ints, pairs: Self::Ints, others: Self::Ints) -> Self::Ints {
        for ((sum, pair), other) in sums.iter_mut().zip(pairs).zip(others) {
            *sum += (pair >> 16) * (other >> 16) + i32::from(pair as i16) * i32::from(other as i16);
        }
        sums
    }

    fn from_sums(sums: Self::Ints) -> Self {
        Self(sums.map(|sum| sum as f32))
    }

    fn prefetch(_line: *const Step) {}
}
