// SPDX-License-Identifier: GPL-2.0

//! The verdict on a probe at a location, and its wording.

use core::fmt;

use super::facts::SpecialRole;

/// The verdict on a probe at one location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It can be registered, and works.
    Probeable,
    /// It cannot be registered, or would not work.
    Refused {
        /// Which side refuses it.
        by: Refuser,
        /// The reason.
        why: Why,
    },
}

/// Which side refuses a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refuser {
    /// The kernel would return an error when the probe is registered.
    Kernel,
    /// ferroprobe: the kernel would accept a probe that cannot work.
    Us,
}

/// Why a location is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The function ends before it.
    Outside {
        /// The function's length.
        size: usize,
    },
    /// It is not the start of an instruction.
    Inside(Inside),
    /// The bytes cannot be decoded, so that nothing from there on is known.
    Undecodable {
        /// The offset of the bytes.
        at: usize,
    },
    /// The function ends within the instruction.
    Cut,
    /// A breakpoint that the facts do not name hides an instruction, so that nothing from
    /// there on is known.
    Hidden {
        /// The offset of the breakpoint.
        at: usize,
    },
    /// The instruction alone cannot carry a probe, for this reason.
    Insn(&'static str),
    /// It lies between a load-exclusive and its store-exclusive.
    ExclusiveSequence {
        /// The offset of the load.
        load: usize,
        /// The offset of the store.
        store: usize,
    },
    /// The kernel's scan takes it for part of an exclusive sequence, which it is not.
    LooksExclusive {
        /// The offset of what the kernel takes for a load-exclusive.
        load: usize,
    },
    /// The location has a special role.
    Role(SpecialRole),
    /// It is part of the type check of an indirect call, which the kernel decodes when the
    /// check fails.
    TypeCheck,
    /// The symbol is not a function but the preamble of one.
    Preamble,
    /// It is padding, which control never reaches.
    Padding,
    /// It lies behind the function's last instruction, and is not part of the function.
    Behind {
        /// The offset behind the last instruction.
        end: usize,
    },
    /// ftrace's pointer of the next function: a breakpoint would be read as a part of it.
    OpsPointer,
    /// The word by which indirect calls check the type of the next function.
    TypeWord,
    /// Data that an instruction of the function loads.
    Literal,
}

/// The instruction that contains a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inside {
    /// Its offset: the nearest boundary before the location.
    pub start: usize,
    /// Its length.
    pub len: usize,
    /// Its mnemonic; empty if it has none.
    pub mnemonic: &'static str,
    /// The nearest boundary behind the location; `None` at the function's end.
    pub after: Option<usize>,
}

impl Verdict {
    /// Returns whether a probe may be placed.
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
            Self::Insn(reason) => f.write_str(reason),
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
            Self::Behind { end } => {
                write!(f, "the function's instructions end at {end:+#x}")
            }
            Self::OpsPointer => f.write_str("it is part of ftrace's pointer of the next function"),
            Self::TypeWord => f.write_str("it is the type of the next function (CFI)"),
            Self::Literal => f.write_str("it is data, which the function loads"),
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

/// A verdict with its location, displayed as a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judgement<'a> {
    /// The function's symbol.
    pub name: &'a [u8],
    /// The requested offset.
    pub offset: usize,
    /// The verdict on a probe there.
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
