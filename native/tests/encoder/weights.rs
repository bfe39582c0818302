//! Weights files of any shape, with random numbers.

use std::collections::HashMap;

use safetensors::Dtype;
use safetensors::tensor::{TensorView, serialize};

/// The sizes of a model.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub vocabulary: usize,
    pub window: usize,
    pub heads: usize,
    /// Of a head.
    pub size: usize,
    pub width: usize,
    pub layers: usize,
}

/// A small model of sizes that fill no register.
pub const SMALL: Shape = Shape { vocabulary: 37, window: 21, heads: 3, size: 10, width: 45, layers: 2 };

/// One tensor: its type, its shape, its bytes.
pub type Tensor = (Dtype, Vec<usize>, Vec<u8>);

/// What a file is made of.
#[derive(Debug, Clone)]
pub struct Parts {
    pub facts: HashMap<String, String>,
    pub tensors: HashMap<String, Tensor>,
}

impl Parts {
    /// The file.
    pub fn bytes(&self) -> Vec<u8> {
        let views = self.tensors.iter().map(|(name, (dtype, shape, bytes))| {
            (name, TensorView::new(*dtype, shape.clone(), bytes).expect("bytes fit the shape"))
        });
        serialize(views, Some(self.facts.clone().into_iter().collect())).expect("a header")
    }
}

/// Random parts; the same seed gives the same.
pub fn parts(shape: Shape, seed: u64) -> Parts {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u32 << 24) as f32
    };
    let mut tensors = HashMap::new();
    let mut codes = |name: String, rows: usize, columns: usize| {
        let bytes =
            (0..rows * columns).map(|_| (next() * 254.0 - 127.0).round() as i8).map(i8::cast_unsigned).collect();
        tensors.insert(name, (Dtype::I8, vec![rows, columns], bytes));
    };
    let dimensions = shape.heads * shape.size;
    codes("embeddings.words".into(), shape.vocabulary, dimensions);
    codes("embeddings.positions".into(), shape.window, dimensions);
    let steps = [
        ("qkv", dimensions, 3 * dimensions),
        ("attention_out", dimensions, dimensions),
        ("feed_in", dimensions, shape.width),
        ("feed_out", shape.width, dimensions),
    ];
    for (layer, (name, inputs, outputs)) in (0..shape.layers).flat_map(|layer| steps.map(|step| (layer, step))) {
        codes(format!("layers.{layer}.{name}.weight"), inputs, outputs);
    }
    let mut floats = |name: String, length: usize, low: f32, high: f32| {
        let bytes = (0..length).flat_map(|_| (low + (high - low) * next()).to_le_bytes()).collect();
        tensors.insert(name, (Dtype::F32, vec![length], bytes));
    };
    floats("embeddings.words.scale".into(), shape.vocabulary, 0.005, 0.01);
    floats("embeddings.positions.scale".into(), shape.window, 0.001, 0.002);
    let mut norms = vec!["embeddings.norm".to_owned()];
    for layer in 0..shape.layers {
        for (name, inputs, outputs) in steps {
            let scale = 0.02 / (inputs as f32).sqrt();
            floats(format!("layers.{layer}.{name}.scale"), outputs, 0.5 * scale, scale);
            floats(format!("layers.{layer}.{name}.bias"), outputs, -0.1, 0.1);
        }
        floats(format!("layers.{layer}.qkv.input_scale"), dimensions, 0.5, 2.0);
        floats(format!("layers.{layer}.feed_in.input_scale"), dimensions, 0.5, 2.0);
        norms.extend([format!("layers.{layer}.attention_norm"), format!("layers.{layer}.feed_norm")]);
    }
    for norm in norms {
        floats(format!("{norm}.gamma"), dimensions, 0.5, 1.5);
        floats(format!("{norm}.beta"), dimensions, -0.5, 0.5);
    }
    let facts = [
        ("layout", "memex-encoder-1".to_owned()),
        ("layers", shape.layers.to_string()),
        ("heads", shape.heads.to_string()),
        ("epsilon", "1e-12".to_owned()),
    ];
    let facts = facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Parts { facts, tensors }
}
