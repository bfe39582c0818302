//! The vectors of a segment: none, one or more for each row. Vectors of the same bits are kept, and compared, once.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::kernel::Kernel;
use crate::kernel::centre::Centre;
use crate::kernel::encoding::Codes;
use crate::kernel::lanes::{Line, QueryLine, pack};
use crate::kernel::lines::Lines;
use crate::kernel::query::{Look, QueryCodes, Window};
use crate::kernel::reach::BLOCK;

/// What a row without vectors has for its best inner product.
pub const NONE: f32 = f32::NEG_INFINITY;

/// Numbered half-precision vectors with their codes, and the numbers of each row's.
#[derive(Debug)]
pub struct Vectors {
    stride: usize,
    lines: Lines<Line>,
    codes: Codes,
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
        self.lines.len() / self.stride
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
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

    /// What all are taken from before they are rounded.
    pub const fn centre(&self) -> &Centre {
        self.codes.centre()
    }

    /// What [`Self::dots`] is not above, for the vectors looked at, by a query rounded for [`Self::centre`].
    pub fn bounds(&self, kernel: &Kernel, query: &QueryCodes, look: &Look<'_>, out: &mut [f32]) {
        kernel.bounds(query, &self.codes.coded(), look, out);
    }

    /// The same by the coarse codes, of some of 64 vectors side by side.
    pub fn block_bounds(&self, kernel: &Kernel, query: &QueryCodes, window: &Window, out: &mut [f32; BLOCK]) {
        kernel.block_bounds(query, &self.codes.coded(), window, out);
    }

    /// Bytes of the coarse codes.
    pub fn scanned_bytes(&self) -> usize {
        size_of_val(self.codes.coded().high)
    }

    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        let numbers = (self.starts.capacity() + self.numbers.capacity()) * 4;
        self.lines.bytes() + self.codes.bytes() + numbers
    }

    fn lines_of(&self, number: u32) -> &[Line] {
        &self.lines[number as usize * self.stride..][..self.stride]
    }
}

/// How an index keeps vectors.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// Lines of each.
    pub stride: usize,
    /// What rounds them.
    pub kernel: Kernel,
}

/// Makes [`Vectors`], row after row.
pub struct Builder {
    form: Form,
    lines: Lines<Line>,
    /// Number of the first vector of each hash.
    met: HashMap<u64, u32, BuildHasherDefault<Itself>>,
    starts: Vec<u32>,
    numbers: Vec<u32>,
    single: bool,
    plain: bool,
}

impl Builder {
    /// No rows yet, with room for this many vectors.
    pub fn new(form: Form, vectors: usize) -> Self {
        Self {
            form,
            lines: Lines::with_capacity(vectors * form.stride),
            met: HashMap::default(),
            starts: vec![0],
            numbers: Vec::with_capacity(vectors),
            single: true,
            plain: true,
        }
    }

    /// Appends a row with these vectors, each half-precision bits of the index's dimensions.
    pub fn push(&mut self, vectors: &[Vec<u16>]) {
        for vector in vectors {
            let start = self.lines.len();
            pack(vector).for_each(|line| self.lines.extend(&[line]));
            self.number(start);
        }
        self.end_row(vectors.len());
    }

    /// Appends row `row` of `source`.
    pub fn push_from(&mut self, source: &Vectors, row: usize) {
        let owners = source.owners();
        owners.each(row, |number| {
            let start = self.lines.len();
            self.lines.extend(source.lines_of(number));
            self.number(start);
        });
        self.end_row(owners.count(row));
    }

    /// Gives the lines from `start` on a number, or takes them away where the same ones have one.
    fn number(&mut self, start: usize) {
        let (stride, next) = (self.form.stride, (start / self.form.stride) as u32);
        let (before, lines) = self.lines.split_at(start);
        let first = *self.met.entry(hash(lines)).or_insert(next);
        // Another vector of the same hash is a stranger: it only misses being found again.
        let known = first < next && &before[first as usize * stride..][..stride] == lines;
        if known {
            self.lines.truncate(start);
        }
        self.numbers.push(if known { first } else { next });
    }

    fn end_row(&mut self, vectors: usize) {
        let row = self.starts.len() as u32 - 1;
        self.single &= vectors == 1;
        self.plain &= vectors == 1 && self.numbers.last() == Some(&row);
        self.starts.push(self.numbers.len() as u32);
    }

    /// What was made.
    pub fn finish(self) -> Vectors {
        let (Form { stride, kernel }, lines) = (self.form, self.lines.shrunk());
        let codes = kernel.encoded(&lines, stride);
        let starts = if self.single { Vec::new() } else { self.starts };
        let numbers = if self.plain { Vec::new() } else { self.numbers };
        Vectors { stride, lines, codes, starts, numbers }
    }
}

fn hash(lines: &[Line]) -> u64 {
    // Four chains that do not wait for one another.
    let mut hashes = [0; 4];
    for words in lines.iter().flat_map(|line| line.0.as_chunks::<16>().0) {
        for (hash, &[a, b, c, d]) in hashes.iter_mut().zip(words.as_chunks().0) {
            let word = u64::from(a) | u64::from(b) << 16 | u64::from(c) << 32 | u64::from(d) << 48;
            *hash = mixed(*hash, word);
        }
    }
    hashes.into_iter().fold(0, mixed)
}

const fn mixed(hash: u64, word: u64) -> u64 {
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    (hash.rotate_left(29) ^ word).wrapping_mul(SPREAD)
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
