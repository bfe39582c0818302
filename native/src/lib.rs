//! Exact fused ranking, text terms and the text encoder of memex.
//!
//! The crate knows nothing of Python except in `python`, which the feature of that name adds.

pub mod encoder;
pub mod error;
pub mod index;
mod isa;
pub mod kernel;
mod pages;
pub mod panics;
pub mod terms;
pub mod topk;

#[cfg(feature = "python")]
mod python;
