//! The loops over rows, one file per instruction set, chosen once at run time.
//!
//! Within one instruction set a row's result is a function of the row and the query alone: it does
//! not depend on the rows beside it, so answers do not depend on how rows are laid out. Between
//! instruction sets inner products differ by the order of additions only.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
pub mod formula;
pub mod lanes;
pub mod lines;
mod scalar;

use std::fmt;
use std::str::FromStr;

use crate::error::Fault;
use crate::isa;
use formula::{Block, Formula};
use lanes::{Line, QueryLine};

/// An instruction set that the kernel has a path for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isa {
    /// Plain Rust at the architecture's baseline; every machine has it.
    Scalar,
    /// AVX2 with F16C and FMA.
    Avx2,
    /// AVX-512F.
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
            Self::Avx512 => is_x86_feature_detected!("avx512f"),
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

type Dots = unsafe fn(&[QueryLine], &[Line], &mut [f32]);
type Scores = unsafe fn(&Formula, &Block<'_>, &mut [f64]);

/// The functions of one instruction set.
#[derive(Debug, Clone, Copy)]
pub struct Kernel {
    isa: Isa,
    dots: Dots,
    scores: Scores,
}

impl Kernel {
    /// The kernel of an instruction set.
    ///
    /// # Panics
    ///
    /// Where this machine cannot run `isa`; [`Isa::from_str`] never gives such a one.
    #[cfg(target_arch = "x86_64")]
    pub fn new(isa: Isa) -> Self {
        assert!(isa.is_available(), "this machine cannot run isa {isa}");
        let (dots, scores): (Dots, Scores) = match isa {
            Isa::Scalar => (scalar::dots, scalar::scores),
            Isa::Avx2 => (avx2::dots, avx2::scores),
            Isa::Avx512 => (avx512::dots, avx512::scores),
        };
        Self { isa, dots, scores }
    }

    /// The kernel of an instruction set.
    ///
    /// # Panics
    ///
    /// Where this machine cannot run `isa`; [`Isa::from_str`] never gives such a one.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn new(isa: Isa) -> Self {
        assert!(isa.is_available(), "this machine cannot run isa {isa}");
        Self { isa, dots: scalar::dots, scores: scalar::scores }
    }

    /// The instruction set in use.
    pub const fn isa(&self) -> Isa {
        self.isa
    }

    /// Inner products of `query` with each of the rows, which are `query.len()` lines each.
    ///
    /// # Panics
    ///
    /// Where `rows` is not `out.len()` rows of the query's length.
    pub fn dots(&self, query: &[QueryLine], rows: &[Line], out: &mut [f32]) {
        assert_eq!(rows.len(), query.len() * out.len());
        // SAFETY: `new` checked that this machine has the instruction set; lengths are asserted.
        unsafe { (self.dots)(query, rows, out) }
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
