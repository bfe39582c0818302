//! The two curves of the model by polynomials, fitted for the least largest error.

use super::Lanes;

/// From this far out the tail of [`gelu`] stays as it is.
const GELU_END: f32 = 4.42;

/// The fourth root of the normal distribution function by powers of `t`, for `t` from -[`GELU_END`] to 0: the least
/// largest error of `t · Φ(t)`, 2.5e-5. A root falls off so slowly that few powers follow it.
const GELU: [f32; 6] = [8.406_277e-1, 1.657_516e-1, -5.462_899_4e-2, -8.502_278_5e-3, 2.841_399_5e-3, 4.917_574_7e-4];

/// `2^r` by powers of `r` for `r` within ½: relative error 2.2e-7.
const EXP2: [f32; 6] = [1.000_000_1, 6.931_469_4e-1, 2.402_212e-1, 5.550_713_5e-2, 9.675_541e-3, 1.327_640_8e-3];

/// Powers below this count as this: for the shares of a softmax it is nothing, and no number becomes subnormal.
const LEAST_POWER: f32 = -100.0;

/// `x · Φ(x)`, Φ being the normal distribution function: the GELU by the error function. Off by at most 3e-5, or by
/// 1e-6 of `x` where that is more.
#[inline(always)]
pub(in crate::encoder) fn gelu<L: Lanes>(x: L) -> L {
    let below = x.below_zero();
    let root = power_series(&GELU, L::splat(-GELU_END).or_more(below));
    let square = root.times(root);
    below.times_plus(square.times(square), L::splat(0.0).or_more(x))
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
