// SPDX-License-Identifier: GPL-2.0

//! What becomes of a probe at a place, and the words for it.

use core::fmt;

use super::facts::Role;
use crate::engine::insn::{arm64, x86};

/// What becomes of a probe at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It can be registered, and works.
    Probeable,
    /// It cannot, or must not.
    Refused {
        /// Who says so.
        by: Refuser,
        /// Why.
        why: Why,
    },
}

/// Who refuses a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refuser {
    /// The kernel would return an error when the probe is registered.
    Kernel,
    /// We do: the kernel would accept a probe that cannot work.
    Us,
}

/// Why a place is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The function ends before.
    Outside {
        /// The function's length.
        size: usize,
    },
    /// It is not the start of an instruction.
    Inside(Inside),
    /// The bytes are no instruction, so that nothing from there on can be told.
    Undecodable {
        /// The offset of the bytes.
        at: usize,
    },
    /// The function ends within the instruction.
    Cut,
    /// A breakpoint that the facts do not name hides an instruction, so that
    /// nothing from there on can be told.
    Hidden {
        /// The offset of the breakpoint.
        at: usize,
    },
    /// An x86 instruction that cannot carry a probe.
    X86(x86::Refusal),
    /// An arm64 instruction that the kernel does not probe.
    Arm64(arm64::Reason),
    /// An arm64 instruction that goes wrong out of line.
    Hazard(arm64::Hazard),
    /// It lies between a load-exclusive and its store-exclusive.
    ExclusiveSequence {
        /// The offset of the load.
        load: usize,
        /// The offset of the store.
        store: usize,
    },
    /// The kernel's scan takes it for part of a sequence. It is none.
    LooksExclusive {
        /// The offset of what the kernel takes for a load-exclusive.
        load: usize,
    },
    /// The place has a special role.
    Role(Role),
    /// It is part of the check of an indirect call's type, which the kernel
    /// decodes when the check fails.
    TypeCheck,
    /// The function is no function but the preamble of one.
    Preamble,
    /// It is padding, to which control never comes.
    Padding,
}

/// The instruction that a place lies inside of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inside {
    /// Its offset: the nearest boundary before the place.
    pub start: usize,
    /// Its length.
    pub len: usize,
    /// Its mnemonic; empty when it has none.
    pub mnemonic: &'static str,
    /// The nearest boundary behind the place; `None` at the function's end.
    pub after: Option<usize>,
}

impl Verdict {
    /// Whether a probe may be placed.
    pub const fn is_probeable(&self) -> bool {
        matches!(self, Self::Probeable)
    }

    pub(super) const fn by_kernel(why: Why) -> Self {
        Self::Refused {
            by: Refuser::Kernel,
            why,
        }
    }

    pub(super) const fn by_us(why: Why) -> Self {
        Self::Refused {
            by: Refuser::Us,
            why,
        }
    }
}

impl fmt::Display for Refuser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kernel => "the kernel refuses",
            Self::Us => "the kernel would accept it",
        })
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Outside { size } => write!(f, "the function ends at {size:+#x}"),
            Self::Inside(inside) => write!(f, "it {inside}"),
            Self::Undecodable { at } => write!(f, "the bytes at {at:+#x} are no instruction"),
            Self::Cut => f.write_str("the function ends within the instruction"),
            Self::Hidden { at } => {
                write!(f, "a probe of someone else at {at:+#x} hides an instruction")
            }
            Self::X86(refusal) => f.write_str(refusal.describe()),
            Self::Arm64(reason) => write!(f, "it {reason}"),
            Self::Hazard(hazard) => write!(f, "it {hazard}"),
            Self::ExclusiveSequence { load, store } => write!(
                f,
                "it lies in the exclusive sequence from {load:+#x} to {store:+#x}"
            ),
            Self::LooksExclusive { load } => write!(
                f,
                "the kernel takes it for part of an exclusive sequence from {load:+#x}, which it is not"
            ),
            Self::Role(role) => f.write_str(role.describe()),
            Self::TypeCheck => f.write_str("it is part of the type check of an indirect call (CFI)"),
            Self::Preamble => f.write_str("it belongs to the preamble of a function"),
            Self::Padding => f.write_str("it is padding, which is never executed"),
        }
    }
}

impl fmt::Display for Inside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("lies inside ")?;
        match self.mnemonic {
            "" => f.write_str("the instruction")?,
            mnemonic => write!(f, "\"{mnemonic}\"")?,
        }
        write!(f, " at {:+#x} ({} bytes); ", self.start, self.len)?;
        match self.after {
            Some(after) => write!(f, "nearest boundaries {:+#x} and {after:+#x}", self.start),
            None => write!(f, "nearest boundary {:+#x}", self.start),
        }
    }
}

/// A verdict with its place, as a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judgement<'a> {
    /// The function's symbol.
    pub name: &'a [u8],
    /// The offset that was asked for.
    pub offset: usize,
    /// What becomes of a probe there.
    pub verdict: Verdict,
}

impl fmt::Display for Judgement<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.name.utf8_chunks() {
            f.write_str(chunk.valid())?;
        }
        write!(f, "{:+#x} ", self.offset)?;
        match self.verdict {
            Verdict::Probeable => f.write_str("can be probed"),
            Verdict::Refused {
                why: Why::Inside(inside),
                ..
            } => inside.fmt(f),
            Verdict::Refused { by, why } => {
                write!(f, "cannot be probed: {why}")?;
                match why {
                    Why::Outside { .. } => Ok(()),
                    _ => write!(f, " ({by})"),
                }
            }
        }
    }
}
