//! The two curves of the model as polynomials, fitted for the least largest error.

use super::Lanes;

/// From this far out the step of [`gelu`] is 0 or 1.
const GELU_END: f32 = 4.4;

/// The odd part of the normal distribution function, `(Φ(t) - ½) / t`, by powers of `t²` for `t` within [`GELU_END`],
/// where it comes to ½ in all: the least largest error of `x · Φ(x)`.
const GELU: [f32; 9] = [
    3.987_616e-1,
    -6.607_643e-2,
    9.643_028e-3,
    -1.054_992_7e-3,
    8.429_304e-5,
    -4.724_870_5e-6,
    1.740_848_5e-7,
    -3.754_052e-9,
    3.569_433_6e-11,
];

/// `2^r` by powers of `r` for `r` within ½: relative error 2.2e-7.
const EXP2: [f32; 6] = [1.000_000_1, 6.931_469_4e-1, 2.402_212e-1, 5.550_713_5e-2, 9.675_541e-3, 1.327_640_8e-3];

/// Powers below this count as this: for the shares of a softmax it is nothing, and no number becomes subnormal.
const LEAST_POWER: f32 = -100.0;

/// `x · Φ(x)`, Φ being the normal distribution function: the GELU by the error function. Off by at most 5e-5, or by
/// 5e-6 of `x` where that is more.
#[inline(always)]
pub(in crate::encoder) fn gelu<L: Lanes>(x: L) -> L {
    let t = L::splat(-GELU_END).or_more(L::splat(GELU_END).or_less(x));
    let step = t.times_plus(power_series(&GELU, t.times(t)), L::splat(0.5));
    x.times(step)
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
