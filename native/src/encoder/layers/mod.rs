//! The steps of a layer, each over the tokens of a chunk.

pub(super) mod attention;
pub(super) mod codes;
pub(super) mod embedding;
pub(super) mod linear;
pub(super) mod norm;
pub(super) mod pooling;

use std::ops::Range;

/// Cuts `0..total` into ranges of at most `most`, as equal in size as can be.
pub(super) fn even(total: usize, most: usize) -> impl Iterator<Item = Range<usize>> {
    let parts = total.div_ceil(most);
    (0..parts).map(move |part| total * part / parts..total * (part + 1) / parts)
}

#[cfg(test)]
mod tests {
    use super::even;

    #[test]
    fn even_parts_cover_everything_once_and_differ_by_one_at_most() {
        for total in 0..200 {
            for most in 1..20 {
                let parts: Vec<_> = even(total, most).collect();
                assert!(parts.iter().cloned().flatten().eq(0..total));
                let sizes = parts.iter().map(ExactSizeIterator::len);
                let (least, largest) = (sizes.clone().min().unwrap_or(1), sizes.max().unwrap_or(1));
                assert!(least >= 1 && largest <= most && largest - least <= 1);
            }
        }
    }
}
