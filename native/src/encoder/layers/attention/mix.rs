//! From shares and values to what attention gives.

use crate::encoder::kernel::tile::{COLUMNS, for_each_row, halves, store_halves};
use crate::encoder::kernel::{LANES, Lanes, Pairs, Work};

/// So many keys' products of a share and a value add up within 32 bits: 128 · 8192 · 2047 < 2³¹.
pub(super) const KEYS: usize = 128;

/// What `N` queries make of one panel of values.
pub(super) struct Mix<'a, const N: usize> {
    /// [pairs of keys].
    pub shares: &'a [Pairs],
    /// The first query's lane.
    pub lane: usize,
    /// Of the products, to each query.
    pub worth: &'a [f32; LANES],
    /// [pairs of keys].
    pub values: &'a [[Pairs; 2]],
    pub mixed: &'a mut [f32],
    pub stride: usize,
}

impl<const N: usize> Work for Mix<'_, N> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        let runs = self.shares.chunks(KEYS / 2).zip(self.values.chunks(KEYS / 2));
        for (run, (shares, values)) in runs.enumerate() {
            let sums = products::<L, N>(shares, self.lane, values);
            for_each_row!(N, row => {
                let worth = L::splat(self.worth[self.lane + row]);
                let place = self.mixed[row * self.stride..].first_chunk_mut::<COLUMNS>().expect("room for each query");
                let before = if run == 0 { [L::splat(0.0); 2] } else { halves(place) };
                let sums = sums[row].map(L::from_sums);
                store_halves([sums[0].times_plus(worth, before[0]), sums[1].times_plus(worth, before[1])], place);
            });
        }
    }
}

#[inline(always)]
fn products<L: Lanes, const N: usize>(shares: &[Pairs], lane: usize, values: &[[Pairs; 2]]) -> [[L::Ints; 2]; N] {
    let mut sums = [[L::no_sums(); 2]; N];
    for (shares, [low, high]) in shares.iter().zip(values) {
        let (low, high) = (L::load_pairs(low), L::load_pairs(high));
        let shares: &[i32; N] = shares[lane..].first_chunk().expect("a share for each query");
        for (sums, &share) in sums.iter_mut().zip(shares) {
            let share = L::splat_pair(share);
            *sums = [L::add_pairs(sums[0], share, low), L::add_pairs(sums[1], share, high)];
        }
    }
    sums
}
