//! The making of [`super::codes`]. Sums have the same order, and bits, on every instruction set.

use super::centre::Centre;
use super::codes::{CodeLine, Coded, HALF, MIDDLE, MOST, ROOM, ROUND, SHIFT, Sketch, Sketches, above, code_lines_for};
use super::lanes::{LANES, Line, QueryLine, widen};
use super::lines::Lines;

/// Fewer vectors are rounded as they are: a mean would cost each search more than it saves.
const LEAST_CENTRED: usize = 64;
/// Scales below it are not used: their reciprocals would not be finite.
const LEAST_SCALE: f32 = 1e-30;

/// The codes of many vectors around their mean, by number.
#[derive(Debug)]
pub struct Codes {
    centre: Centre,
    high: Lines<CodeLine>,
    low: Lines<CodeLine>,
    sketches: Sketches,
    norm: f32,
}

impl Codes {
    /// Of vectors of `stride` lines each.
    #[inline(always)]
    #[allow(clippy::inline_always)] // must take on the instruction set of the kernel that calls it
    pub(super) fn of(lines: &[Line], stride: usize) -> Self {
        let (vectors, width) = (lines.len() / stride, code_lines_for(stride));
        let centre = if vectors < LEAST_CENTRED { Centre::default() } else { Centre::of(lines, stride) };
        let [mut high, mut low] = [vectors * width; 2].map(Lines::with_capacity);
        let (mut sketches, mut square, around) = (Sketches::with_capacity(vectors), 0, centre.lines(stride));
        let [mut own_high, mut own_low] = [(); 2].map(|()| vec![CodeLine([0; HALF]); width]);
        for vector in lines.chunks_exact(stride) {
            let (sketch, own_square) = encode(vector, &around, &mut own_high, &mut own_low);
            square = square.max(own_square);
            sketches.push(sketch);
            high.extend(&own_high);
            low.extend(&own_low);
        }
        Self { centre, high, low, sketches, norm: above(f64::from(square).sqrt() / 2.0) }
    }

    /// What all are taken from before they are rounded.
    pub const fn centre(&self) -> &Centre {
        &self.centre
    }

    /// As the kernels read them.
    pub fn coded(&self) -> Coded<'_> {
        Coded { high: &self.high, low: &self.low, sketches: &self.sketches, norm: self.norm }
    }

    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        self.high.bytes() + self.low.bytes() + self.sketches.bytes() + self.centre.bytes()
    }
}

/// The codes of a vector around a centre of as many lines, its sketch, and ‖2c‖² of its codes with the larger norm.
#[inline(always)]
#[allow(clippy::inline_always)] // as above
pub fn encode(vector: &[Line], centre: &[QueryLine], high: &mut [CodeLine], low: &mut [CodeLine]) -> (Sketch, i32) {
    let scale = scale(vector, centre);
    let inverse = if scale > 0.0 { scale.recip() } else { 0.0 };
    high.fill(CodeLine([0; HALF]));
    low.fill(CodeLine([0; HALF]));
    let mut sums = Sums::new();
    for (i, (line, QueryLine(centre))) in vector.iter().zip(centre).enumerate() {
        let (mut x, mut codes) = ([0.0; LANES], [0; LANES]);
        for lane in 0..LANES {
            x[lane] = widen(line.0[lane]);
            // What rounding adds stands in the low bits.
            let nearest = ((x[lane] - centre[lane]) * inverse).clamp(-MOST, MOST) + ROUND;
            codes[lane] = nearest.to_bits().wrapping_sub(ROUND.to_bits()).cast_signed();
        }
        sums.add(&x, centre, &codes, f64::from(scale));
        let shift = i / 2 % 2 * 4;
        put(&mut high[i / 4].0.as_chunks_mut().0[i % 2], &codes, |code| code >> 4 << shift);
        put(&mut low[i / 4].0.as_chunks_mut().0[i % 2], &codes, |code| (code & 15) << shift);
    }
    (sums.sketch(scale), sums.square())
}

