//! A model in memory, packed for the kernel.

mod file;
pub(super) mod packing;

use std::f32::consts::LOG2_E;

use crate::encoder::kernel::tile::COLUMNS;
use crate::encoder::layers::attention::Heads;
use crate::encoder::layers::embedding::Table;
use crate::encoder::layers::linear::Linear;
use crate::encoder::layers::norm::{Affine, Norm};
use crate::error::{Fault, require};
use file::WeightsFile;
use packing::Plain;

/// Most dimensions, as of a memory's vector.
const MOST_DIMENSIONS: usize = 4096;
/// Widest feed-forward step: a sum of so many products of 8-bit numbers still fits in 32 bits.
const WIDEST: usize = 1 << 16;
/// Longest window.
const LONGEST: usize = 1 << 13;
/// With the other bounds, a stream has less than 1 GiB.
const MOST_HEADS: usize = 64;

/// The sizes of a model.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    pub vocabulary: usize,
    pub window: usize,
    pub dimensions: usize,
    /// Inside the feed-forward step.
    pub width: usize,
    pub layers: usize,
    pub heads: Heads,
    /// Of all layer normalisations.
    pub epsilon: f32,
}

/// A BERT-like encoder.
#[derive(Debug)]
pub(super) struct Model {
    pub sizes: Sizes,
    pub words: Table,
    pub positions: Table,
    pub norm: Norm,
    pub layers: Vec<Layer>,
}

/// One layer, normalised after each residual.
#[derive(Debug)]
pub(super) struct Layer {
    pub qkv: Linear,
    pub attention_out: Linear,
    pub attention_norm: Norm,
    pub feed_in: Linear,
    pub feed_out: Linear,
    pub feed_norm: Norm,
}

impl Model {
    /// Packs what a weights file holds. The message of a fault is what is wrong with the file.
    pub fn new(bytes: &[u8]) -> Result<Self, Fault> {
        let file = WeightsFile::parse(bytes)?;
        let sizes = Sizes::of(&file)?;
        let source = Source { file: &file, sizes };
        let mut layers = (0..sizes.layers).map(|number| source.layer(number)).collect::<Result<Vec<_>, _>>()?;
        Linear::gather(&mut layers.iter_mut().flat_map(Layer::linears).collect::<Vec<_>>());
        Ok(Self {
            words: source.table("embeddings.words", sizes.vocabulary)?,
            positions: source.table("embeddings.positions", sizes.window)?,
            norm: source.norm("embeddings.norm", Some("layers.0.qkv"))?,
            layers,
            sizes,
        })
    }

    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        let layers: usize = self.layers.iter().map(Layer::bytes).sum();
        self.words.bytes() + self.positions.bytes() + self.norm.bytes() + layers
    }
}

impl Layer {
    /// In the order of a pass.
    fn linears(&mut self) -> [&mut Linear; 4] {
        [&mut self.qkv, &mut self.attention_out, &mut self.feed_in, &mut self.feed_out]
    }

    fn bytes(&self) -> usize {
        let linear = [&self.qkv, &self.attention_out, &self.feed_in, &self.feed_out].map(Linear::bytes);
        let norms = [&self.attention_norm, &self.feed_norm].map(Norm::bytes);
        linear.iter().sum::<usize>() + norms.iter().sum::<usize>()
    }
}

impl Sizes {
    fn of(file: &WeightsFile<'_>) -> Result<Self, Fault> {
        let (vocabulary, dimensions) = file.shape("embeddings.words")?;
        let (window, _) = file.shape("embeddings.positions")?;
        let (_, width) = file.shape("layers.0.feed_in.weight")?;
        let (layers, heads, epsilon) = (file.fact("layers")?, file.fact::<usize>("heads")?, file.fact("epsilon")?);
        require((1..=MOST_DIMENSIONS).contains(&dimensions), || {
            format!("has {dimensions} dimensions, not 1 to {MOST_DIMENSIONS}")
        })?;
        require((1..=WIDEST).contains(&width), || format!("has a width of {width}, not 1 to {WIDEST}"))?;
        require((1..=LONGEST).contains(&window), || format!("has a window of {window}, not 1 to {LONGEST}"))?;
        require(vocabulary > 0 && layers > 0, || "has no words or no layers".into())?;
        require(heads > 0 && dimensions % heads == 0, || format!("has {heads} heads for {dimensions} dimensions"))?;
        require(epsilon > 0.0 && f32::is_finite(epsilon), || format!("has an epsilon of {epsilon}"))?;
        require(heads <= MOST_HEADS, || format!("has {heads} heads, not 1 to {MOST_HEADS}"))?;
        let heads = Heads { count: heads, size: dimensions / heads };
        Ok(Self { vocabulary, window, dimensions, width, layers, heads, epsilon })
    }
}

