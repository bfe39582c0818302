//! Rounding and linear steps.

use std::ops::Range;

use proptest::collection::vec;
use proptest::prelude::*;

use super::kernel::normal;
use super::{assert_near, on_each_isa};
use crate::encoder::kernel::tile::COLUMNS;
use crate::encoder::kernel::{LANES, Lanes, Work};
use crate::encoder::layers::codes::{Codes, RoundRows};
use crate::encoder::layers::linear::{ByPanel, Gelu, Linear, Residual};
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
        let (step, low) = (f64::from(roundings[0].step), f64::from(roundings[0].low));
        let (mut sum, mut size) = (f64::from(self.bias[output]), f64::from(self.bias[output].abs()));
        for (input, &code) in bytes[..self.inputs].iter().enumerate() {
            let weight = f64::from(self.codes[input * self.outputs + output]) * f64::from(self.scale[output]);
            sum += (step * f64::from(code) + low) * weight;
            size += (step * f64::from(code) + low.abs()) * weight.abs();
        }
        (sum, size)
    }
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
    gelu: Vec<[f32; COLUMNS]>,
}

impl Work for Through<'_> {
    type Output = Outputs;

    #[inline(always)]
    fn run<L: Lanes>(self) -> Outputs {
        let (panels, rows) = (self.panels, self.rows.len());
        let zero = vec![[0.0; COLUMNS]; rows * panels];
        let (mut by_panel, mut added, mut gelu) = (zero.clone(), vec![[1.0; COLUMNS]; rows * panels], zero);
        self.linear.apply::<L>(self.codes, self.rows.clone(), &mut ByPanel { outputs: &mut by_panel, rows });
        self.linear.apply::<L>(self.codes, self.rows.clone(), &mut Residual { hidden: &mut added, panels });
        self.linear.apply::<L>(self.codes, self.rows, &mut Gelu { wide: &mut gelu, stride: panels });
        Outputs { by_panel, added, gelu }
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
                [roundings[0].step, roundings[0].low].into_iter().chain(numbers).collect::<Vec<_>>()
            });
            rows.collect()
        });
        for (row, x) in found.chunks(case.inputs + 2).zip(case.x.chunks(case.inputs)) {
            prop_assert_eq!(row[1], x.iter().copied().fold(f32::INFINITY, f32::min));
            for (code, x) in row[2..].iter().zip(x) {
                let near = row[0].mul_add(*code, row[1]);
                prop_assert!((near - x).abs() <= row[0] * 0.5001 + 1e-5, "{} for {}", near, x);
            }
        }
    }

    #[test]
    fn linear_steps_are_right_for_every_outlet(case in cases()) {
        let codes = rounded(&case, crate::encoder::Isa::Scalar);
        let found = on_each_isa(|isa| {
            let outputs = through(&case, isa);
            [outputs.by_panel, outputs.added, outputs.gelu].concat().into_flattened()
        });
        let [by_panel, added, gelu] = [0, 1, 2].map(|part| &found[found.len() / 3 * part..]);
        for row in 0..case.rows {
            for output in 0..case.outputs {
                let (expected, size) = case.expected(&codes, row, output);
                let (panel, column) = (output / COLUMNS, output % COLUMNS);
                assert_near(by_panel[(panel * case.rows + row) * COLUMNS + column], expected, size * 1e-6);
                let place = (row * case.panels() + panel) * COLUMNS + column;
                assert_near(added[place], expected + 1.0, size * 1e-6 + 1e-6);
                assert_near(gelu[place], expected * normal(expected), 1e-4 + size * 2e-6);
            }
        }
    }

    #[test]
    fn the_span_of_a_wide_row_is_that_of_its_numbers(case in cases()) {
        let width = case.panels() * COLUMNS;
        on_each_isa(|isa| {
            let outputs = through(&case, isa);
            let numbers = outputs.gelu.as_flattened();
            let mut codes = Codes::new(case.rows, width);
            isa.run(RoundRows { numbers, stride: width, width, codes: &mut codes });
            for (row, numbers) in numbers.chunks(width).enumerate() {
                let numbers = &numbers[..case.outputs];
                let rounding = codes.rows(row..row + 1).1[0];
                assert_eq!(rounding.low, numbers.iter().copied().fold(f32::INFINITY, f32::min));
                let high = numbers.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                assert_near(rounding.step.mul_add(255.0, rounding.low), f64::from(high), 1e-5 * (1.0 + f64::from(high.abs())));
            }
            outputs.gelu.into_flattened()
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
            assert!(!finite || (rounding.low == number && rounding.step > 0.0));
        }
    }
}
