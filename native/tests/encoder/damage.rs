//! Files that are not what they should be.

use _native::encoder::{Encoder, Isa, Pooling};
use proptest::prelude::*;
use safetensors::Dtype;

use crate::weights::{Parts, SMALL, parts};

/// Opens what may be a weights file and, where it is taken for one, runs it.
fn try_out(bytes: &[u8]) -> Result<Vec<f32>, String> {
    let encoder = Encoder::new(bytes, Pooling::Mean, Isa::best()).map_err(|fault| fault.to_string())?;
    let text: Vec<u32> = (0..encoder.window().min(encoder.vocabulary()) as u32).collect();
    encoder.encode(&[text]).map_err(|fault| fault.to_string())
}

fn refused(change: impl FnOnce(&mut Parts)) -> String {
    let mut sound = parts(SMALL, 1);
    change(&mut sound);
    try_out(&sound.bytes()).expect_err("a fault")
}

/// Bytes that begin with a header of this text, and have nothing after it.
fn with_header(header: &str) -> Vec<u8> {
    [(header.len() as u64).to_le_bytes().as_slice(), header.as_bytes()].concat()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_file_that_was_cut_is_refused(share in 0f64..1.0) {
        let bytes = parts(SMALL, 1).bytes();
        let length = (share * bytes.len() as f64) as usize;
        prop_assert!(try_out(&bytes[..length]).is_err());
    }

    #[test]
    fn flipped_bits_are_refused_or_give_other_vectors(places in prop::collection::vec((0f64..1.0, 0u32..8), 1..4)) {
        let mut bytes = parts(SMALL, 1).bytes();
        // Half of the places are in the header, where there is more to break.
        let header = bytes.len().min(4000);
        for (number, (share, bit)) in places.into_iter().enumerate() {
            let within = if number % 2 == 0 { header } else { bytes.len() };
            bytes[(share * within as f64) as usize] ^= 1 << bit;
        }
        // Not to panic, to hang or to read elsewhere is all that can be asked.
        let _either = try_out(&bytes);
    }

    #[test]
    fn any_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(try_out(&bytes).is_err());
    }
}

#[test]
fn headers_that_promise_too_much_are_refused() {
    for header in [u64::MAX, 1 << 60, 100_000_001, 1000] {
        let bytes = [header.to_le_bytes().as_slice(), b"{}"].concat();
        assert!(try_out(&bytes).expect_err("a fault").starts_with("is not a safetensors file"));
    }
    let far = r#"{"a":{"dtype":"I8","shape":[4611686018427387904,4],"data_offsets":[0,18446744073709551615]}}"#;
    assert!(try_out(&with_header(far)).expect_err("a fault").starts_with("is not a safetensors file"));
    assert!(try_out(&with_header("{}")).expect_err("a fault").contains("layout"));
}

#[test]
fn each_missing_tensor_is_named() {
    for name in parts(SMALL, 1).tensors.into_keys() {
        let fault = refused(|parts| drop(parts.tensors.remove(&name)));
        assert_eq!(fault, format!("has no {name}"));
    }
}

#[test]
fn tensors_of_another_type_or_shape_are_named() {
    for name in parts(SMALL, 1).tensors.into_keys() {
        let fault = refused(|parts| {
            let (dtype, _, _) = parts.tensors.get_mut(&name).expect("a tensor");
            *dtype = if *dtype == Dtype::I8 { Dtype::U8 } else { Dtype::I32 };
        });
        assert!(fault.contains(&name), "{fault}");
        // A matrix with its sides changed contradicts the others.
        let fault = refused(|parts| {
            let (_, shape, _) = parts.tensors.get_mut(&name).expect("a tensor");
            shape.reverse();
            if shape.len() == 1 || shape[0] == shape[1] {
                shape.push(1);
            }
        });
        assert!(fault.starts_with("has "), "{name}: {fault}");
    }
}

#[test]
fn numbers_that_are_none_are_named() {
    for (name, (dtype, _, _)) in parts(SMALL, 1).tensors {
        for number in [f32::NAN, f32::INFINITY] {
            if dtype == Dtype::F32 {
                let fault = refused(|parts| {
                    let (_, _, bytes) = parts.tensors.get_mut(&name).expect("a tensor");
                    bytes[4..8].copy_from_slice(&number.to_le_bytes());
                });
                assert_eq!(fault, format!("has numbers in {name} that are none"));
            }
        }
    }
}

