//! How long a ranking takes, by number of rows and instruction set. Run with `cargo bench`.

#![allow(missing_docs)] // criterion's macro makes a public function

use std::hint::black_box;

use _native::index::SpaceIndex;
use _native::index::filters::Filters;
use _native::index::request::{Mode, Request};
use _native::index::row::{MemoryType, NEVER, Row, State, Visibility};
use _native::index::scope::Scope;
use _native::kernel::Isa;
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};

const DIMENSIONS: usize = 384;

/// A fixed sequence of numbers that look random.
fn noise(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    }
}

fn row(number: usize, next: &mut impl FnMut() -> u64) -> Row {
    // Half-precision bits of ±0.03 to ±0.06: about unit length over 384 components.
    let vector = (0..DIMENSIONS).map(|_| 0x27ae + (next() % 0x400) as u16 + ((next() & 1) as u16) * 0x8000);
    let vectors = vec![vector.collect()];
    let mut terms: Vec<i32> = (0..20).map(|_| (next() % 5000) as i32).collect();
    terms.sort_unstable();
    terms.dedup();
    Row {
        id: number as u128,
        agent: "agent".into(),
        memory_type: MemoryType::Episodic,
        visibility: Visibility::Private,
        state: State::Active,
        tags: Vec::new(),
        session_id: None,
        source: None,
        text: number as u128,
        importance: 1.0,
        created: i64::from(next() as u32 % 31_536_000) * 1_000_000,
        expires: NEVER,
        counts: vec![1; terms.len()],
        terms,
        vectors,
    }
}

fn request(mode: Mode) -> Request {
    let mut next = noise(7);
    Request {
        scope: Scope { agent: "agent".into(), others: Some(Vec::new()) },
        mode,
        vector: Some((0..DIMENSIONS).map(|_| (next() % 1000) as f32 / 10_000.0 - 0.05).collect()),
        terms: (0..8).map(|term| term * 7).collect(),
        counts: vec![1; 8],
        k: 10,
        alpha: 0.7,
        half_life_days: 30.0,
        importance_weight: 0.1,
        floor: 0.0,
        ceiling: 1.0,
        min_score: None,
        filters: Filters::default(),
        now: 31_536_000_000_000,
        collapse: true,
        include_archived: false,
    }
}

fn ranking(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("ranking");
    for rows in [1_000, 10_000, 100_000] {
        for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
            let index = SpaceIndex::new(DIMENSIONS, isa).expect("dimensions are in range");
            let mut next = noise(1);
            index.apply((0..rows).map(|number| row(number, &mut next)).collect(), &[]).expect("rows are sound");
            for mode in [Mode::Semantic, Mode::Hybrid] {
                let request = [request(mode)];
                let name = BenchmarkId::new(format!("{mode:?}/{isa}"), rows);
                group.bench_function(name, |bencher| bencher.iter(|| index.rank(black_box(&request))));
            }
        }
    }
    group.finish();
}

criterion_group!(benches, ranking);
criterion_main!(benches);