/// Sets the bits of a half of each code plus [`SHIFT`].
#[inline(always)]
#[allow(clippy::inline_always)] // as above
fn put(bytes: &mut [u8; LANES], codes: &[i32; LANES], half: impl Fn(u8) -> u8) {
    for lane in 0..LANES {
        bytes[lane] |= half((codes[lane] + SHIFT).cast_unsigned() as u8);
    }
}

/// As large as the largest component needs, or 0 where that is next to nothing.
#[inline(always)]
#[allow(clippy::inline_always)] // as above
fn scale(vector: &[Line], centre: &[QueryLine]) -> f32 {
    let mut most = [0f32; LANES];
    for (line, QueryLine(centre)) in vector.iter().zip(centre) {
        for lane in 0..LANES {
            most[lane] = larger((widen(line.0[lane]) - centre[lane]).abs(), most[lane]);
        }
    }
    let scale = few(&most, larger).into_iter().fold(0.0, larger) / MOST;
    if scale < LEAST_SCALE { 0.0 } else { scale }
}

/// The larger of two numbers: without the case of none, which `f32::max` has, it is one instruction.
#[inline(always)]
#[allow(clippy::inline_always)] // as above
fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// What many parts become in a few chains of additions or the like.
#[inline(always)]
#[allow(clippy::inline_always)] // as above
fn few<T: Copy + Default>(parts: &[T; LANES], join: impl Fn(T, T) -> T) -> [T; 4] {
    let mut few = [T::default(); 4];
    for parts in parts.as_chunks::<4>().0 {
        for part in 0..4 {
            few[part] = join(parts[part], few[part]);
        }
    }
    few
}

/// Sums over components, one for each place in a line, so that compilers make vector code of any width of it.
struct Sums {
    near: [f64; LANES],
    coarse: [f64; LANES],
    fine: [f64; LANES],
    coarse_square: [i32; LANES],
    fine_square: [i32; LANES],
}

impl Sums {
    #[inline(always)]
    #[allow(clippy::inline_always)] // as above
    const fn new() -> Self {
        let (sums, squares) = ([0.0; LANES], [0; LANES]);
        Self { near: sums, coarse: sums, fine: sums, coarse_square: squares, fine_square: squares }
    }

    #[inline(always)]
    #[allow(clippy::inline_always)] // as above
    fn add(&mut self, x: &[f32; LANES], centre: &[f32; LANES], codes: &[i32; LANES], scale: f64) {
        for lane in 0..LANES {
            let (x, centre, code) = (f64::from(x[lane]), f64::from(centre[lane]), codes[lane]);
            let fine = x - centre - scale * f64::from(code);
            let coarse = fine + scale * (f64::from(low_half(code)) - MIDDLE);
            self.near[lane] += x * centre;
            self.coarse[lane] += coarse * coarse;
            self.fine[lane] += fine * fine;
        }
        for (lane, &code) in codes.iter().enumerate() {
            let doubled = 2 * (code - low_half(code)) + 15;
            self.coarse_square[lane] += doubled * doubled;
            self.fine_square[lane] += 4 * code * code;
        }
    }

    #[inline(always)]
    #[allow(clippy::inline_always)] // as above
    fn sketch(&self, scale: f32) -> Sketch {
        let sum = |parts| few(parts, |a: f64, b| a + b).iter().sum::<f64>();
        let norm = |parts| above(sum(parts).sqrt() * ROOM);
        Sketch { scale, near: above(sum(&self.near)), coarse: norm(&self.coarse), fine: norm(&self.fine) }
    }

    #[inline(always)]
    #[allow(clippy::inline_always)] // as above
    fn square(&self) -> i32 {
        let (coarse, fine): (i32, i32) = (self.coarse_square.iter().sum(), self.fine_square.iter().sum());
        coarse.max(fine)
    }
}

#[inline(always)]
#[allow(clippy::inline_always)] // as above
const fn low_half(code: i32) -> i32 {
    (code + SHIFT) & 15
}
