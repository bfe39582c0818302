//! The product of a few rows of codes with one panel of weights: nine tenths of the encoder's time.

use super::{LANES, Lanes, Step, Work};

/// Most rows of a tile. Two registers of sums for each leave four of 32 for weights and codes.
pub(in crate::encoder) const ROWS: usize = 14;

/// Runs `$body` for each row below `$count`, at most [`ROWS`]. Numbers of rows are written out, because a loop over this
/// many registers that the compiler does not unroll sends them all through memory.
macro_rules! for_each_row {
    ($count:expr, $row:ident => $body:expr) => {
        for_each_row!($count, $row => $body, 0 1 2 3 4 5 6 7 8 9 10 11 12 13)
    };
    ($count:expr, $row:ident => $body:expr, $($number:literal)*) => {
        $(if $number < $count {
            let $row = $number;
            $body
        })*
    };
}
pub(in crate::encoder) use for_each_row;

/// Columns of a panel.
pub(in crate::encoder) const COLUMNS: usize = 2 * LANES;

/// How far ahead of their use weights are asked for, in bytes. They are read in order, so that they come out of the
/// third-level cache behind the arithmetic; 4 to 12 KiB serve equally well.
const AHEAD: usize = 12 << 10;

/// What a panel's integer sums are made numbers with, by column.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(in crate::encoder) struct Scaling {
    /// One weight code's worth.
    pub scale: [f32; COLUMNS],
    /// The sum of the column's weights.
    pub weight: [f32; COLUMNS],
    /// Added.
    pub bias: [f32; COLUMNS],
}

/// The worth of a row's codes: `number = step · code + low`.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::encoder) struct Rounding {
    /// Between one code and the next.
    pub step: f32,
    /// Of code 0.
    pub low: f32,
}

/// What becomes of a linear step's outputs.
pub(in crate::encoder) trait Outlet {
    /// Takes a row's outputs for one panel, 32 columns.
    fn take<L: Lanes>(&mut self, row: usize, panel: usize, outputs: [L; 2]);
}

/// `N` rows, the first being `row`, times panel number `panel`.
pub(in crate::encoder) struct Tile<'a, O, const N: usize> {
    /// Codes of the rows, `stride` bytes apart.
    pub codes: &'a [u8],
    pub stride: usize,
    pub roundings: &'a [Rounding],
    pub weights: &'a [Step],
    pub scaling: &'a Scaling,
    pub row: usize,
    pub panel: usize,
    pub outlet: &'a mut O,
}

impl<O: Outlet, const N: usize> Work for Tile<'_, O, N> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        let steps = self.weights.len();
        let rows: [&[[u8; 4]]; N] = std::array::from_fn(|row| {
            let codes = &self.codes[row * self.stride..];
            &codes.as_chunks().0[..steps]
        });
        let mut sums = [[L::no_sums(); 2]; N];
        for (place, step) in self.weights.iter().enumerate() {
            L::prefetch(std::ptr::from_ref(step).wrapping_byte_add(AHEAD));
            let weights = [L::weights(&step[0]), L::weights(&step[1])];
            for (sums, row) in sums.iter_mut().zip(rows) {
                let codes = L::codes(row[place]);
                *sums = [L::add_products(sums[0], codes, weights[0]), L::add_products(sums[1], codes, weights[1])];
            }
        }
        self.hand_over::<L>(&sums);
    }
}

impl<O: Outlet, const N: usize> Tile<'_, O, N> {
    #[inline(always)]
    fn hand_over<L: Lanes>(self, sums: &[[L::Ints; 2]; N]) {
        let Scaling { scale, weight, bias } = self.scaling;
        let (scale, weight, bias) = (halves::<L>(scale), halves::<L>(weight), halves::<L>(bias));
        let roundings: &[Rounding; N] = self.roundings.first_chunk().expect("a rounding for each row");
        for_each_row!(N, row => {
            let ([low, high], rounding) = (sums[row], &roundings[row]);
            let low = scaled(low, rounding, scale[0], low_end(rounding, weight[0], bias[0]));
            let high = scaled(high, rounding, scale[1], low_end(rounding, weight[1], bias[1]));
            self.outlet.take(self.row + row, self.panel, [low, high]);
        });
    }
}

/// The output of a row whose codes are all 0.
#[inline(always)]
fn low_end<L: Lanes>(rounding: &Rounding, weight: L, bias: L) -> L {
    L::splat(rounding.low).times_plus(weight, bias)
}

#[inline(always)]
fn scaled<L: Lanes>(sums: L::Ints, rounding: &Rounding, scale: L, low_end: L) -> L {
    L::from_sums(sums).times(L::splat(rounding.step)).times_plus(scale, low_end)
}

/// 32 numbers as two registers.
#[inline(always)]
pub(in crate::encoder) fn halves<L: Lanes>(numbers: &[f32; COLUMNS]) -> [L; 2] {
    let [low, high] = numbers.as_chunks().0 else { unreachable!("32 numbers are two registers") };
    [L::load(low), L::load(high)]
}

/// Two registers into 32 numbers.
#[inline(always)]
pub(in crate::encoder) fn store_halves<L: Lanes>(registers: [L; 2], to: &mut [f32; COLUMNS]) {
    let [low, high] = to.as_chunks_mut().0 else { unreachable!("32 numbers are two registers") };
    registers[0].store(low);
    registers[1].store(high);
}
