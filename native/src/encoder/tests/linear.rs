//! Rounding and linear steps.

use std::ops::Range;

use proptest::collection::vec;
use proptest::prelude::*;

use super::kernel::normal;
use super::{assert_near, on_each_isa};
use crate::encoder::kernel::tile::{COLUMNS, Rounding};
use crate::encoder::kernel::{LANES, Lanes, Work};
use crate::encoder::layers::codes::{Codes, GeluRows, RoundRows};
use crate::encoder::layers::linear::{ByPanel, ByRow, Linear, Residual};
use crate::encoder::model::packing::Plain;

/// A linear step as the file has it, and rows that go into it.
#[derive(Debug, Clone)]
struct Case {
    rows: usize,
    inputs: usize,
    outputs: usize,
    x: Vec<f32>,
    codes: Vec<i8>,
    scale: Vec<f32>,
    bias: Vec<f32>,
}

fn cases() -> impl Strategy<Value = Case> {
    let sizes = (1usize..33, prop_oneof![1usize..70, Just(128)], prop_oneof![1usize..70, Just(96)]);
    sizes.prop_flat_map(|(rows, inputs, outputs)| {
        let x = vec(prop_oneof![9 => -3f32..5.0, 1 => Just(0f32), 1 => -50f32..50.0], rows * inputs);
        let codes = vec(prop_oneof![-127i8..=127, Just(-128), Just(127)], inputs * outputs);
        (x, codes, vec(1e-3f32..0.1, outputs), vec(-2f32..2.0, outputs)).prop_map(move |(x, codes, scale, bias)| Case {
            rows,
            inputs,
            outputs,
            x,
            codes,
            scale,
            bias,
        })
    })
}

impl Case {
    fn stride(&self) -> usize {
        self.inputs.next_multiple_of(LANES)
    }

    /// The rows with room up to whole registers, filled with what must not matter.
    fn padded(&self) -> Vec<f32> {
        let rows = self.x.chunks(self.inputs);
        rows.flat_map(|row| row.iter().copied().chain(std::iter::repeat(777.0)).take(self.stride())).collect()
    }

    fn pack(&self, filler: Option<usize>) -> Linear {
        let plain = Plain { codes: self.codes.clone(), scale: self.scale.clone(), bias: self.bias.clone() };
        let mut columns: Vec<Option<usize>> = (0..self.outputs).map(Some).collect();
        columns.resize(self.outputs.next_multiple_of(COLUMNS), filler);
        plain.pack(&columns)
    }

    fn panels(&self) -> usize {
        self.outputs.div_ceil(COLUMNS)
    }

    /// An output by the formula, from rounded inputs, and the sum of the magnitudes of what is added up on the way.
    fn expected(&self, codes: &Codes, row: usize, output: usize) -> (f64, f64) {
        let (bytes, roundings) = codes.rows(row..row + 1);
        let (step, zero) = (f64::from(roundings[0].step), f64::from(roundings[0].zero));
        let (mut sum, mut size) = (f64::from(self.bias[output]), f64::from(self.bias[output].abs()));
        for (input, &code) in bytes[..self.inputs].iter().enumerate() {
            let weight = f64::from(self.codes[input * self.outputs + output]) * f64::from(self.scale[output]);
            sum += step * (f64::from(code) - zero) * weight;
            size += step * (f64::from(code) + zero) * weight.abs();
        }
        (sum, size)
    }
}

/// The smallest and largest of some numbers and 0.
fn span(numbers: &[f32]) -> (f32, f32) {
    (numbers.iter().copied().fold(0.0, f32::min), numbers.iter().copied().fold(0.0, f32::max))
}

fn rounded(case: &Case, isa: crate::encoder::Isa) -> Codes {
    let mut codes = Codes::new(case.rows, case.inputs);
    let numbers = case.padded();
    isa.run(RoundRows { numbers: &numbers, stride: case.stride(), width: case.inputs, codes: &mut codes });
    codes
}

/// Sends rows through a linear step to each of its outlets.
struct Through<'a> {
    linear: &'a Linear,
    codes: &'a Codes,
    rows: Range<usize>,
    panels: usize,
}

struct Outputs {
    by_panel: Vec<[f32; COLUMNS]>,
    added: Vec<[f32; COLUMNS]>,
    by_row: Vec<[f32; COLUMNS]>,
}

impl Work for Through<'_> {
    type Output = Outputs;

    #[inline(always)]
    fn run<L: Lanes>(self) -> Outputs {
        let (panels, rows) = (self.panels, self.rows.len());
        let zero = vec![[0.0; COLUMNS]; rows * panels];
        let (mut by_panel, mut added, mut by_row) = (zero.clone(), vec![[1.0; COLUMNS]; rows * panels], zero);
        self.linear.apply::<L>(self.codes, self.rows.clone(), &mut ByPanel { outputs: &mut by_panel, rows });
        self.linear.apply::<L>(self.codes, self.rows.clone(), &mut Residual { hidden: &mut added, panels });
        self.linear.apply::<L>(self.codes, self.rows, &mut ByRow { outputs: &mut by_row, stride: panels });
        Outputs { by_panel, added, by_row }
    }
}

