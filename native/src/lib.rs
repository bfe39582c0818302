//! Exact fused ranking and text terms for memex.
#[cfg(feature = "python")]
mod python;
