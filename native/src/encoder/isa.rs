//! The instruction sets that the encoder has a path for.

use std::fmt;
use std::str::FromStr;

#[cfg(target_arch = "x86_64")]
use crate::encoder::kernel::avx512;
use crate::encoder::kernel::{Work, scalar};
use crate::error::Fault;
use crate::isa;

/// An instruction set; all give the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isa {
    /// Plain Rust; every machine has it. Some sixty times slower than the other.
    Scalar,
    /// AVX-512 (F, BW, DQ, VL) with VNNI.
    Avx512Vnni,
}

impl Isa {
    /// Every path, slowest first.
    pub const ALL: [Self; 2] = [Self::Scalar, Self::Avx512Vnni];

    /// The fastest path that this machine can run.
    pub fn best() -> Self {
        isa::best(&Self::ALL, Self::is_available)
    }

    /// Whether this machine can run the path.
    pub fn is_available(self) -> bool {
        match self {
            Self::Scalar => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Vnni => avx512::is_available(),
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx512Vnni => false,
        }
    }

    /// The name that [`FromStr`] reads.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Avx512Vnni => "avx512vnni",
        }
    }

    /// Runs `work` on this instruction set.
    ///
    /// # Panics
    ///
    /// Where this machine does not have it.
    pub(super) fn run<W: Work>(self, work: W) -> W::Output {
        assert!(self.is_available(), "this machine cannot run isa {self}");
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Vnni => avx512::run(work),
            _ => work.run::<scalar::Scalar>(),
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
