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
/// third-level cache behind the arithmetic, into the second: the first is full of codes and the panel at work. 12 to 48 KiB
/// serve equally well.
const AHEAD: usize = 12 << 10;

/// What a panel's integer sums are made numbers with, by column.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(in crate::encoder) struct Scaling {
    /// One weight code's worth.
    pub scale: [f32; COLUMNS],
    /// The sum of the column's weight codes, negated: what each unit of a row's zero adds.
    pub zero: [i32; COLUMNS],
    /// Added.
    pub bias: [f32; COLUMNS],
}

/// The worth of a row's codes: `number = step · (code - zero)`.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::encoder) struct Rounding {
    /// Between one code and the next.
    pub step: f32,
    /// The code of 0, within 0 to 255.
    pub zero: i32,
}

/// What becomes of a linear step's outputs.
pub(in crate::encoder) trait Outlet {
    /// Takes a row's outputs for one panel, 32 columns.
    fn take<L: Lanes>(&mut self, row: usize, panel: usize, outputs: [L; 2]);
}

/// `N` rows, the first being `row`, times the panels from number `panel` on.
pub(in crate::encoder) struct Tile<'a, O, const N: usize> {
    /// Codes of the rows, `stride` bytes apart.
    pub codes: &'a [u8],
    pub stride: usize,
    pub roundings: &'a [Rounding],
    /// Steps of all panels.
    pub weights: &'a [Step],
    /// [panels].
    pub scalings: &'a [Scaling],
    pub row: usize,
    pub panel: usize,
    pub outlet: &'a mut O,
}

impl<O: Outlet, const N: usize> Work for Tile<'_, O, N> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(mut self) {
        let depth = self.weights.len() / self.scalings.len();
        let mut rows = self.codes.chunks_exact(self.stride);
        let rows: [&[[u8; 4]]; N] =
            std::array::from_fn(|_| &rows.next().expect("codes for each row").as_chunks().0[..depth]);
        for (weights, scaling) in self.weights.chunks_exact(depth).zip(self.scalings) {
            let mut sums = self.start::<L>(scaling);
            for (place, step) in weights.iter().enumerate() {
                L::prefetch(std::ptr::from_ref(step).wrapping_byte_add(AHEAD));
                let weights = [L::weights(&step[0]), L::weights(&step[1])];
                for (sums, row) in sums.iter_mut().zip(rows) {
                    let codes = L::codes(row[place]);
                    *sums = [L::add_products(sums[0], codes, weights[0]), L::add_products(sums[1], codes, weights[1])];
                }
            }
            self.hand_over::<L>(scaling, &sums);
            self.panel += 1;
        }
    }
}

impl<O: Outlet, const N: usize> Tile<'_, O, N> {
    #[inline(always)]
    fn roundings(&self) -> &[Rounding; N] {
        self.roundings.first_chunk().expect("a rounding for each row")
    }

    /// What the zeros of the rows come to.
    #[inline(always)]
    fn start<L: Lanes>(&self, scaling: &Scaling) -> [[L::Ints; 2]; N] {
        let [low, high] = scaling.zero.as_chunks().0 else { unreachable!("32 numbers are two registers") };
        let roundings = self.roundings();
        std::array::from_fn(|row| {
            let zero = roundings[row].zero;
            [L::multiples(low, zero), L::multiples(high, zero)]
        })
    }

    #[inline(always)]
    fn hand_over<L: Lanes>(&mut self, scaling: &Scaling, sums: &[[L::Ints; 2]; N]) {
        let (scale, bias) = (halves::<L>(&scaling.scale), halves::<L>(&scaling.bias));
        for_each_row!(N, row => {
            let step = L::splat(self.roundings()[row].step);
            let [low, high] = sums[row].map(|sums| L::from_sums(sums).times(step));
            let outputs = [low.times_plus(scale[0], bias[0]), high.times_plus(scale[1], bias[1])];
            self.outlet.take(self.row + row, self.panel, outputs);
        });
    }
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
