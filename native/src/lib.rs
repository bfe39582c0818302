//! Exact fused ranking and text terms for memex.
//!
//! The crate knows nothing of Python except in `python`, which the feature of that name adds.

pub mod error;
pub mod index;
pub mod kernel;
pub mod terms;
pub mod topk;

#[cfg(feature = "python")]
mod python;
