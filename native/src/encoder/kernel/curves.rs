//! The two curves of the model by polynomials, fitted for the least largest error.

use super::{LANES, Lanes};

/// Places of [`GELU`] are so far apart.
const GELU_PLACE: f32 = 0.2825;

/// `x · Φ(x)` by powers of `x`, a parabola for each of 32 places: place `p`, -16 to 15, is where `x` is nearest to `p ·`
/// [`GELU_PLACE`], and lies in the table modulo 32. The least largest error of each is at most 9.1e-5; the two at the
/// ends go on for ever as 0 and as `x`, which is no further off.
#[rustfmt::skip]
const GELU: [[f32; 2 * LANES]; 3] = [
    [3.293_626e-6, -0.001_026_883_6, -0.016_543_048, -0.070_120_36, -0.169_018_15, -0.289_531_1, -0.388_477_39,
     -0.429_879_93, -0.404_271_33, -0.329_689_83, -0.236_255_7, -0.150_190_9, -0.085_299_05, -0.043_511_294,
     -0.020_017_866, 0.0, 0.0, -0.008_333_325, -0.020_017_866, -0.043_511_294, -0.085_299_05, -0.150_190_9,
     -0.236_255_7, -0.329_689_83, -0.404_271_33, -0.429_879_93, -0.388_477_39, -0.289_531_1, -0.169_018_15,
     -0.070_120_36, -0.016_543_048, -0.001_026_883_6],
    [0.5, 0.511_289_24, 0.582_139_5, 0.732_950_15, 0.933_442_9, 1.124_282_6, 1.253_020_2, 1.299_147_8, 1.275_527_1,
     1.213_557_6, 1.143_847_5, 1.085_662_4, 1.045_572_2, 1.021_808_3, 1.009_433, 1.0, 0.0, -0.003_701_145_8,
     -0.009_433_057, -0.021_808_276, -0.045_572_22, -0.085_662_32, -0.143_847_4, -0.213_557_6, -0.275_527_12,
     -0.299_147_8, -0.253_020_1, -0.124_282_62, 0.066_557_094, 0.267_049_88, 0.417_860_48, 0.488_710_76],
    [0.397_619_66, 0.366_672_28, 0.285_146_86, 0.178_677_08, 0.076_893_83, 0.001_268_103_6, -0.040_630_944,
     -0.053_479_437, -0.048_034_046, -0.035_157_993, -0.022_152_558, -0.012_316_598, -0.006_123_786_3,
     -0.002_744_848_1, -0.001_115_017_2, 0.0, 0.0, -0.000_412_004_83, -0.001_115_017_2, -0.002_744_848_1,
     -0.006_123_786_3, -0.012_316_598, -0.022_152_558, -0.035_157_993, -0.048_034_046, -0.053_479_437,
     -0.040_630_944, 0.001_268_103_6, 0.076_893_83, 0.178_677_08, 0.285_146_86, 0.366_672_28],
];

/// A number added to this has its nearest integer in the lowest bits.
pub(in crate::encoder) const INTEGERS: f32 = 12_582_912.0; // 1.5 · 2²³

/// `2^r` by powers of `r` for `r` within ½: relative error 7.5e-5.
const EXP2: [f32; 4] = [0.999_928_1, 0.693_260_97, 0.242_610_81, 0.055_171_434];

/// Powers below this count as this: for the shares of a softmax it is nothing, and no number becomes subnormal.
const LEAST_POWER: f32 = -100.0;

/// `x · Φ(x)`, Φ being the normal distribution function: the GELU by the error function, within 1e-4.
#[inline(always)]
pub(in crate::encoder) fn gelu<L: Lanes>(x: L) -> L {
    let place = x.times_plus(L::splat(1.0 / GELU_PLACE), L::splat(INTEGERS));
    let place = L::splat(INTEGERS - 16.0).or_more(L::splat(INTEGERS + 15.0).or_less(place));
    let [constant, slope, square] = [L::pick(&GELU[0], place), L::pick(&GELU[1], place), L::pick(&GELU[2], place)];
    square.times_plus(x, slope).times_plus(x, constant)
}

/// `2^x` for `x` up to 127, relative error 8e-5; powers below -100 count as -100.
#[inline(always)]
pub(in crate::encoder) fn exp2<L: Lanes>(x: L) -> L {
    let x = L::splat(LEAST_POWER).or_more(x);
    let power = x.plus(L::splat(INTEGERS));
    let rest = x.minus(power.minus(L::splat(INTEGERS)));
    power_series(&EXP2, rest).times_two_to(power)
}

#[inline(always)]
fn power_series<L: Lanes, const N: usize>(coefficients: &[f32; N], x: L) -> L {
    let mut sum = L::splat(coefficients[N - 1]);
    for &coefficient in coefficients[..N - 1].iter().rev() {
        sum = sum.times_plus(x, L::splat(coefficient));
    }
    sum
}
