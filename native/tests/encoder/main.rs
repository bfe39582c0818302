//! The encoder from outside: the same bits everywhere, and nothing that a caller or a file holds brings it down.

#![allow(clippy::cast_sign_loss)] // of random bytes

mod damage;
mod weights;

use std::thread;

use _native::encoder::{Encoder, Isa, Pooling};
use _native::panics::{Panicked, caught};
use proptest::collection::vec;
use proptest::prelude::*;
use weights::{SMALL, Shape, parts};

fn open(shape: Shape, seed: u64, pooling: Pooling, isa: Isa) -> Encoder {
    Encoder::new(&parts(shape, seed).bytes(), pooling, isa).expect("a sound file")
}

fn bits(vectors: &[f32]) -> Vec<u32> {
    vectors.iter().map(|component| component.to_bits()).collect()
}

fn shapes() -> impl Strategy<Value = Shape> {
    let size = prop_oneof![1usize..34, Just(48), Just(64)];
    (1usize..5, size, prop_oneof![1usize..70, Just(128)], 1usize..3, 1usize..150)
        .prop_map(|(heads, size, width, layers, window)| Shape { vocabulary: 19, window, heads, size, width, layers })
}

/// Texts that the model takes.
fn texts(shape: Shape, most: usize) -> impl Strategy<Value = Vec<Vec<u32>>> {
    vec(vec(0..shape.vocabulary as u32, 1..=shape.window), 1..=most)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_instruction_set_gives_the_same_bits(
        (shape, texts) in shapes().prop_flat_map(|shape| (Just(shape), texts(shape, 3))), seed: u64,
    ) {
        for pooling in [Pooling::Mean, Pooling::Cls] {
            let expected = open(shape, seed, pooling, Isa::Scalar).encode(&texts).expect("sound ids");
            prop_assert!(expected.iter().all(|component| component.is_finite()));
            for vector in expected.chunks(shape.heads * shape.size) {
                let length: f32 = vector.iter().map(|component| component * component).sum();
                prop_assert!((length - 1.0).abs() < 1e-5);
            }
            if Isa::Avx512Vnni.is_available() {
                let found = open(shape, seed, pooling, Isa::Avx512Vnni).encode(&texts).expect("sound ids");
                prop_assert_eq!(bits(&found), bits(&expected));
            } else {
                eprintln!("skipped: this machine cannot run isa {}", Isa::Avx512Vnni);
            }
        }
    }

    #[test]
    fn a_vector_does_not_depend_on_its_neighbours(
        (shape, texts) in shapes().prop_flat_map(|shape| (Just(shape), texts(shape, 40))), seed: u64,
    ) {
        let encoder = open(shape, seed, Pooling::Mean, Isa::best());
        let dimensions = encoder.dimensions();
        let together = encoder.encode(&texts).expect("sound ids");
        let reversed: Vec<_> = texts.iter().rev().collect();
        let reversed = encoder.encode(&reversed).expect("sound ids");
        for (number, text) in texts.iter().enumerate() {
            let alone = encoder.encode(std::slice::from_ref(text)).expect("sound ids");
            prop_assert_eq!(bits(&alone), bits(&together[number * dimensions..][..dimensions]));
            let place = (texts.len() - 1 - number) * dimensions;
            prop_assert_eq!(bits(&alone), bits(&reversed[place..][..dimensions]));
        }
    }

    #[test]
    fn wrong_texts_are_refused_and_change_nothing(batch in vec(vec(0u32..40, 0..24), 0..6), far: bool) {
        let encoder = open(SMALL, 3, Pooling::Mean, Isa::best());
        let mut batch = batch;
        if far && let Some(id) = batch.iter_mut().flatten().last() {
            *id = u32::MAX;
        }
        let before = encoder.encode(&[[1, 2]]).expect("sound ids");
        let sound = |text: &Vec<u32>| {
            (1..=SMALL.window).contains(&text.len()) && text.iter().all(|&id| (id as usize) < SMALL.vocabulary)
        };
        match encoder.encode(&batch) {
            Ok(vectors) => {
                prop_assert!(!batch.is_empty() && batch.iter().all(sound));
                prop_assert_eq!(vectors.len(), batch.len() * encoder.dimensions());
            }
            Err(fault) => {
                prop_assert!(batch.is_empty() || !batch.iter().all(sound));
                let start = if batch.is_empty() { "a batch" } else { "text " };
                prop_assert!(fault.to_string().starts_with(start));
            }
        }
        prop_assert_eq!(encoder.encode(&[[1, 2]]).expect("sound ids"), before);
    }
}

