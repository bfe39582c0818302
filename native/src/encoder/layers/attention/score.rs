//! From queries and keys to scores and shares.

use crate::encoder::kernel::curves::exp2;
use crate::encoder::kernel::tile::for_each_row;
use crate::encoder::kernel::{LANES, Lanes, Pairs, Work};

/// A share that is as large as any: with the largest code of a value and [`super::mix::KEYS`] it comes to less than 2³¹.
pub(super) const MOST: f32 = 8191.0;

/// The scores of `N` keys.
pub(super) struct Score<'a, const N: usize> {
    /// [panels].
    pub queries: &'a [[Pairs; LANES]],
    /// [panels].
    pub worths: &'a [[f32; LANES]],
    /// From the first key on, [panels, tokens].
    pub keys: &'a [Pairs],
    pub tokens: usize,
    pub scores: &'a mut [[f32; LANES]],
    /// The largest so far.
    pub most: &'a mut [f32; LANES],
}

impl<const N: usize> Work for Score<'_, N> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        let mut scores = [L::splat(0.0); N];
        for (panel, (queries, worth)) in self.queries.iter().zip(self.worths).enumerate() {
            let keys: &[Pairs; N] = self.keys[panel * self.tokens..].first_chunk().expect("keys of each panel");
            let mut sums = [L::no_sums(); N];
            for (place, query) in queries.iter().enumerate() {
                let query = L::load_pairs(query);
                for (sum, key) in sums.iter_mut().zip(keys) {
                    *sum = L::add_pairs(*sum, query, L::splat_pair(key[place]));
                }
            }
            let worth = L::load(worth);
            for_each_row!(N, row => scores[row] = L::from_sums(sums[row]).times_plus(worth, scores[row]));
        }
        let mut most = L::load(self.most);
        for_each_row!(N, row => {
            scores[row].store(&mut self.scores[row]);
            most = scores[row].or_more(most);
        });
        most.store(self.most);
    }
}

/// Powers of two by the scores less the largest, rounded to parts of [`MOST`], two keys side by side; gives their sum.
#[inline(always)]
pub(super) fn softmax<L: Lanes>(scores: &[[f32; LANES]], most: L, shares: &mut [Pairs]) -> L {
    let ones = L::splat_pair(0x0001_0001);
    let mut total = L::no_sums();
    let (pairs, last) = scores.as_chunks();
    for ([even, odd], room) in pairs.iter().zip(&mut *shares) {
        let both = L::pairs(share(even, most), share(odd, most));
        total = L::add_pairs(total, both, ones);
        L::store_pairs(both, room);
    }
    if let [even] = last {
        let both = L::pairs(share(even, most), L::splat(0.0));
        total = L::add_pairs(total, both, ones);
        L::store_pairs(both, &mut shares[pairs.len()]);
    }
    L::from_sums(total)
}

#[inline(always)]
fn share<L: Lanes>(score: &[f32; LANES], most: L) -> L {
    exp2(L::load(score).minus(most)).times(L::splat(MOST))
}