#[test]
fn facts_that_cannot_be_are_refused() {
    let faults = [
        ("layout", "memex-encoder-2"),
        ("layers", "0"),
        ("layers", "3"),
        ("layers", "18446744073709551615"),
        ("layers", "two"),
        ("heads", "0"),
        ("heads", "7"),
        ("heads", "-1"),
        ("epsilon", "0"),
        ("epsilon", "-1e-12"),
        ("epsilon", "inf"),
        ("epsilon", "NaN"),
    ];
    for (name, value) in faults {
        let fault = refused(|parts| drop(parts.facts.insert(name.into(), value.into())));
        assert!(fault.starts_with("has ") || fault.starts_with("does not say"), "{name} {value}: {fault}");
    }
    for name in ["layout", "layers", "heads", "epsilon"] {
        assert_eq!(refused(|parts| drop(parts.facts.remove(name))), format!("does not say its {name}"));
    }
}

/// What is said of a file whose matrix `name` has this shape, all else being sound.
fn with_shape(name: &str, shape: [usize; 2], heads: &str) -> String {
    refused(|parts| {
        let bytes = vec![1; shape[0] * shape[1]];
        parts.tensors.insert(name.into(), (Dtype::I8, shape.to_vec(), bytes));
        parts.facts.insert("heads".into(), heads.into());
    })
}

#[test]
fn sizes_beyond_the_bounds_are_refused_before_anything_is_packed() {
    let (words, positions, feed_in) = ("embeddings.words", "embeddings.positions", "layers.0.feed_in.weight");
    let cases = [
        (words, [1, 4096], [1, 4097], "1", "has 4097 dimensions, not 1 to 4096"),
        (words, [1, 1], [1, 0], "1", "has 0 dimensions, not 1 to 4096"),
        (words, [1, 30], [0, 30], "3", "has no words or no layers"),
        (words, [1, 64], [1, 130], "65", "has 65 heads, not 1 to 64"),
        (positions, [8192, 30], [8193, 30], "3", "has a window of 8193, not 1 to 8192"),
        (positions, [1, 30], [0, 30], "3", "has a window of 0, not 1 to 8192"),
        (feed_in, [1, 65_536], [1, 65_537], "3", "has a width of 65537, not 1 to 65536"),
        (feed_in, [1, 1], [1, 0], "3", "has a width of 0, not 1 to 65536"),
    ];
    for (name, most, beyond, heads, fault) in cases {
        assert_eq!(with_shape(name, beyond, heads), fault);
        // At the bound the size itself is taken; what is wrong then is that the other tensors do not fit it.
        let heads = if heads == "65" { "64" } else { heads };
        let other = with_shape(name, most, heads);
        assert!(other.starts_with("has ") && other.contains(" of "), "{name} {most:?}: {other}");
    }
}

#[test]
fn numbers_that_overflow_are_seen_in_the_vector() {
    for name in ["embeddings.norm.gamma", "layers.0.qkv.scale", "layers.0.feed_in.bias", "layers.1.attention_out.scale"]
    {
        let mut huge = parts(SMALL, 1);
        let (_, _, bytes) = huge.tensors.get_mut(name).expect("a tensor");
        for four in bytes.chunks_mut(4) {
            four.copy_from_slice(&3e38f32.to_le_bytes());
        }
        for pooling in [Pooling::Mean, Pooling::Cls] {
            for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
                let encoder = Encoder::new(&huge.bytes(), pooling, isa).expect("finite numbers");
                let vector = encoder.encode(&[[1, 2, 3, 4, 5]]).expect("sound ids");
                assert!(vector.iter().any(|component| !component.is_finite()), "{name} on {isa}");
            }
        }
    }
}

#[test]
fn a_file_that_is_not_there_is_a_fault() {
    let fault = Encoder::open("no such folder/model.safetensors".as_ref(), Pooling::Mean, Isa::Scalar);
    assert!(fault.expect_err("a fault").to_string().starts_with("cannot be read"));
}
