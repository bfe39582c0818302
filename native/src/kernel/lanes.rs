//! Vectors as the kernels read them: whole cache lines, padded with zeros, so that no loop has a tail.

/// Components in a line.
pub const LANES: usize = 32;

/// 32 half-precision components, one cache line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Line(pub [u16; LANES]);

/// The 32 single-precision components of a query that meet one [`Line`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C, align(64))]
pub struct QueryLine(pub [f32; LANES]);

/// Lines that a vector of this many components takes.
pub const fn lines_for(dimensions: usize) -> usize {
    dimensions.div_ceil(LANES)
}

/// Half-precision components (their bits) as lines, padded with zeros.
pub fn pack(components: &[u16]) -> impl Iterator<Item = Line> {
    components.chunks(LANES).map(|chunk| {
        let mut line = Line([0; LANES]);
        line.0[..chunk.len()].copy_from_slice(chunk);
        line
    })
}

/// A query's components as lines, padded with zeros.
pub fn pack_query(components: &[f32]) -> Vec<QueryLine> {
    let lines = components.chunks(LANES).map(|chunk| {
        let mut line = QueryLine([0.0; LANES]);
        line.0[..chunk.len()].copy_from_slice(chunk);
        line
    });
    lines.collect()
}

/// Whether half-precision bits are a number: neither infinite nor NaN.
pub const fn is_finite(bits: u16) -> bool {
    bits & 0x7c00 != 0x7c00
}

/// The exact single-precision value of finite half-precision bits, subnormal ones included.
#[inline]
pub fn widen(bits: u16) -> f32 {
    // Shifted into place the bits are the value times 2^-112: the exponents' biases differ by 112.
    const REBIAS: f32 = f32::from_bits((127 + 112) << 23);
    let magnitude = f32::from_bits(u32::from(bits & 0x7fff) << 13) * REBIAS;
    f32::from_bits(magnitude.to_bits() | u32::from(bits & 0x8000) << 16)
}

#[cfg(test)]
mod tests {
    use super::{is_finite, widen};

    fn by_definition(bits: u16) -> f64 {
        let exponent = i32::from(bits >> 10 & 0x1f);
        let fraction = f64::from(bits & 0x3ff) / 1024.0;
        let magnitude = match exponent {
            0 => fraction * 2f64.powi(-14),
            _ => (1.0 + fraction) * 2f64.powi(exponent - 15),
        };
        if bits >> 15 == 1 { -magnitude } else { magnitude }
    }

    #[test]
    fn widening_is_exact_for_every_finite_value() {
        for bits in (0..=u16::MAX).filter(|&bits| is_finite(bits)) {
            assert_eq!(f64::from(widen(bits)).to_bits(), by_definition(bits).to_bits(), "{bits:#06x}");
        }
    }
}
