//! From queries and keys to scores and shares.

use crate::encoder::kernel::curves::exp2;
use crate::encoder::kernel::tile::for_each_row;
use crate::encoder::kernel::{LANES, Lanes, Pairs, Work};
use crate::encoder::layers::attention::quads::Quads;

/// A share that is as large as any is 2 to this: with the largest code of a value and [`super::mix::KEYS`] it comes to
/// less than 2³¹.
const MOST_POWER: f32 = 13.0;

/// The scores of `N` keys.
pub(super) struct Score<'a, const N: usize> {
    /// Dimensions of 16 queries, [fours of them].
    pub queries: &'a [Quads],
    /// Bytes of each key, as many as there are dimensions, `stride` apart.
    pub keys: &'a [u8],
    pub stride: usize,
    pub scores: &'a mut [[f32; LANES]],
    /// The largest so far.
    pub most: &'a mut [f32; LANES],
}

impl<const N: usize> Work for Score<'_, N> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        let mut keys = self.keys.chunks_exact(self.stride);
        let fours = self.queries.len();
        let keys: [&[[u8; 4]]; N] =
            std::array::from_fn(|_| &keys.next().expect("codes of each key").as_chunks().0[..fours]);
        let mut sums = [L::no_sums(); N];
        for (place, query) in self.queries.iter().enumerate() {
            let query = L::quads(query);
            for (sum, key) in sums.iter_mut().zip(keys) {
                *sum = L::add_products(*sum, L::codes(key[place]), query);
            }
        }
        let mut most = L::load(self.most);
        for_each_row!(N, row => {
            let score = L::from_sums(sums[row]);
            score.store(&mut self.scores[row]);
            most = score.or_more(most);
        });
        most.store(self.most);
    }
}

/// Powers of two by the scores' worth, less the largest, as parts of 2 to the [`MOST_POWER`], two keys side by side;
/// gives their sum.
#[inline(always)]
pub(super) fn softmax<L: Lanes>(scores: &[[f32; LANES]], worth: L, most: L, shares: &mut [Pairs]) -> L {
    let ones = L::splat_pair(0x0001_0001);
    let mut total = L::no_sums();
    let (pairs, last) = scores.as_chunks();
    for ([even, odd], room) in pairs.iter().zip(&mut *shares) {
        let both = L::pairs(share(even, most, worth), share(odd, most, worth));
        total = L::add_pairs(total, both, ones);
        L::store_pairs(both, room);
    }
    if let [even] = last {
        let both = L::pairs(share(even, most, worth), L::splat(0.0));
        total = L::add_pairs(total, both, ones);
        L::store_pairs(both, &mut shares[pairs.len()]);
    }
    L::from_sums(total)
}

#[inline(always)]
fn share<L: Lanes>(score: &[f32; LANES], most: L, worth: L) -> L {
    exp2(L::load(score).minus(most).times_plus(worth, L::splat(MOST_POWER)))
}
