//! Layer normalisation and pooling.

use proptest::collection::vec;
use proptest::prelude::*;

use super::{assert_near, on_each_isa};
use crate::encoder::kernel::LANES;
use crate::encoder::kernel::tile::COLUMNS;
use crate::encoder::layers::codes::Codes;
use crate::encoder::layers::norm::{Norm, NormRows};
use crate::encoder::layers::pooling::{Pool, Pooling};
use crate::encoder::model::packing::affine;

#[derive(Debug, Clone)]
struct Case {
    width: usize,
    x: Vec<f32>,
    gamma: Vec<f32>,
    beta: Vec<f32>,
    factor: Vec<f32>,
}

fn cases() -> impl Strategy<Value = Case> {
    let sizes = (1usize..6, prop_oneof![2usize..80, Just(96), Just(384)]);
    sizes.prop_flat_map(|(rows, width)| {
        let x = vec(prop_oneof![9 => -3f32..3.0, 1 => -40f32..40.0], rows * width);
        let parameters = (vec(-2f32..2.0, width), vec(-1f32..1.0, width), vec(0.1f32..10.0, width));
        (x, parameters).prop_map(move |(x, (gamma, beta, factor))| Case { width, x, gamma, beta, factor })
    })
}

impl Case {
    fn rows(&self) -> usize {
        self.x.len() / self.width
    }

    fn stride(&self) -> usize {
        self.width.next_multiple_of(COLUMNS)
    }

    fn padded(&self) -> Vec<f32> {
        let rows = self.x.chunks(self.width);
        rows.flat_map(|row| row.iter().copied().chain(std::iter::repeat(0.0)).take(self.stride())).collect()
    }

    /// The norm of a row in double precision.
    fn expected(&self, row: usize) -> Vec<f64> {
        let x: Vec<f64> = self.x[row * self.width..][..self.width].iter().copied().map(f64::from).collect();
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64;
        let parameters = self.gamma.iter().zip(&self.beta);
        let plain = x.iter().map(|x| (x - mean) / (variance + 1e-12).sqrt());
        plain.zip(parameters).map(|(x, (gamma, beta))| x * f64::from(*gamma) + f64::from(*beta)).collect()
    }

    fn norm(&self) -> Norm {
        let onward = Some(affine(&self.gamma, &self.beta, &self.factor));
        let affine = affine(&self.gamma, &self.beta, &vec![1.0; self.width]);
        Norm { affine, onward, epsilon: 1e-12, width: self.width }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn rows_are_normalised_and_rounded_for_the_next_step(case in cases()) {
        // Numbers that are equal but for rounding have no direction that could be compared.
        let spread = |row: &[f32]| row.iter().any(|x| (x - row[0]).abs() > 0.1);
        prop_assume!(case.x.chunks(case.width).all(spread));
        let (norm, stride, rows) = (case.norm(), case.stride(), case.rows());
        let found = on_each_isa(|isa| {
            let mut hidden = case.padded();
            let mut codes = Codes::new(rows + 1, case.width);
            let mut room = vec![[0.0; LANES]; stride / LANES];
            isa.run(NormRows { norm: &norm, hidden: &mut hidden, stride, codes: &mut codes, first: 1, onward: &mut room });
            let (bytes, roundings) = codes.rows(1..rows + 1);
            for (row, rounding) in roundings.iter().enumerate() {
                let codes = bytes[row * codes.stride()..].iter();
                hidden.extend(codes.take(case.width).map(|&code| rounding.step * (f32::from(code) - rounding.zero as f32)));
                hidden.push(rounding.step);
            }
            hidden
        });
        let (hidden, next) = found.split_at(rows * stride);
        for row in 0..rows {
            let next = &next[row * (case.width + 1)..][..=case.width];
            let step = f64::from(next[case.width]);
            for (column, expected) in case.expected(row).into_iter().enumerate() {
                assert_near(hidden[row * stride + column], expected, 1e-4);
                let expected = expected * f64::from(case.factor[column]);
                assert_near(next[column], expected, 0.5001 * step + 1e-3);
            }
            prop_assert!(hidden[row * stride + case.width..][..stride - case.width].iter().all(|&x| x == 0.0));
        }
    }

    #[test]
    fn pooling_gives_a_direction(case in cases()) {
        let (stride, rows) = (case.stride(), case.rows());
        for pooling in [Pooling::Mean, Pooling::Cls] {
            let tokens = if pooling == Pooling::Mean { rows } else { 1 };
            let sums: Vec<f64> = (0..case.width)
                .map(|column| (0..tokens).map(|row| f64::from(case.x[row * case.width + column])).sum())
                .collect();
            let length = sums.iter().map(|sum| sum * sum).sum::<f64>().sqrt();
            prop_assume!(length > 0.1);
            let hidden = case.padded();
            let found = on_each_isa(|isa| {
                let mut vector = vec![0.0; case.width];
                let mut room = vec![[7.0; LANES]; stride / LANES];
                isa.run(Pool { pooling, hidden: &hidden, stride, vector: &mut vector, sums: &mut room });
                vector
            });
            for (found, sum) in found.into_iter().zip(sums) {
                assert_near(found, sum / length, 1e-4);
            }
        }
    }
}
