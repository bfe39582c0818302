//! Layer normalisation, and with it the rounding for the linear step that follows.

use crate::encoder::buffer::Buffer;
use crate::encoder::kernel::{LANES, Lanes, Work};
use crate::encoder::layers::codes::{Codes, Span, round_row};

/// Scale and shift of every dimension, padded with zeros to whole registers.
#[derive(Debug)]
pub(in crate::encoder) struct Affine {
    pub gamma: Buffer<f32>,
    pub beta: Buffer<f32>,
}

/// A layer normalisation.
#[derive(Debug)]
pub(in crate::encoder) struct Norm {
    /// Of the result.
    pub affine: Affine,
    /// Of what the linear step after it takes in: the same times the step's input scale. None after the last layer.
    pub onward: Option<Affine>,
    /// Added to the variance.
    pub epsilon: f32,
    /// How many dimensions there are.
    pub width: usize,
}

impl Affine {
    /// Scale and shift, register by register.
    fn registers(&self) -> impl Iterator<Item = (&[f32; LANES], &[f32; LANES])> {
        self.gamma.as_chunks().0.iter().zip(self.beta.as_chunks().0)
    }

    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        self.gamma.bytes() + self.beta.bytes()
    }
}

impl Norm {
    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        self.affine.bytes() + self.onward.as_ref().map_or(0, Affine::bytes)
    }
}

/// Normalises rows in place, [rows, stride], and writes codes for the step after, from row `first` on.
///
/// Beyond the norm's width rows are zero before and after.
pub(in crate::encoder) struct NormRows<'a> {
    pub norm: &'a Norm,
    pub hidden: &'a mut [f32],
    pub stride: usize,
    pub codes: &'a mut Codes,
    pub first: usize,
    /// Room for one row.
    pub onward: &'a mut [[f32; LANES]],
}

impl Work for NormRows<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        let registers = self.norm.width.div_ceil(LANES);
        for (row, hidden) in self.hidden.chunks_exact_mut(self.stride).enumerate() {
            let hidden = &mut hidden.as_chunks_mut().0[..registers];
            let moments = moments::<L>(self.norm, hidden);
            let Some(affine) = &self.norm.onward else {
                normalise(&self.norm.affine, hidden, moments);
                continue;
            };
            let onward = &mut self.onward[..registers];
            let span = normalise_onward(self.norm, affine, hidden, moments, onward);
            let (codes, rounding) = self.codes.row(self.first + row);
            *rounding = round_row(onward.as_flattened(), span, codes);
        }
    }
}

/// A row's mean, and one over its deviation.
#[inline(always)]
fn moments<L: Lanes>(norm: &Norm, row: &[[f32; LANES]]) -> (L, L) {
    let (count, nothing) = (norm.width as f32, L::splat(0.0));
    let mut sums = [nothing; 2];
    let (pairs, last) = row.as_chunks();
    for [even, odd] in pairs {
        sums = [sums[0].plus(L::load(even)), sums[1].plus(L::load(odd))];
    }
    for register in last {
        sums[0] = sums[0].plus(L::load(register));
    }
    let mean = L::splat(sums[0].plus(sums[1]).total() / count);
    let variance = squares(norm.width, row, mean).total() / count;
    (mean, L::splat(1.0 / (variance + norm.epsilon).sqrt()))
}

/// The squared distances from the mean.
#[inline(always)]
fn squares<L: Lanes>(width: usize, row: &[[f32; LANES]], mean: L) -> L {
    let mut sums = [L::splat(0.0); 2];
    let (pairs, last) = row[..width / LANES].as_chunks();
    for [even, odd] in pairs {
        let distances = [L::load(even).minus(mean), L::load(odd).minus(mean)];
        sums = [distances[0].times_plus(distances[0], sums[0]), distances[1].times_plus(distances[1], sums[1])];
    }
    for register in last {
        let distance = L::load(register).minus(mean);
        sums[0] = distance.times_plus(distance, sums[0]);
    }
    if let Some(register) = row.get(width / LANES) {
        let distance = L::load(register).minus(mean).first(width % LANES, L::splat(0.0));
        sums[1] = distance.times_plus(distance, sums[1]);
    }
    sums[0].plus(sums[1])
}

#[inline(always)]
fn normalise<L: Lanes>(affine: &Affine, row: &mut [[f32; LANES]], (mean, factor): (L, L)) {
    for (register, (gamma, beta)) in row.iter_mut().zip(affine.registers()) {
        let plain = L::load(register).minus(mean).times(factor);
        plain.times_plus(L::load(gamma), L::load(beta)).store(register);
    }
}

/// The same, and with the affine `next` into `onward`, where what pads the row is zero; gives the span of that.
#[inline(always)]
fn normalise_onward<L: Lanes>(
    norm: &Norm,
    next: &Affine,
    row: &mut [[f32; LANES]],
    (mean, factor): (L, L),
    onward: &mut [[f32; LANES]],
) -> Span<L> {
    let mut span = Span::of_zero();
    let affines = norm.affine.registers().zip(next.registers());
    for ((register, onward), ((gamma, beta), (next_gamma, next_beta))) in row.iter_mut().zip(onward).zip(affines) {
        let plain = L::load(register).minus(mean).times(factor);
        plain.times_plus(L::load(gamma), L::load(beta)).store(register);
        let numbers = plain.times_plus(L::load(next_gamma), L::load(next_beta));
        numbers.store(onward);
        span = span.over(numbers);
    }
    span
}