fn through(case: &Case, isa: crate::encoder::Isa) -> Outputs {
    let (linear, codes) = (case.pack(Some(case.outputs - 1)), rounded(case, isa));
    isa.run(Through { linear: &linear, codes: &codes, rows: 0..case.rows, panels: case.panels() })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn codes_are_within_half_a_step(case in cases()) {
        let found = on_each_isa(|isa| {
            let codes = rounded(&case, isa);
            let rows = (0..case.rows).flat_map(|row| {
                let (bytes, roundings) = codes.rows(row..row + 1);
                let numbers = bytes[..case.inputs].iter().map(|&code| f32::from(code));
                [roundings[0].step, roundings[0].zero as f32].into_iter().chain(numbers).collect::<Vec<_>>()
            });
            rows.collect()
        });
        for (row, x) in found.chunks(case.inputs + 2).zip(case.x.chunks(case.inputs)) {
            let (low, high) = span(x);
            assert_near(row[0] * 254.0, f64::from(high - low), 1e-4);
            prop_assert!((0.0..=255.0).contains(&row[1]));
            for (code, x) in row[2..].iter().zip(x) {
                let near = row[0] * (code - row[1]);
                prop_assert!((near - x).abs() <= row[0] * 0.5001 + 1e-5, "{} for {}", near, x);
            }
        }
    }

    #[test]
    fn linear_steps_are_right_for_every_outlet(case in cases()) {
        let codes = rounded(&case, crate::encoder::Isa::Scalar);
        let found = on_each_isa(|isa| {
            let outputs = through(&case, isa);
            [outputs.by_panel, outputs.added, outputs.by_row].concat().into_flattened()
        });
        let [by_panel, added, by_row] = [0, 1, 2].map(|part| &found[found.len() / 3 * part..]);
        for row in 0..case.rows {
            for output in 0..case.outputs {
                let (expected, size) = case.expected(&codes, row, output);
                let (panel, column) = (output / COLUMNS, output % COLUMNS);
                assert_near(by_panel[(panel * case.rows + row) * COLUMNS + column], expected, size * 1e-6);
                let place = (row * case.panels() + panel) * COLUMNS + column;
                assert_near(added[place], expected + 1.0, size * 1e-6 + 1e-6);
                assert_near(by_row[place], expected, size * 1e-6);
            }
        }
    }

    #[test]
    fn the_gelu_of_rows_is_rounded_within_its_own_span(case in cases()) {
        let (stride, width) = (case.stride() + LANES, case.stride());
        let x: Vec<f32> = case.padded().chunks(width).flat_map(|row| [row, &[777.0; LANES]].concat()).collect();
        on_each_isa(|isa| {
            let (mut numbers, mut codes) = (x.clone(), Codes::new(case.rows, width));
            isa.run(GeluRows { numbers: &mut numbers, stride, width, codes: &mut codes });
            for (row, (numbers, x)) in numbers.chunks(stride).zip(x.chunks(stride)).enumerate() {
                let (bytes, roundings) = codes.rows(row..row + 1);
                let Rounding { step, zero } = roundings[0];
                let (low, high) = span(&numbers[..width]);
                assert_near(step * 254.0, f64::from(high - low), 1e-5 * (1.0 + f64::from(high)));
                for ((number, x), code) in numbers[..width].iter().zip(x).zip(bytes) {
                    let wide = f64::from(*x);
                    assert_near(*number, wide * normal(wide), 1e-4 + wide.abs() * 1e-6);
                    assert_near(step * (f32::from(*code) - zero as f32), f64::from(*number), f64::from(step) * 0.5001 + 1e-5);
                }
            }
            numbers
        });
    }

    #[test]
    fn some_rows_give_what_they_give_among_others(case in cases(), cut in 0usize..32) {
        let start = cut % case.rows;
        on_each_isa(|isa| {
            let (linear, codes, panels) = (case.pack(None), rounded(&case, isa), case.panels());
            let whole = isa.run(Through { linear: &linear, codes: &codes, rows: 0..case.rows, panels });
            let part = isa.run(Through { linear: &linear, codes: &codes, rows: start..case.rows, panels });
            assert_eq!(part.added, whole.added[start * panels..]);
            part.added.into_flattened()
        });
    }
}

#[test]
fn equal_numbers_and_no_numbers_are_rounded_without_harm() {
    for (number, finite) in [(0.0, true), (-4.5, true), (f32::NAN, false), (f32::INFINITY, false)] {
        for isa in crate::encoder::Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
            let mut codes = Codes::new(1, LANES);
            let mut numbers = [4.0; LANES];
            if finite {
                numbers = [number; LANES];
            } else {
                numbers[5] = number;
            }
            isa.run(RoundRows { numbers: &numbers, stride: LANES, width: LANES, codes: &mut codes });
            let rounding = codes.rows(0..1).1[0];
            assert_eq!(rounding.step.is_finite(), finite, "{number} on {isa}");
            let code = f32::from(codes.rows(0..1).0[0]);
            assert!(!finite || rounding.step * (code - rounding.zero as f32) == number);
        }
    }
}
