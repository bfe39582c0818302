//! Bounds against what they bound: no inner product and no score is above its own.

use _native::kernel::centre::Centre;
use _native::kernel::codes::{CODES, CodeLine, Coded, HALF, Sketches, above, below, code_lines_for};
use _native::kernel::encoding::encode;
use _native::kernel::formula::{Block, Formula};
use _native::kernel::lanes::{Line, is_finite, lines_for, pack, pack_query, widen};
use _native::kernel::query::{Grain, Look, QueryCodes, Window};
use _native::kernel::reach::{BLOCK, Hopes, Reach};
use _native::kernel::{Isa, Kernel};
use proptest::collection::vec;
use proptest::prelude::*;

fn kernels() -> Vec<Kernel> {
    Isa::ALL.into_iter().filter(|isa| isa.is_available()).map(Kernel::new).collect()
}

/// Vectors as models make them, and as nobody would: of any finite numbers, subnormal ones, one large component.
fn halves(dimensions: usize) -> impl Strategy<Value = Vec<u16>> {
    let whatever = any::<u16>().prop_filter("finite", |&bits| is_finite(bits));
    let usual = (0x2000u16..0x3000, any::<bool>()).prop_map(|(bits, sign)| bits | u16::from(sign) << 15);
    let tiny = (0u16..0x400, any::<bool>()).prop_map(|(bits, sign)| bits | u16::from(sign) << 15);
    prop_oneof![
        4 => vec(usual.clone(), dimensions),
        1 => vec(whatever, dimensions),
        1 => vec(tiny, dimensions),
        1 => vec(Just(0u16), dimensions),
        1 => (vec(usual, dimensions), 0..dimensions).prop_map(|(mut vector, at)| {
            vector[at] = 0x7bff;
            vector
        }),
    ]
}

fn floats(dimensions: usize) -> impl Strategy<Value = Vec<f32>> {
    let scale = prop_oneof![4 => Just(1f32), 1 => Just(1e30), 1 => Just(1e-30), 1 => Just(1e-42), 1 => Just(0.0)];
    (vec(-1f32..1.0, dimensions), scale).prop_map(|(all, scale)| all.into_iter().map(|x| x * scale).collect())
}

fn dimensions() -> impl Strategy<Value = usize> {
    prop_oneof![1usize..70, Just(127), Just(128), Just(129), Just(384), Just(768), Just(1500)]
}

/// Rows, what they are taken around, and a query, of one dimension around the sizes of lines and registers.
fn spaces() -> impl Strategy<Value = (Vec<Vec<u16>>, Centre, Vec<f32>)> {
    dimensions().prop_flat_map(|dimensions| (rows(dimensions), centres(dimensions), floats(dimensions)))
}

/// More rows than are looked at together where that is worth the time.
fn rows(dimensions: usize) -> impl Strategy<Value = Vec<Vec<u16>>> {
    let most = if dimensions == 384 || dimensions == 768 { 50 } else { 9 };
    vec(halves(dimensions), 0..most)
}

fn centres(dimensions: usize) -> impl Strategy<Value = Centre> {
    let means = vec(halves(dimensions), 1..4).prop_map(|all| {
        let lines: Vec<_> = all.iter().flat_map(|vector| pack(vector)).collect();
        Centre::of(&lines, lines.len() / all.len())
    });
    prop_oneof![1 => Just(()).prop_map(|()| Centre::default()), 3 => means]
}

/// A few coded vectors.
struct Stored {
    lines: Vec<Line>,
    high: Vec<CodeLine>,
    low: Vec<CodeLine>,
    sketches: Sketches,
    norm: f32,
}

