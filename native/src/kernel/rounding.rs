//! How a query is rounded. Sums have the same order, and bits, on every instruction set.

use super::centre::Centre;
use super::codes::{HALF, MOST, ROUND, code_lines_for};
use super::lanes::{LANES, QueryLine};
use super::query::NumberLine;

/// Sums are made in so many parts, so that compilers can make vector code of them.
const PARTS: usize = 8;

/// What is left of a query: q′.
pub(super) struct Left {
    /// ‖q′‖.
    pub norm: f64,
    /// ⟨μ, q′⟩.
    pub product: f64,
    /// The largest component.
    pub largest: f32,
}

impl Left {
    #[inline(always)]
    #[allow(clippy::inline_always)] // must take on the instruction set of the kernel that calls it
    pub fn of(query: &[QueryLine], centre: &Centre) -> Self {
        let (mut square, mut product, mut largest) = ([0.0; PARTS], [0.0; PARTS], [0f32; PARTS]);
        for (i, line) in query.iter().enumerate() {
            for (q, mu) in parts(line).zip(parts(centre.line(i))) {
                let left = difference(q, mu);
                add(&mut square, left, left);
                add(&mut product, mu.map(f64::from), left);
                for ((largest, q), mu) in largest.iter_mut().zip(q).zip(mu) {
                    *largest = largest.max((q - mu).abs());
                }
            }
        }
        let [square, product] = [square, product].map(|parts| parts.iter().sum::<f64>());
        Self { norm: square.sqrt(), product, largest: largest.into_iter().fold(0.0, f32::max) }
    }
}

/// The numbers of a query for this step, their sum, and ‖e‖.
#[inline(always)]
#[allow(clippy::inline_always)] // as above
pub(super) fn rounded(query: &[QueryLine], centre: &Centre, step: f32) -> (Vec<NumberLine>, i32, f64) {
    // Where the step is next to nothing all of the query is in the rest.
    let inverse = if step < f32::MIN_POSITIVE { 0.0 } else { step.recip() };
    let mut lines = vec![NumberLine([0; HALF]); 2 * code_lines_for(query.len())];
    let (mut sums, mut rest) = ([0; PARTS], [0.0; PARTS]);
    for (i, line) in query.iter().enumerate() {
        let own = lines[i / 2].0[i % 2 * LANES..][..LANES].as_chunks_mut().0;
        for (own, (q, mu)) in own.iter_mut().zip(parts(line).zip(parts(centre.line(i)))) {
            let shifted = shifted(q, mu, inverse);
            let mut left = difference(q, mu);
            for (left, shifted) in left.iter_mut().zip(shifted) {
                *left -= f64::from(step) * f64::from(shifted - ROUND);
            }
            add(&mut rest, left, left);
            take(own, &mut sums, shifted);
        }
    }
    (lines, sums.iter().sum(), rest.iter().sum::<f64>().sqrt())
}

/// The components of a line, a few after another.
#[inline(always)]
#[allow(clippy::inline_always)] // as above
fn parts(line: &QueryLine) -> impl Iterator<Item = &[f32; PARTS]> {
    line.0.as_chunks().0.iter()
}

/// q′ in double precision.
#[inline(always)]
#[allow(clippy::inline_always)] // as above
fn difference(q: &[f32; PARTS], mu: &[f32; PARTS]) -> [f64; PARTS] {
    let mut left = [0.0; PARTS];
    for ((left, &q), &mu) in left.iter_mut().zip(q).zip(mu) {
        *left = f64::from(q) - f64::from(mu);
    }
    left
}

/// The numbers, each with [`ROUND`] added to it.
#[inline(always)]
#[allow(clippy::inline_always)] // as above
fn shifted(q: &[f32; PARTS], mu: &[f32; PARTS], inverse: f32) -> [f32; PARTS] {
    let mut shifted = [0.0; PARTS];
    for ((shifted, q), mu) in shifted.iter_mut().zip(q).zip(mu) {
        *shifted = ((q - mu) * inverse).clamp(-MOST, MOST) + ROUND;
    }
    shifted
}

/// Puts numbers in their places and adds them to the sums.
#[inline(always)]
#[allow(clippy::inline_always)] // as above
fn take(places: &mut [i8; PARTS], sums: &mut [i32; PARTS], shifted: [f32; PARTS]) {
    for ((place, sum), shifted) in places.iter_mut().zip(sums).zip(shifted) {
        let number = shifted.to_bits().wrapping_sub(ROUND.to_bits()).cast_signed();
        *place = number as i8;
        *sum += number;
    }
}

/// Adds products to sums.
#[inline(always)]
#[allow(clippy::inline_always)] // as above
fn add(sums: &mut [f64; PARTS], a: [f64; PARTS], b: [f64; PARTS]) {
    for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
        *sum += a * b;
    }
}
