//! Each instruction set against the scalar path.
//!
//! Inner products may differ by the rounding of single precision: by at most 2^-20 of the sum of the
//! products' magnitudes (some 400 additions). Scores must be the same bits.

use _native::kernel::formula::{Block, Formula};
use _native::kernel::lanes::{Line, is_finite, pack, pack_query, widen};
use _native::kernel::{Isa, Kernel};
use proptest::collection::vec;
use proptest::prelude::*;

const TOLERANCE: f64 = 1.0 / (1 << 20) as f64;

fn kernels() -> Vec<Kernel> {
    Isa::ALL.into_iter().filter(|isa| isa.is_available()).map(Kernel::new).collect()
}

/// Finite half-precision bits, subnormal ones, zeros and the largest included.
fn halves(dimensions: usize) -> impl Strategy<Value = Vec<u16>> {
    let whatever = any::<u16>().prop_filter("finite", |&bits| is_finite(bits));
    let usual = (0x2000u16..0x3c00, any::<bool>()).prop_map(|(bits, sign)| bits | u16::from(sign) << 15);
    vec(prop_oneof![4 => usual, 1 => whatever, 1 => 0u16..0x400, 1 => Just(0x8000u16)], dimensions)
}

fn floats(dimensions: usize) -> impl Strategy<Value = Vec<f32>> {
    vec(prop_oneof![4 => -1f32..1.0, 1 => Just(0f32), 1 => Just(f32::from_bits(1)), 1 => -1e30f32..1e30], dimensions)
}

/// Rows and a query of one dimension, around the sizes of lines and registers.
fn spaces() -> impl Strategy<Value = (Vec<Vec<u16>>, Vec<f32>)> {
    let dimensions = prop_oneof![1usize..70, Just(127), Just(128), Just(129), Just(384), Just(1000)];
    dimensions.prop_flat_map(|dimensions| (vec(halves(dimensions), 0..9), floats(dimensions)))
}

fn dots(kernel: &Kernel, rows: &[Vec<u16>], query: &[f32]) -> Vec<f32> {
    let lines: Vec<Line> = rows.iter().flat_map(|row| pack(row)).collect();
    let numbers: Vec<u32> = (0..rows.len() as u32).collect();
    let mut out = vec![f32::NAN; rows.len()];
    kernel.dots(&pack_query(query), &lines, &numbers, &mut out);
    out
}

fn exact(row: &[u16], query: &[f32]) -> (f64, f64) {
    let products = row.iter().zip(query).map(|(&bits, &q)| f64::from(widen(bits)) * f64::from(q));
    products.fold((0.0, 0.0), |(sum, size), product| (sum + product, size + product.abs()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn inner_products_are_right((rows, query) in spaces()) {
        for kernel in kernels() {
            for (dot, row) in dots(&kernel, &rows, &query).into_iter().zip(&rows) {
                let (sum, size) = exact(row, &query);
                // Below the smallest normal number errors are absolute.
                let bound = size * TOLERANCE + f64::from(f32::MIN_POSITIVE) * 1e-3;
                prop_assert!((f64::from(dot) - sum).abs() <= bound, "{}: {dot} for {sum}", kernel.isa());
            }
        }
    }

    #[test]
    fn a_row_alone_is_a_row_among_others((rows, query) in spaces()) {
        for kernel in kernels() {
            let together = dots(&kernel, &rows, &query);
            for (row, dot) in rows.iter().zip(together) {
                prop_assert_eq!(dots(&kernel, std::slice::from_ref(row), &query)[0].to_bits(), dot.to_bits());
            }
        }
    }

    #[test]
    fn scores_have_the_same_bits_everywhere(
        rows in vec((prop_oneof![-1.1f32..1.1, Just(f32::NEG_INFINITY)], 0f64..100.0, any::<i64>(), 0f64..2.0), 0..70),
        alpha in 0f64..=1.0,
        half_life in 1e-3f64..1e18,
        now in any::<i64>(),
    ) {
        let formula = Formula {
            alpha, importance_weight: 0.1, floor: 0.7, ceiling: 0.95, semantic_share: 0.5, keyword_share: 0.5, now, half_life,
        };
        let cosines: Vec<_> = rows.iter().map(|row| row.0).collect();
        let lexical: Vec<_> = rows.iter().map(|row| row.1).collect();
        let created: Vec<_> = rows.iter().map(|row| row.2).collect();
        let importances: Vec<_> = rows.iter().map(|row| row.3).collect();
        let block = Block { cosines: &cosines, lexical: &lexical, created: &created, importances: &importances };
        let mut expected = vec![f64::NAN; rows.len()];
        Kernel::new(Isa::Scalar).scores(&formula, &block, &mut expected);
        prop_assert!(expected.iter().all(|score| (0.0..=1.1).contains(score)));
        for kernel in kernels() {
            let mut found = vec![f64::NAN; rows.len()];
            kernel.scores(&formula, &block, &mut found);
            prop_assert!(found.iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits()));
        }
    }
}

#[test]
fn the_scalar_path_and_the_best_one_are_available() {
    assert!(Isa::Scalar.is_available() && Isa::best().is_available());
    assert_eq!("auto".parse(), Ok(Isa::best()));
}