impl Stored {
    fn of(rows: &[Vec<u16>], centre: &Centre) -> Self {
        let (high, low, sketches) = (Vec::new(), Vec::new(), Sketches::default());
        let mut stored = Self { lines: Vec::new(), high, low, sketches, norm: above(0.0) };
        for row in rows {
            let lines: Vec<_> = pack(row).collect();
            let empty = vec![CodeLine([0; HALF]); code_lines_for(lines.len())];
            let (mut high, mut low) = (empty.clone(), empty);
            let (sketch, square) = encode(&lines, &centre.lines(lines.len()), &mut high, &mut low);
            stored.norm = stored.norm.max(above(f64::from(square).sqrt() / 2.0));
            stored.lines.extend(lines);
            stored.high.extend(high);
            stored.low.extend(low);
            stored.sketches.push(sketch);
        }
        stored
    }

    fn coded(&self) -> Coded<'_> {
        Coded { high: &self.high, low: &self.low, sketches: &self.sketches, norm: self.norm }
    }

    fn bounds(&self, kernel: &Kernel, query: &QueryCodes, numbers: &[u32], grain: Grain) -> Vec<f32> {
        let mut out = vec![f32::NAN; numbers.len()];
        kernel.bounds(query, &self.coded(), &Look { numbers, grain }, &mut out);
        out
    }

    fn block_bounds(&self, kernel: &Kernel, query: &QueryCodes, window: &Window) -> [f32; BLOCK] {
        let mut out = [f32::NAN; BLOCK];
        kernel.block_bounds(query, &self.coded(), window, &mut out);
        out
    }
}

/// Half-precision bits near a number from -1 to 1, for vectors as models make them.
fn half(x: f32) -> u16 {
    let steps = (x.abs() * f32::from(1u16 << 14)).to_bits();
    // Below 2^-14 nothing is left; above it the exponents' biases differ by 112, and 14 were added.
    let bits = (steps >> 13).saturating_sub((112 + 14) << 10) as u16;
    bits | u16::from(x < 0.0) << 15
}

