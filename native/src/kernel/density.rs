//! Which rows of a block are read for those that are looked for.

use super::Isa;
use super::reach::BLOCK;

/// Codes of more bytes than this come from memory at each search: a third level of cache is about so large.
const CACHED: usize = 32 << 20;

/// From how many rows of a block on all are asked for: memory is fastest in order.
const MANY: u32 = BLOCK as u32 / 4;

/// From how many rows of a block on all are compared where the caches hold them: then lists cost more than rows.
const MOST: u32 = BLOCK as u32 * 9 / 16;

/// How blocks of a space are read.
#[derive(Debug, Clone, Copy)]
pub struct Density {
    /// From how many rows of a block on all are compared.
    whole: u32,
}

impl Density {
    /// For codes of so many bytes altogether. Only where rows are compared together others cost little.
    pub fn new(isa: Isa, bytes: usize) -> Self {
        let whole = if bytes > CACHED { MANY } else { MOST };
        Self { whole: if isa == Isa::Avx512 { whole } else { BLOCK as u32 } }
    }

    /// What to compare of a block where these rows are looked for.
    pub fn compared(self, wanted: u64) -> u64 {
        filled_up(wanted, self.whole)
    }

    /// What to ask for of the next block.
    pub fn asked_for(self, wanted: u64) -> u64 {
        filled_up(wanted, MANY)
    }
}

fn filled_up(wanted: u64, least: u32) -> u64 {
    if wanted.count_ones() < least { wanted } else { u64::MAX }
}

#[cfg(test)]
mod tests {
    use super::{CACHED, Density, Isa};

    #[test]
    fn whatever_is_looked_for_is_compared_and_little_alone_is_not_filled_up() {
        for (isa, bytes) in Isa::ALL.into_iter().flat_map(|isa| [0, CACHED, CACHED + 1].map(|bytes| (isa, bytes))) {
            let density = Density::new(isa, bytes);
            for wanted in (0..=64).map(|count| u64::MAX.checked_shr(64 - count).unwrap_or_default().reverse_bits()) {
                for found in [density.compared(wanted), density.asked_for(wanted)] {
                    assert_eq!(found & wanted, wanted);
                    assert!(found == wanted || wanted.count_ones() >= 16);
                }
            }
            assert_eq!(density.compared(u64::MAX >> 1) == u64::MAX, isa == Isa::Avx512);
        }
    }
}
