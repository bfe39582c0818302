//! A BERT encoder on int8 weights, for batches of texts of any lengths.
//!
//! A text's vector is a function of the text alone: of its neighbours, the batch's size and order, threads and the
//! instruction set it does not depend, to the last bit.

#![allow(clippy::inline_always)] // what takes lanes must become part of the function that has their registers

mod buffer;
mod forward;
mod isa;
mod kernel;
mod layers;
mod model;
mod scratch;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::{Mutex, PoisonError};

pub use isa::Isa;
pub use layers::pooling::Pooling;

use crate::error::{Fault, require};
use forward::{CHUNK, Forward};
use model::Model;
use scratch::Scratch;

/// A model that may be used by several threads at once.
#[derive(Debug)]
pub struct Encoder {
    model: Model,
    pooling: Pooling,
    isa: Isa,
    stream_bytes: usize,
    /// Of streams that are at rest: as many as ever ran at once.
    idle: Mutex<Vec<Scratch>>,
}

impl Encoder {
    /// Reads the weights file at `weights`.
    ///
    /// # Errors
    ///
    /// Where the file is not one, or this machine cannot run `isa`. The message says what is wrong with the file.
    pub fn open(weights: &Path, pooling: Pooling, isa: Isa) -> Result<Self, Fault> {
        let bytes = std::fs::read(weights).map_err(|error| Fault::new(format!("cannot be read: {error}")))?;
        Self::new(&bytes, pooling, isa)
    }

    /// From the bytes of a weights file.
    ///
    /// # Errors
    ///
    /// As [`Encoder::open`].
    pub fn new(weights: &[u8], pooling: Pooling, isa: Isa) -> Result<Self, Fault> {
        require(isa.is_available(), || format!("this machine cannot run isa {isa}"))?;
        let model = Model::new(weights)?;
        let scratch = Scratch::new(&model.sizes);
        let stream_bytes = scratch.bytes();
        Ok(Self { model, pooling, isa, stream_bytes, idle: Mutex::new(vec![scratch]) })
    }

    /// The vectors of texts, given as token ids: `dimensions` components for each, of length 1.
    ///
    /// # Errors
    ///
    /// Before anything is computed: for no texts, an empty one, one longer than the window, or an unknown id.
    pub fn encode<T: AsRef<[u32]>>(&self, texts: &[T]) -> Result<Vec<f32>, Fault> {
        let texts: Vec<&[u32]> = texts.iter().map(AsRef::as_ref).collect();
        self.check(&texts)?;
        let mut vectors = vec![0.0; texts.len() * self.dimensions()];
        let mut scratch = self.take_scratch();
        let mut rest = vectors.as_mut_slice();
        for chunk in chunks(&texts) {
            let (vectors, after) = rest.split_at_mut(chunk.len() * self.dimensions());
            let (model, pooling, scratch) = (&self.model, self.pooling, &mut scratch);
            self.isa.run(Forward { model, pooling, texts: chunk, scratch, vectors });
            rest = after;
        }
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
        Ok(vectors)
    }

    fn check(&self, texts: &[&[u32]]) -> Result<(), Fault> {
        let (window, vocabulary) = (self.window(), self.vocabulary());
        require(!texts.is_empty(), || "a batch has at least one text".into())?;
        for (number, text) in texts.iter().enumerate() {
            require((1..=window).contains(&text.len()), || {
                format!("text {number} has {} tokens, not 1 to {window}", text.len())
            })?;
            let unknown = text.iter().find(|&&id| id as usize >= vocabulary);
            require(unknown.is_none(), || {
                format!("text {number} has the token {}, not one below {vocabulary}", unknown.unwrap_or(&0))
            })?;
        }
        Ok(())
    }

    /// What a fault leaves behind is not put back.
    fn take_scratch(&self) -> Scratch {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.unwrap_or_else(|| Scratch::new(&self.model.sizes))
    }

    /// Components of a vector.
    pub const fn dimensions(&self) -> usize {
        self.model.sizes.dimensions
    }

    /// The most tokens of a text.
    pub const fn window(&self) -> usize {
        self.model.sizes.window
    }

    /// Ids are below this.
    pub const fn vocabulary(&self) -> usize {
        self.model.sizes.vocabulary
    }

    /// The instruction set in use.
    pub const fn isa(&self) -> Isa {
        self.isa
    }

    /// Memory of the model, in bytes, without what streams take.
    pub fn bytes(&self) -> usize {
        self.model.bytes()
    }

    /// Memory of each stream, that is of each call that runs at the same time as others, in bytes.
    pub const fn stream_bytes(&self) -> usize {
        self.stream_bytes
    }
}

/// Cuts a batch into runs of whole texts that share a pass.
fn chunks<'a>(texts: &'a [&'a [u32]]) -> impl Iterator<Item = &'a [&'a [u32]]> {
    let mut rest = texts;
    std::iter::from_fn(move || {
        let mut tokens = rest.first()?.len();
        let more = rest[1..].iter().take_while(|text| {
            tokens += text.len();
            tokens <= CHUNK
        });
        let (chunk, after) = rest.split_at(1 + more.count());
        rest = after;
        Some(chunk)
    })
}