/// Everything that codes are made of, as bits.
fn bits(coded: &Coded<'_>) -> (Vec<CodeLine>, Vec<CodeLine>, Vec<u32>) {
    let Sketches { scales, nears, coarse, fine } = coded.sketches;
    let floats = [scales, nears, coarse, fine].into_iter().flatten().chain([&coded.norm]);
    (coded.high.to_vec(), coded.low.to_vec(), floats.map(|x| x.to_bits()).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn many_have_the_codes_of_each_on_every_instruction_set(
        rows in dimensions().prop_flat_map(rows),
        times in prop_oneof![Just(1usize), 1usize..80],
    ) {
        let many: Vec<_> = std::iter::repeat_n(&rows, times).flatten().cloned().collect();
        let lines: Vec<_> = many.iter().flat_map(|row| pack(row)).collect();
        let stride = rows.first().map_or(1, |row| lines_for(row.len()));
        for kernel in kernels() {
            let codes = kernel.encoded(&lines, stride);
            prop_assert_eq!(codes.centre().is_origin(), many.len() < 64);
            let each = Stored::of(&many, codes.centre());
            prop_assert_eq!(bits(&codes.coded()), bits(&each.coded()), "{}", kernel.isa());
        }
    }

    #[test]
    fn no_inner_product_is_above_its_bounds((rows, centre, query) in spaces(), backwards in any::<bool>()) {
        let stored = Stored::of(&rows, &centre);
        let mut numbers: Vec<u32> = (0..rows.len() as u32).collect();
        if backwards {
            numbers.reverse();
        }
        let codes = Kernel::new(Isa::Scalar).rounded(&pack_query(&query), &centre);
        for kernel in kernels() {
            prop_assert_eq!(&kernel.rounded(&pack_query(&query), &centre), &codes);
        }
        for grain in [Grain::Coarse, Grain::Fine] {
            let expected = stored.bounds(&Kernel::new(Isa::Scalar), &codes, &numbers, grain);
            for kernel in kernels() {
                let bounds = stored.bounds(&kernel, &codes, &numbers, grain);
                let mut same = bounds.iter().zip(&expected).map(|(a, b)| a.to_bits() == b.to_bits());
                prop_assert!(same.all(|same| same), "{} {grain:?}", kernel.isa());
                let mut dots = vec![f32::NAN; numbers.len()];
                kernel.dots(&pack_query(&query), &stored.lines, &numbers, &mut dots);
                for (bound, dot) in bounds.iter().zip(&dots) {
                    prop_assert!(bound >= dot, "{} {grain:?}: {dot} is above {bound}", kernel.isa());
                }
            }
        }
    }

    #[test]
    fn a_block_has_the_bounds_of_its_rows(
        (few, centre, query) in spaces().prop_filter("some", |(rows, ..)| !rows.is_empty()),
        first in 0usize..9,
        masks in (any::<u64>(), any::<u64>()),
        every in any::<bool>(),
    ) {
        let rows: Vec<_> = few.iter().cycle().take(first + BLOCK).cloned().collect();
        let stored = Stored::of(&rows, &centre);
        let (wanted, next) = if every { (u64::MAX, u64::MAX) } else { masks };
        let window = Window { first, rows: wanted, next };
        let numbers: Vec<u32> = (0..BLOCK).filter(|row| wanted >> row & 1 == 1).map(|row| (first + row) as u32).collect();
        for kernel in kernels() {
            let codes = kernel.rounded(&pack_query(&query), &centre);
            let own = stored.block_bounds(&kernel, &codes, &window);
            for (number, bound) in numbers.iter().zip(stored.bounds(&kernel, &codes, &numbers, Grain::Coarse)) {
                prop_assert_eq!(own[*number as usize - first].to_bits(), bound.to_bits(), "{} {}", kernel.isa(), number);
            }
        }
    }

    #[test]
    fn bounds_are_near_where_vectors_are_of_unit_length(
        (row, centre, query) in (vec(-1f32..1.0, 384), vec(-1f32..1.0, 384), vec(-1f32..1.0, 384)),
    ) {
        let unit = |x: &[f32]| x.iter().map(|v| v / x.iter().map(|v| v * v).sum::<f32>().sqrt()).collect::<Vec<f32>>();
        let [row, query] = [row, query].map(|own| unit(&own.iter().zip(&centre).map(|(x, c)| c + x / 2.0).collect::<Vec<_>>()));
        let halves = |x: &[f32]| x.iter().copied().map(half).collect::<Vec<u16>>();
        let (row, centre) = (halves(&row), Centre::of(&pack(&halves(&unit(&centre))).collect::<Vec<_>>(), 12));
        let stored = Stored::of(std::slice::from_ref(&row), &centre);
        let exact: f64 = row.iter().zip(&query).map(|(&bits, &q)| f64::from(widen(bits)) * f64::from(q)).sum();
        for (grain, most) in [(Grain::Coarse, 0.05), (Grain::Fine, 0.006)] {
            let codes = Kernel::new(Isa::Scalar).rounded(&pack_query(&query), &centre);
            let bound = stored.bounds(&Kernel::new(Isa::Scalar), &codes, &[0], grain)[0];
            prop_assert!((0.0..most).contains(&(f64::from(bound) - exact)), "{grain:?}: {bound} for {exact}");
        }
    }

    #[test]
    fn no_score_is_above_its_bound(
        rows in vec((cosines(), 0f64..100.0, times(), 0f64..=2.0), 1..65),
        shape in shapes(),
        terms in any::<bool>(),
        now in times(),
    ) {
        let formula = Formula { now, ..shape };
        let cosines: Vec<f32> = rows.iter().map(|row| row.0).collect();
        let lexical: Vec<f64> = rows.iter().map(|row| if terms { row.1 } else { 0.0 }).collect();
        let created: Vec<i64> = rows.iter().map(|row| row.2).collect();
        let importances: Vec<f64> = rows.iter().map(|row| row.3).collect();
        let block = Block { cosines: &cosines, lexical: &lexical, created: &created, importances: &importances };
        let mut scores = vec![f64::NAN; rows.len()];
        Kernel::new(Isa::Scalar).scores(&formula, &block, &mut scores);

        let reach = Reach::new(&formula);
        let newest = created.iter().copied().max().unwrap_or_default();
        let ages: Vec<f32> = created.iter().map(|&time| below(newest as f64 - time as f64).max(0.0)).collect();
        let rounded: Vec<f32> = importances.iter().map(|&importance| above(importance)).collect();
        let decay = reach.decay(newest);
        let hopes = Hopes {
            cosines: &cosines,
            lexical: if terms { &lexical } else { &[] },
            ages: &ages,
            importances: &rounded,
            decay,
        };
        let most = reach.most(lexical.iter().copied().fold(0.0, f64::max), decay, rounded.iter().copied().fold(0.0, f32::max));
        for (row, &score) in scores.iter().enumerate() {
            prop_assert!(f64::from(most) >= score, "{score} is above {most}");
            for kernel in kernels() {
                let (reaching, bounds) = self::reaching(&kernel, &reach, &hopes, below(score));
                prop_assert!(reaching >> row & 1 == 1, "{}: row {row} has {score}", kernel.isa());
                prop_assert!(f64::from(bounds[row]) >= score, "{}: {score} is above {}", kernel.isa(), bounds[row]);
                prop_assert_eq!((reaching, bounds), self::reaching(&Kernel::new(Isa::Scalar), &reach, &hopes, below(score)));
            }
        }
        let above_all = scores.iter().copied().fold(0.0, f64::max) + 1.0;
        prop_assert!(most > 2.1 || reaching(&Kernel::new(Isa::best()), &reach, &hopes, above_all as f32 + 1.2).0 == 0);
    }
}

fn reaching(kernel: &Kernel, reach: &Reach, hopes: &Hopes<'_>, bar: f32) -> (u64, [f32; BLOCK]) {
    let mut bounds = [f32::NAN; BLOCK];
    (kernel.reaching(reach, hopes, bar, &mut bounds), bounds)
}

fn cosines() -> impl Strategy<Value = f32> {
    prop_oneof![6 => -1.1f32..1.1, 1 => Just(f32::NEG_INFINITY), 1 => -1e37f32..1e37, 1 => Just(0.0)]
}

/// Usual ones, some of the future, some beyond what double precision holds to the microsecond.
fn times() -> impl Strategy<Value = i64> {
    const NOW: i64 = 1_760_000_000_000_000;
    const YEAR: i64 = 31_536_000_000_000;
    prop_oneof![4 => NOW - 3 * YEAR..NOW + YEAR / 12, 2 => NOW - 1_000_000..NOW + 1_000_000, 1 => any::<i64>(), 1 => Just(NOW)]
}

fn shapes() -> impl Strategy<Value = Formula> {
    let alpha = prop_oneof![0f64..=1.0, Just(0.0), Just(1.0)];
    let floor = prop_oneof![3 => Just(0.7), 2 => -1f64..1.0, 1 => -1e9f64..1e9, 1 => Just(0.0)];
    let range = prop_oneof![3 => Just(0.25), 1 => 1e-6f64..2.0, 1 => Just(f64::MIN_POSITIVE), 1 => Just(1e300)];
    let half_life = prop_oneof![4 => 1e9f64..1e14, 1 => Just(1e-300), 1 => 1e-3f64..1e7, 1 => Just(8.64e19)];
    let share = prop_oneof![Just((1.0, 0.0)), Just((0.5, 0.5)), Just((0.0, 1.0))];
    (alpha, 0f64..=1.0, floor, range, half_life, share).prop_filter_map(
        "a range",
        |(alpha, weight, floor, range, half_life, share)| {
            let ceiling = floor + range;
            (ceiling - floor > 0.0).then_some(Formula {
                alpha,
                importance_weight: weight,
                floor,
                ceiling,
                semantic_share: share.0,
                keyword_share: share.1,
                now: 0,
                half_life,
            })
        },
    )
}

#[test]
fn lines_of_codes_hold_four_lines_of_components() {
    for dimensions in [1, 32, 33, 64, 65, 384] {
        assert_eq!(code_lines_for(lines_for(dimensions)), dimensions.div_ceil(CODES));
    }
}
