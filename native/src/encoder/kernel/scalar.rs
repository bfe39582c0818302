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

/// Numbers whose sign is plus are in the order of their bits as integers.
fn above(a: f32, b: f32) -> f32 {
    f32::from_bits(a.to_bits().cast_signed().max(b.to_bits().cast_signed()).cast_unsigned())
}

/// Numbers whose sign is minus are in the opposite order of their bits, which are above those of all others.
fn below(a: f32, b: f32) -> f32 {
    f32::from_bits(a.to_bits().max(b.to_bits()))
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

    fn store_codes(self, to: &mut [u8; LANES]) {
        *to = self.0.map(|number| number.to_bits() as u8);
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

    fn or_above(self, other: Self) -> Self {
        self.each(other, above)
    }

    fn or_below(self, other: Self) -> Self {
        self.each(other, below)
    }

    fn or_size(self, other: Self) -> Self {
        self.each(other, |size, number| above(size, number.abs()))
    }

    fn times_two_to(self, power: Self) -> Self {
        // Added where a number in single precision has its exponent.
        self.each(power, |number, power| f32::from_bits(number.to_bits().wrapping_add(power.to_bits() << 23)))
    }

    fn pick(table: &[f32; 2 * LANES], place: Self) -> Self {
        Self(place.0.map(|place| table[place.to_bits() as usize % table.len()]))
    }

    fn first(self, count: usize, rest: Self) -> Self {
        Self(std::array::from_fn(|lane| if lane < count { self.0[lane] } else { rest.0[lane] }))
    }

    fn total(self) -> f32 {
        self.fold(|a, b| a + b)
    }

    fn lowest(self) -> f32 {
        self.fold(below)
    }

    fn highest(self) -> f32 {
        self.fold(above)
    }

    fn no_sums() -> Self::Ints {
        [0; LANES]
    }

    fn multiples(of: &[i32; LANES], factor: i32) -> Self::Ints {
        of.map(|integer| integer.wrapping_mul(factor))
    }

    fn codes(codes: [u8; 4]) -> Self::Ints {
        [quad(codes); LANES]
    }

    fn quads(from: &[u8; 4 * LANES]) -> Self::Ints {
        std::array::from_fn(|lane| quad(from.as_chunks().0[lane]))
    }

    fn store_quads(quads: Self::Ints, to: &mut [u8; 4 * LANES]) {
        to.copy_from_slice(quads.map(i32::to_le_bytes).as_flattened());
    }

    fn turn(rows: [Self::Ints; LANES]) -> [Self::Ints; LANES] {
        std::array::from_fn(|column| rows.map(|row| row[column]))
    }

    fn weights(weights: &[i8; 4 * LANES]) -> Self::Ints {
        std::array::from_fn(|lane| quad(std::array::from_fn(|input| weights[4 * lane + input].cast_unsigned())))
    }

    fn add_products(mut sums: Self::Ints, codes: Self::Ints, weights: Self::Ints) -> Self::Ints {
        for ((sum, codes), weights) in sums.iter_mut().zip(codes).zip(weights) {
            for (code, weight) in codes.to_le_bytes().into_iter().zip(weights.to_le_bytes()) {
                *sum = sum.wrapping_add(i32::from(code) * i32::from(weight.cast_signed()));
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
