//! The loops over rows, one file per instruction set, chosen once at run time.
//!
//! Within one instruction set a row's result is a function of the row and the query alone: it does
//! not depend on the rows beside it, so answers do not depend on how rows are laid out. Between
//! instruction sets inner products differ by the order of additions only: scores of unit vectors by
//! less than 2e-6, ids not at all outside a tie of 1e-5.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
pub mod centre;
pub mod codes;
pub mod density;
pub mod encoding;
pub mod formula;
pub mod lanes;
pub mod lines;
pub mod query;
pub mod reach;
mod rounding;
mod scalar;

use std::fmt;
use std::str::FromStr;

use crate::error::Fault;
use crate::isa;
use centre::Centre;
use codes::Coded;
use density::Density;
use encoding::Codes;
use formula::{Block, Formula};
use lanes::{Line, QueryLine};
use query::{Look, QueryCodes, Window};
use reach::{BLOCK, Hopes, Reach};

/// An instruction set that the kernel has a path for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isa {
    /// Plain Rust at the architecture's baseline; every machine has it.
    Scalar,
    /// AVX2 with F16C and FMA.
    Avx2,
    /// AVX-512 (F, BW) with VNNI.
    Avx512,
}

impl Isa {
    /// Every path, slowest first.
    pub const ALL: [Self; 3] = [Self::Scalar, Self::Avx2, Self::Avx512];

    /// The fastest path that this machine can run.
    pub fn best() -> Self {
        isa::best(&Self::ALL, Self::is_available)
    }

    /// Whether this machine can run the path.
    #[cfg(target_arch = "x86_64")]
    pub fn is_available(self) -> bool {
        match self {
            Self::Scalar => true,
            Self::Avx2 => {
                is_x86_feature_detected!("avx2") && is_x86_feature_detected!("f16c") && is_x86_feature_detected!("fma")
            }
            Self::Avx512 => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vnni")
            }
        }
    }

    /// Whether this machine can run the path.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn is_available(self) -> bool {
        self == Self::Scalar
    }

    /// The name that [`FromStr`] reads.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Isa {
    type Err = Fault;

    /// Reads a name; `auto` is the best available. Names that this machine cannot run are refused.
    fn from_str(name: &str) -> Result<Self, Fault> {
        isa::named(name, &Self::ALL, Self::is_available)
    }
}

type Encoded = unsafe fn(&[Line], usize) -> Codes;
type Rounded = unsafe fn(&[QueryLine], &Centre) -> QueryCodes;
type Dots = unsafe fn(&[QueryLine], &[Line], &[u32], &mut [f32]);
type Bounds = unsafe fn(&QueryCodes, &Coded<'_>, &Look<'_>, &mut [f32]);
type BlockBounds = unsafe fn(&QueryCodes, &Coded<'_>, &Window, &mut [f32; BLOCK]);
type Reaching = unsafe fn(&Reach, &Hopes<'_>, f32, &mut [f32; BLOCK]) -> u64;
type Scores = unsafe fn(&Formula, &Block<'_>, &mut [f64]);

/// The functions of one instruction set.
#[derive(Debug, Clone, Copy)]
pub struct Kernel {
    isa: Isa,
    encoded: Encoded,
    rounded: Rounded,
    dots: Dots,
    bounds: Bounds,
    block_bounds: BlockBounds,
    reaching: Reaching,
    scores: Scores,
}

/// The functions of a path.
macro_rules! kernel {
    ($isa:expr, $path:ident) => {
        Kernel {
            isa: $isa,
            encoded: $path::encoded,
            rounded: $path::rounded,
            dots: $path::dots,
            bounds: $path::bounds,
            block_bounds: $path::block_bounds,
            reaching: $path::reaching,
            scores: $path::scores,
        }
    };
}

impl Kernel {
    /// The kernel of an instruction set.
    ///
    /// # Panics
    ///
    /// Where this machine cannot run `isa`; [`Isa::from_str`] never gives such a one.
    pub fn new(isa: Isa) -> Self {
        assert!(isa.is_available(), "this machine cannot run isa {isa}");
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => kernel!(isa, avx2),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => kernel!(isa, avx512),
            _ => kernel!(isa, scalar),
        }
    }

    /// The instruction set in use.
    pub const fn isa(&self) -> Isa {
        self.isa
    }

    /// How it reads the blocks of codes of so many bytes.
    pub fn density(&self, bytes: usize) -> Density {
        Density::new(self.isa, bytes)
    }

    /// The codes of vectors of `stride` lines each; the same for every instruction set.
    pub fn encoded(&self, lines: &[Line], stride: usize) -> Codes {
        // SAFETY: `new` checked that this machine has the instruction set.
        unsafe { (self.encoded)(lines, stride) }
    }

    /// Inner products of `query` with each of the vectors of these numbers, which are `query.len()` lines each.
    ///
    /// # Panics
    ///
    /// Where there is no vector of a number, or `out` is shorter than `numbers`.
    pub fn dots(&self, query: &[QueryLine], lines: &[Line], numbers: &[u32], out: &mut [f32]) {
        assert!(numbers.len() <= out.len());
        // SAFETY: `new` checked that this machine has the instruction set.
        unsafe { (self.dots)(query, lines, numbers, out) }
    }

    /// A finite query, padded with zeros, as [`Self::bounds`] takes it for vectors around `centre`; the same for every
    /// instruction set.
    pub fn rounded(&self, query: &[QueryLine], centre: &Centre) -> QueryCodes {
        // SAFETY: `new` checked that this machine has the instruction set.
        unsafe { (self.rounded)(query, centre) }
    }

    /// What [`Self::dots`] is not above, for each of the vectors looked at; the same for every instruction set.
    ///
    /// # Panics
    ///
    /// Where there is no vector of a number, or `out` is shorter than the numbers.
    pub fn bounds(&self, query: &QueryCodes, vectors: &Coded<'_>, look: &Look<'_>, out: &mut [f32]) {
        assert!(look.numbers.len() <= out.len());
        // SAFETY: `new` checked that this machine has the instruction set.
        unsafe { (self.bounds)(query, vectors, look, out) }
    }

    /// [`Self::bounds`] by the coarse codes of the vectors in a window, each in its place; the others of `out` are
    /// anything.
    ///
    /// # Panics
    ///
    /// Where there are fewer than 64 vectors from the window's first on.
    pub fn block_bounds(&self, query: &QueryCodes, vectors: &Coded<'_>, window: &Window, out: &mut [f32; BLOCK]) {
        // SAFETY: `new` checked that this machine has the instruction set.
        unsafe { (self.block_bounds)(query, vectors, window, out) }
    }

    /// Bounds of the scores of a block's rows, into `bounds`, and which are not below `bar`, row 0 in the lowest bit.
    ///
    /// # Panics
    ///
    /// Where the columns of `hopes` are of different lengths.
    pub fn reaching(&self, reach: &Reach, hopes: &Hopes<'_>, bar: f32, bounds: &mut [f32; BLOCK]) -> u64 {
        hopes.assert_rows();
        // SAFETY: `new` checked that this machine has the instruction set.
        unsafe { (self.reaching)(reach, hopes, bar, bounds) }
    }

    /// Scores of a block of rows, into `out`.
    ///
    /// # Panics
    ///
    /// Where a column of `block` is not as long as `out`.
    pub fn scores(&self, formula: &Formula, block: &Block<'_>, out: &mut [f64]) {
        block.assert_rows(out.len());
        // SAFETY: `new` checked that this machine has the instruction set; lengths are asserted.
        unsafe { (self.scores)(formula, block, out) }
    }
}
