//! The vectors of a segment: none, one or more for each row. Vectors of the same bits are kept, and compared, once.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::kernel::Kernel;
use crate::kernel::codes::{CODES, CodeLine, Coded, Look, QueryCodes, Sketch, above, code_lines_for, encode};
use crate::kernel::lanes::{Line, QueryLine, pack};
use crate::kernel::lines::Lines;

/// What a row without vectors has for its best inner product.
pub const NONE: f32 = f32::NEG_INFINITY;

/// Numbered half-precision vectors with their codes, and the numbers of each row's.
#[derive(Debug)]
pub struct Vectors {
    stride: usize,
    lines: Lines<Line>,
    codes: Lines<CodeLine>,
    sketches: Vec<Sketch>,
    /// No vector's codes have a larger norm.
    norm: f32,
    /// Where the numbers of each row begin, and one more for the end; empty where each row has one.
    starts: Vec<u32>,
    /// Empty where row n has vector n alone.
    numbers: Vec<u32>,
}

/// Which vectors the rows have, by number.
#[derive(Debug, Clone, Copy)]
pub enum Owners<'a> {
    /// Row n has vector n alone.
    Plain,
    /// Each row has one.
    Single(&'a [u32]),
    /// Where the numbers of each row begin, and one more for the end.
    Several {
        /// Of each row.
        starts: &'a [u32],
        /// Of all rows, one row after another.
        numbers: &'a [u32],
    },
}

impl Owners<'_> {
    /// How many vectors a row has.
    pub fn count(&self, row: usize) -> usize {
        match self {
            Self::Several { starts, .. } => (starts[row + 1] - starts[row]) as usize,
            _ => 1,
        }
    }

    /// Visits the numbers of a row's vectors.
    #[inline]
    pub fn each(&self, row: usize, mut visit: impl FnMut(u32)) {
        match self {
            Self::Plain => visit(row as u32),
            Self::Single(numbers) => visit(numbers[row]),
            Self::Several { starts, numbers } => {
                numbers[starts[row] as usize..starts[row + 1] as usize].iter().copied().for_each(visit);
            }
        }
    }
}

impl Vectors {
    /// How many vectors there are.
    pub fn len(&self) -> usize {
        self.sketches.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.sketches.is_empty()
    }

    /// Which vectors the rows have.
    pub fn owners(&self) -> Owners<'_> {
        match (&self.starts[..], &self.numbers[..]) {
            ([], []) => Owners::Plain,
            ([], numbers) => Owners::Single(numbers),
            (starts, numbers) => Owners::Several { starts, numbers },
        }
    }

    /// Inner products of the vectors of these numbers.
    pub fn dots(&self, kernel: &Kernel, query: &[QueryLine], numbers: &[u32], out: &mut [f32]) {
        kernel.dots(query, &self.lines, numbers, out);
    }

    /// What [`Self::dots`] is not above, for the vectors looked at.
    pub fn bounds(&self, kernel: &Kernel, query: &QueryCodes, look: &Look<'_>, out: &mut [f32]) {
        let coded = Coded { lines: &self.codes, sketches: &self.sketches, norm: self.norm };
        kernel.bounds(query, &coded, look, out);
    }

    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        let numbers = (self.starts.capacity() + self.numbers.capacity()) * 4;
        self.lines.bytes() + self.codes.bytes() + self.sketches.capacity() * size_of::<Sketch>() + numbers
    }

    fn lines_of(&self, number: u32) -> &[Line] {
        &self.lines[number as usize * self.stride..][..self.stride]
    }

    fn codes_of(&self, number: u32) -> &[CodeLine] {
        let stride = code_lines_for(self.stride);
        &self.codes[number as usize * stride..][..stride]
    }
}

/// Makes [`Vectors`], row after row.
pub struct Builder {
    made: Vectors,
    /// Number of the first vector of each hash.
    met: HashMap<u64, u32, BuildHasherDefault<Itself>>,
    /// ‖c‖² of the largest codes so far.
    square: i32,
    single: bool,
    plain: bool,
}

impl Builder {
    /// No rows yet, with room for this many vectors of `stride` lines.
    pub fn new(stride: usize, vectors: usize) -> Self {
        let made = Vectors {
            stride,
            lines: Lines::with_capacity(vectors * stride),
            codes: Lines::with_capacity(vectors * code_lines_for(stride)),
            sketches: Vec::with_capacity(vectors),
            norm: 0.0,
            starts: vec![0],
            numbers: Vec::with_capacity(vectors),
        };
        Self { made, met: HashMap::default(), square: 0, single: true, plain: true }
    }

    /// Appends a row with these vectors, each half-precision bits of the index's dimensions.
    pub fn push(&mut self, vectors: &[Vec<u16>]) {
        for vector in vectors {
            let lines: Vec<_> = pack(vector).collect();
            self.place(&lines, |codes| encode(&lines, codes));
        }
        self.end_row(vectors.len());
    }

    /// Appends row `row` of `source`.
    pub fn push_from(&mut self, source: &Vectors, row: usize) {
        let owners = source.owners();
        owners.each(row, |number| {
            self.place(source.lines_of(number), |codes| {
                codes.copy_from_slice(source.codes_of(number));
                (source.sketches[number as usize], square(codes))
            });
        });
        self.end_row(owners.count(row));
    }

    fn place(&mut self, lines: &[Line], code: impl FnOnce(&mut [CodeLine]) -> (Sketch, i32)) {
        let next = self.made.len() as u32;
        let first = *self.met.entry(hash(lines)).or_insert(next);
        // Another vector of the same hash is a stranger: it only misses being found again.
        if first < next && self.made.lines_of(first) == lines {
            return self.made.numbers.push(first);
        }
        let mut codes = vec![CodeLine([0; CODES]); code_lines_for(self.made.stride)];
        let (sketch, square) = code(&mut codes);
        self.square = self.square.max(square);
        self.made.lines.extend(lines);
        self.made.codes.extend(&codes);
        self.made.sketches.push(sketch);
        self.made.numbers.push(next);
    }

    fn end_row(&mut self, vectors: usize) {
        let row = self.made.starts.len() as u32 - 1;
        self.single &= vectors == 1;
        self.plain &= vectors == 1 && self.made.numbers.last() == Some(&row);
        self.made.starts.push(self.made.numbers.len() as u32);
    }

    /// What was made.
    pub fn finish(self) -> Vectors {
        let mut made = self.made;
        if self.single {
            made.starts = Vec::new();
        }
        if self.plain {
            made.numbers = Vec::new();
        }
        made.sketches.shrink_to_fit();
        let norm = above(f64::from(self.square).sqrt());
        Vectors { lines: made.lines.shrunk(), codes: made.codes.shrunk(), norm, ..made }
    }
}

/// ‖c‖².
fn square(codes: &[CodeLine]) -> i32 {
    let each = codes.iter().flat_map(|line| line.0).map(|code| i32::from(code) - 128);
    each.map(|code| code * code).sum()
}

fn hash(lines: &[Line]) -> u64 {
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    let words = lines.iter().flat_map(|line| line.0.as_chunks::<4>().0);
    words.fold(0, |hash: u64, &[a, b, c, d]| {
        let word = u64::from(a) | u64::from(b) << 16 | u64::from(c) << 32 | u64::from(d) << 48;
        (hash.rotate_left(29) ^ word).wrapping_mul(SPREAD)
    })
}

/// A number that is a hash already.
#[derive(Default)]
struct Itself(u64);

impl Hasher for Itself {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
