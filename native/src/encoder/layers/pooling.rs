//! From the vectors of a text's tokens to the text's own.

use std::str::FromStr;

use crate::encoder::kernel::{LANES, Lanes, Work};
use crate::error::Fault;

/// How token vectors become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pooling {
    /// Their mean direction.
    Mean,
    /// The first one's direction.
    Cls,
}

impl FromStr for Pooling {
    type Err = Fault;

    fn from_str(name: &str) -> Result<Self, Fault> {
        match name {
            "mean" => Ok(Self::Mean),
            "cls" => Ok(Self::Cls),
            _ => Err(Fault::new(format!("pooling must be mean or cls, not {name:?}"))),
        }
    }
}

/// Pools a text's tokens, [tokens, stride], into `vector`, and makes it one of length 1.
pub(in crate::encoder) struct Pool<'a> {
    pub pooling: Pooling,
    pub hidden: &'a [f32],
    pub stride: usize,
    pub vector: &'a mut [f32],
    /// Room for one row.
    pub sums: &'a mut [[f32; LANES]],
}

impl Work for Pool<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        let tokens = match self.pooling {
            Pooling::Mean => self.hidden,
            Pooling::Cls => &self.hidden[..self.stride],
        };
        let sums = &mut self.sums[..self.vector.len().div_ceil(LANES)];
        sums.fill([0.0; LANES]);
        for token in tokens.chunks_exact(self.stride) {
            for (sum, part) in sums.iter_mut().zip(token.as_chunks().0) {
                L::load(sum).plus(L::load(part)).store(sum);
            }
        }
        // Beyond the dimensions everything is zero.
        let mut square = L::splat(0.0);
        for sum in &*sums {
            square = L::load(sum).times_plus(L::load(sum), square);
        }
        let length = square.total().sqrt();
        for (component, sum) in self.vector.iter_mut().zip(sums.as_flattened()) {
            *component = sum / length;
        }
    }
}
