//! The two curves of the model by polynomials, fitted for the least largest error.

use super::{LANES, Lanes};

/// From this far out the tail of [`gelu`] stays as it is.
const GELU_END: f32 = 4.35;

/// `t · Φ(t)` by powers of `t`, a parabola for each of 16 places: place `p` is where `t` is nearest to
/// `-p / 15 ·` [`GELU_END`]. The least largest error of each is at most 9.8e-5.
#[rustfmt::skip]
const GELU: [[f32; LANES]; 3] = [
    [-1.854_763e-6, -0.001_137_337_3, -0.018_205_909, -0.076_351_77, -0.181_316_55, -0.304_705, -0.399_375_86,
     -0.429_869_68, -0.391_564_22, -0.307_978_06, -0.211_948_93, -0.128_848_06, -0.069_681, -0.033_702_224,
     -0.014_638_99, -0.007_156_05],
    [0.499_810_67, 0.487_816_75, 0.411_857_58, 0.252_333_6, 0.044_914_15, -0.145_581_62, -0.265_746_18,
     -0.299_137_62, -0.264_406_83, -0.196_677_24, -0.126_843_94, -0.072_091_63, -0.036_469_89, -0.016_531_37,
     -0.006_746_081_6, -0.003_153_212],
    [0.396_419_44, 0.365_003_7, 0.279_818_06, 0.170_049_46, 0.067_408_81, -0.006_187_775_6, -0.044_339_754,
     -0.053_476_922, -0.045_603_383, -0.031_879_317, -0.019_180_61, -0.010_160_384, -0.004_798_057_5,
     -0.002_035_376_6, -0.000_779_540_9, -0.000_348_266_5],
];

/// A number added to this has its nearest integer in the lowest bits.
const INTEGERS: f32 = 12_582_912.0; // 1.5 · 2²³

/// `2^r` by powers of `r` for `r` within ½: relative error 2.2e-7.
const EXP2: [f32; 6] = [1.000_000_1, 6.931_469_4e-1, 2.402_212e-1, 5.550_713_5e-2, 9.675_541e-3, 1.327_640_8e-3];

/// Powers below this count as this: for the shares of a softmax it is nothing, and no number becomes subnormal.
const LEAST_POWER: f32 = -100.0;

/// `x · Φ(x)`, Φ being the normal distribution function: the GELU by the error function. Off by at most 1e-4, or by
/// 1e-6 of `x` where that is more.
#[inline(always)]
pub(in crate::encoder) fn gelu<L: Lanes>(x: L) -> L {
    let t = L::splat(-GELU_END).or_more(x.below_zero());
    let place = t.times_plus(L::splat(-15.0 / GELU_END), L::splat(INTEGERS));
    let [constant, slope, square] = GELU.each_ref().map(|table| L::pick(table, place));
    t.times_plus(square.times_plus(t, slope), L::splat(0.0).or_more(x).plus(constant))
}

/// `2^x` for `x` up to 127, relative error 3e-7; powers below -100 count as -100.
#[inline(always)]
pub(in crate::encoder) fn exp2<L: Lanes>(x: L) -> L {
    let x = L::splat(LEAST_POWER).or_more(x);
    let whole = x.nearest();
    power_series(&EXP2, x.minus(whole)).times_two_to(whole)
}

#[inline(always)]
fn power_series<L: Lanes, const N: usize>(coefficients: &[f32; N], x: L) -> L {
    let mut sum = L::splat(coefficients[N - 1]);
    for &coefficient in coefficients[..N - 1].iter().rev() {
        sum = sum.times_plus(x, L::splat(coefficient));
    }
    sum
}
