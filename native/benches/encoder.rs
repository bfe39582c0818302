//! The encoder on the packaged model, one thread. Run with `cargo bench -p memex-native --bench encoder`.

#![allow(missing_docs)] // criterion's macro makes a public function

use std::hint::black_box;
use std::path::Path;

use _native::encoder::{Encoder, Isa, Pooling};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

const WEIGHTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../memex/embedder/models/e5-small-v2/model.safetensors");

/// Tokens such as any text may become.
fn texts(count: usize, tokens: usize) -> Vec<Vec<u32>> {
    (0..count)
        .map(|text| (0..tokens).map(|place| (1000 + 7919 * (text * tokens + place) as u32) % 30_000).collect())
        .collect()
}

fn encoding(criterion: &mut Criterion) {
    let isa = Isa::best();
    let encoder = Encoder::open(Path::new(WEIGHTS), Pooling::Mean, isa).expect("the packaged weights");
    let mut group = criterion.benchmark_group(format!("encoder/{isa}"));
    for (tokens, batch) in [(8, 1), (13, 1), (13, 32), (32, 1), (32, 32), (128, 1), (128, 8)] {
        let texts = texts(batch, tokens);
        group.throughput(Throughput::Elements(batch as u64));
        group.bench_function(BenchmarkId::new(format!("{tokens} tokens"), batch), |bencher| {
            bencher.iter(|| encoder.encode(black_box(&texts)));
        });
    }
    group.finish();
}

criterion_group!(benches, encoding);
criterion_main!(benches);