/// A file and what is known of it.
struct Source<'a> {
    file: &'a WeightsFile<'a>,
    sizes: Sizes,
}

impl Source<'_> {
    fn table(&self, name: &str, rows: usize) -> Result<Table, Fault> {
        let codes = self.file.codes(name, rows, self.sizes.dimensions)?;
        Ok(packing::table(&codes, self.file.floats(&format!("{name}.scale"), rows)?))
    }

    fn layer(&self, number: usize) -> Result<Layer, Fault> {
        let Sizes { dimensions, width, layers, .. } = self.sizes;
        let name = |part: &str| format!("layers.{number}.{part}");
        let next = (number + 1 < layers).then(|| format!("layers.{}.qkv", number + 1));
        let hidden = padded(dimensions, None);
        Ok(Layer {
            qkv: self.qkv(&name("qkv"))?,
            attention_out: self.linear(&name("attention_out"), dimensions, dimensions)?.pack(&hidden),
            attention_norm: self.norm(&name("attention_norm"), Some(&name("feed_in")))?,
            // What pads a row repeats one of its numbers, so that the row's span is as without padding.
            feed_in: self.linear(&name("feed_in"), dimensions, width)?.pack(&padded(width, Some(width - 1))),
            feed_out: self.linear(&name("feed_out"), width, dimensions)?.pack(&hidden),
            feed_norm: self.norm(&name("feed_norm"), next.as_deref())?,
        })
    }

    fn linear(&self, name: &str, inputs: usize, outputs: usize) -> Result<Plain, Fault> {
        Ok(Plain {
            codes: self.file.codes(&format!("{name}.weight"), inputs, outputs)?,
            scale: self.file.floats(&format!("{name}.scale"), outputs)?,
            bias: self.file.floats(&format!("{name}.bias"), outputs)?,
        })
    }

    /// Each head's queries, keys and values in panels of their own. The queries carry log2(e): the softmax takes
    /// powers of two.
    fn qkv(&self, name: &str) -> Result<Linear, Fault> {
        let Sizes { dimensions, heads, .. } = self.sizes;
        let mut plain = self.linear(name, dimensions, 3 * dimensions)?;
        plain.scale[..dimensions].iter_mut().for_each(|scale| *scale *= LOG2_E);
        plain.bias[..dimensions].iter_mut().for_each(|bias| *bias *= LOG2_E);
        let outputs: Vec<usize> = (0..3 * dimensions).collect();
        let columns = outputs.chunks(heads.size).flat_map(|head| {
            let mut columns: Vec<Option<usize>> = head.iter().copied().map(Some).collect();
            columns.resize(heads.panels() * COLUMNS, None);
            columns
        });
        Ok(plain.pack(&columns.collect::<Vec<_>>()))
    }

    /// A layer normalisation; `next` names the linear step that takes in its result, if there is one.
    fn norm(&self, name: &str, next: Option<&str>) -> Result<Norm, Fault> {
        let width = self.sizes.dimensions;
        let gamma = self.file.floats(&format!("{name}.gamma"), width)?;
        let beta = self.file.floats(&format!("{name}.beta"), width)?;
        let onward = next.map(|next| {
            let factor = self.file.floats(&format!("{next}.input_scale"), width)?;
            Ok::<Affine, Fault>(packing::affine(&gamma, &beta, &factor))
        });
        let affine = packing::affine(&gamma, &beta, &vec![1.0; width]);
        Ok(Norm { affine, onward: onward.transpose()?, epsilon: self.sizes.epsilon, width })
    }
}

/// The columns of whole panels for this many outputs, those beyond filled with `filler`.
fn padded(outputs: usize, filler: Option<usize>) -> Vec<Option<usize>> {
    let mut columns: Vec<Option<usize>> = (0..outputs).map(Some).collect();
    columns.resize(outputs.next_multiple_of(COLUMNS), filler);
    columns
}