#[test]
fn threads_share_an_encoder() {
    let encoder = open(SMALL, 5, Pooling::Mean, Isa::best());
    let texts: Vec<Vec<u32>> = (1..=SMALL.window as u32).map(|length| (0..length).collect()).collect();
    let expected = encoder.encode(&texts).expect("sound ids");
    thread::scope(|scope| {
        let run = || (0..20).all(|_| encoder.encode(&texts).expect("sound ids") == expected);
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(run)).collect();
        assert!(threads.into_iter().all(|thread| thread.join().expect("no panic")));
    });
}

/// Ids that cannot be had.
struct Unreadable;

impl AsRef<[u32]> for Unreadable {
    fn as_ref(&self) -> &[u32] {
        panic!("no ids")
    }
}

#[test]
fn a_panic_inside_a_call_is_caught_and_the_next_call_works() {
    let encoder = open(SMALL, 5, Pooling::Mean, Isa::best());
    let before = encoder.encode(&[[1, 2, 3]]).expect("sound ids");
    for _ in 0..3 {
        assert_eq!(caught(|| encoder.encode(&[Unreadable])), Err(Panicked));
        assert_eq!(caught(|| encoder.encode(&[[1, 2, 3]])), Ok(Ok(before.clone())));
    }
}

#[test]
fn long_and_short_texts_share_a_batch() {
    let shape = Shape { window: 300, ..SMALL };
    let encoder = open(shape, 7, Pooling::Cls, Isa::best());
    let lengths = [300, 1, 299, 223, 1, 224, 225, 111, 113, 112, 15, 16, 17, 14, 13];
    let texts: Vec<Vec<u32>> =
        lengths.iter().map(|&length| (0..length).map(|place| place * 7 % shape.vocabulary as u32).collect()).collect();
    let together = encoder.encode(&texts).expect("sound ids");
    let alone: Vec<f32> = texts.iter().flat_map(|text| encoder.encode(&[text]).expect("sound ids")).collect();
    assert_eq!(bits(&together), bits(&alone));
}

#[test]
fn sizes_are_told() {
    let encoder = open(SMALL, 1, Pooling::Mean, Isa::Scalar);
    assert_eq!((encoder.dimensions(), encoder.window(), encoder.vocabulary()), (30, 21, 37));
    assert_eq!(encoder.isa(), Isa::Scalar);
    let weights = 2 * (32 * 96 * 3 + 32 * 32 + 32 * 64 + 48 * 32);
    assert!((weights..2 * weights).contains(&encoder.bytes()), "{}", encoder.bytes());
    assert!((100_000..1_000_000).contains(&encoder.stream_bytes()), "{}", encoder.stream_bytes());
}

#[test]
fn names_are_read_and_others_refused() {
    assert_eq!("auto".parse::<Isa>(), Ok(Isa::best()));
    assert_eq!("scalar".parse::<Isa>(), Ok(Isa::Scalar));
    assert_eq!("avx512vnni".parse::<Isa>().is_ok(), Isa::Avx512Vnni.is_available());
    assert!("avx2".parse::<Isa>().is_err() && "".parse::<Isa>().is_err());
    assert_eq!("cls".parse::<Pooling>(), Ok(Pooling::Cls));
    assert!("max".parse::<Pooling>().is_err());
}
