// SPDX-License-Identifier: GPL-2.0

//! The columns of a histogram: its keys, its values and how they are shown.

use core::num::NonZeroU64;

use crate::sys::Vec;

/// Most keys. The kernel has three, its `TRACING_MAP_KEYS_MAX`.
pub const MAX_KEYS: usize = 4;

/// Most values besides the number of hits. The kernel has two.
pub const MAX_VALUES: usize = 6;

/// Most orders of sorting: the kernel's `TRACING_MAP_SORT_KEYS_MAX`.
pub const MAX_SORTS: usize = 2;

/// Words of a text as a key, if it has no fixed length.
pub(super) const TEXT_WORDS: u8 = 32;

/// Bytes of such a text, with its NUL: the kernel's `MAX_FILTER_STR_VAL`.
pub const TEXT_SIZE: usize = TEXT_WORDS as usize * 8;

/// Bytes into which a text is read: more than a key has room for.
pub const TEXT_ROOM: usize = TEXT_SIZE + 8;

/// What a text that is cut as a key has in place of its NUL.
pub const CUT: u8 = 1;

/// Frames of a stack as a key or a variable: the kernel's `HIST_STACKTRACE_DEPTH`.
pub(super) const KEPT_FRAMES: usize = 16;

/// Frames of a stack that are looked for: one more, of which only matters whether there is one, not
/// which.
pub const STACK_DEPTH: usize = KEPT_FRAMES + 1;

/// Words of a user's stack as a key: the process, and the frames.
pub(super) const USER_STACK_WORDS: usize = 1 + KEPT_FRAMES;

/// A bit that all addresses in the kernel have, and processes and user addresses have not. The
/// last frame of a kernel's stack lacks it if there are more frames, and the process of a user's
/// stack has it then.
pub(super) const HIGH_BIT: u64 = 1 << 63;

/// Most words of all keys together: a text and a stack, as in the kernel. A text of a fixed length
/// takes fewer.
pub const MAX_KEY_WORDS: usize = TEXT_SIZE / 8 + KEPT_FRAMES;

/// Words of a task's name.
pub const COMM_WORDS: usize = 2;

/// A key.
#[derive(Debug, PartialEq, Eq)]
pub struct Key {
    /// Its name, as it is shown.
    pub name: Vec<u8>,
    /// Where it comes from.
    pub source: KeySource,
    /// How it is changed and shown.
    pub modifier: Modifier,
    /// How a hit changes it: [`Modifier::step`].
    pub step: KeyStep,
}

/// How a hit changes a number that is a key. It has few kinds, so that a hit soon knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyStep {
    /// Not at all.
    None,
    /// As [`Modifier::Log2`].
    Log2,
    /// To the start of its bucket of `size` numbers, if it is at most `last`.
    Bucket {
        /// The size.
        size: NonZeroU64,
        /// The greatest number that is not below zero; 0 if the numbers that are not are changed
        /// as by [`Modifier::SignedLog2`], which leaves 0 as it is.
        last: u64,
    },
}

/// A value that is folded over the hits with one key.
#[derive(Debug, PartialEq, Eq)]
pub struct Value {
    /// Its name, as it is shown.
    pub name: Vec<u8>,
    /// Where it comes from.
    pub source: KeySource,
    /// How it is folded.
    pub fold: Fold,
    /// How it is shown.
    pub modifier: Modifier,
}

/// Where a key or a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// The argument with this index, a number of `width` bytes.
    Argument {
        /// The index.
        index: u8,
        /// Bytes.
        width: u8,
        /// Whether its sign is extended.
        signed: bool,
    },
    /// The argument with this index, an array.
    Array {
        /// The index.
        index: u8,
        /// Elements.
        count: u8,
        /// What they are.
        of: ArrayElement,
    },
    /// The argument with this index, a text.
    Text {
        /// The index.
        index: u8,
        /// Words that it takes as a key.
        words: u8,
    },
    /// `common_type`.
    Type,
    /// `common_flags`.
    Flags,
    /// `common_preempt_count`.
    PreemptCount,
    /// `common_pid`.
    Pid,
    /// `common_cpu`.
    Cpu,
    /// `common_comm`.
    Comm,
    /// `common_timestamp`.
    Time,
    /// `common_stacktrace`.
    Stack,
    /// `common_ustacktrace`.
    UserStack,
    /// The address of the probe, or of the function that returns; the number of a system
    /// call.
    Place,
    /// The address to which the function returns.
    ReturnAddress,
    /// `hitcount`: 1 for each hit.
    Hits,
    /// What the expression with this index results in.
    Computed {
        /// The index.
        index: u8,
        /// Bytes.
        width: u8,
        /// Whether it is shown with its sign.
        signed: bool,
    },
}

/// What the elements of an array are.  One byte, so that a [`KeySource`] has four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayElement {
    /// A character.
    Char,
    /// Numbers without a sign.
    U8,
    /// Of two bytes.
    U16,
    /// Of four bytes.
    U32,
    /// Of eight bytes.
    U64,
    /// Numbers with a sign.
    S8,
    /// Of two bytes.
    S16,
    /// Of four bytes.
    S32,
    /// Of eight bytes.
    S64,
}

const _: () = assert!(size_of::<KeySource>() == 4);

impl ArrayElement {
    /// Returns the numbers of `width` bytes; `None` if there are none.
    pub(super) fn number(width: u8, signed: bool) -> Option<Self> {
        Some(match (width, signed) {
            (1, false) => Self::U8,
            (2, false) => Self::U16,
            (4, false) => Self::U32,
            (8, false) => Self::U64,
            (1, true) => Self::S8,
            (2, true) => Self::S16,
            (4, true) => Self::S32,
            (8, true) => Self::S64,
            _ => return None,
        })
    }

    /// Returns the bytes of an element, and whether its sign is extended.
    fn shape(self) -> (u8, bool) {
        match self {
            Self::Char | Self::U8 => (1, false),
            Self::U16 => (2, false),
            Self::U32 => (4, false),
            Self::U64 => (8, false),
            Self::S8 => (1, true),
            Self::S16 => (2, true),
            Self::S32 => (4, true),
            Self::S64 => (8, true),
        }
    }
}

impl KeySource {
    /// Returns whether it is a number.
    pub fn is_number(self) -> bool {
        !matches!(
            self,
            Self::Array { .. } | Self::Text { .. } | Self::Comm | Self::Stack | Self::UserStack
        )
    }

    /// Returns its bytes as the kernel's field and whether its sign is shown; of a number, or of
    /// the elements of an array.
    pub fn shape(self) -> (u8, bool) {
        match self {
            Self::Argument { width, signed, .. } | Self::Computed { width, signed, .. } => {
                (width, signed)
            }
            Self::Array { of, .. } => of.shape(),
            Self::Type => (2, false),
            Self::Flags | Self::PreemptCount => (1, false),
            Self::Pid => (4, true),
            _ => (8, false),
        }
    }
}

/// What all numbers below zero are as keys of [`Modifier::SignedLog2`].
pub const BELOW_ZERO: u64 = u64::MAX;

/// How a key or a value is changed and shown. One modifier at most, as in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modifier {
    /// As a decimal number, text or stack.
    None,
    /// As a hexadecimal number.
    Hex,
    /// As a symbol.
    Sym,
    /// As a symbol with its offset.
    SymOffset,
    /// As the name of a task beside its pid.
    Execname,
    /// As the name of a system call beside its number.
    Syscall,
    /// The power of two that the number does not exceed.
    Log2,
    /// As [`Modifier::Log2`], of a number with a sign: all below zero are one.
    SignedLog2,
    /// The start of its bucket of that many numbers.
    Buckets(NonZeroU64),
    /// As [`Modifier::Buckets`], of a number with a sign.
    SignedBuckets(NonZeroU64),
    /// As the name of an error, or as a number with its sign.
    Errno,
    /// A time in microseconds.
    Usecs,
    /// The percentage of the sum over all entries.
    Percent,
    /// A bar.
    Graph,
}

impl Modifier {
    /// Returns it for a number that has a sign if it is `signed`.
    pub fn of_sign(self, signed: bool) -> Self {
        match self {
            Self::Log2 if signed => Self::SignedLog2,
            Self::Buckets(size) if signed => Self::SignedBuckets(size),
            other => other,
        }
    }

    /// Returns how a hit changes a key.
    pub fn step(self) -> KeyStep {
        const SIGNED: u64 = u64::MAX >> 1;
        let bucket = |size, last| KeyStep::Bucket { size, last };
        match self {
            Self::Log2 => KeyStep::Log2,
            Self::SignedLog2 => bucket(NonZeroU64::MIN, 0),
            Self::Buckets(size) => bucket(size, u64::MAX),
            Self::SignedBuckets(size) => bucket(size, SIGNED),
            _ => KeyStep::None,
        }
    }

    /// Returns how many numbers a bucket has.
    pub fn bucket(self) -> Option<NonZeroU64> {
        match self {
            Self::Buckets(size) | Self::SignedBuckets(size) => Some(size),
            _ => None,
        }
    }

    /// Returns its name in a trigger, without the number of a [bucket](Modifier::bucket).
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::None => return None,
            Self::Hex => "hex",
            Self::Sym => "sym",
            Self::SymOffset => "sym-offset",
            Self::Execname => "execname",
            Self::Syscall => "syscall",
            Self::Log2 | Self::SignedLog2 => "log2",
            Self::Buckets(_) | Self::SignedBuckets(_) => "buckets",
            Self::Errno => "errno",
            Self::Usecs => "usecs",
            Self::Percent => "percent",
            Self::Graph => "graph",
        })
    }
}

/// How a value is folded over the hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// Their sum, modulo 2^64.
    Sum,
    /// The least.
    Min,
    /// The greatest.
    Max,
    /// The mean, rounded towards zero.
    Avg,
}

impl Fold {
    /// Returns its name in a trigger; a sum has none.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Sum => None,
            Self::Min => Some("min"),
            Self::Max => Some("max"),
            Self::Avg => Some("avg"),
        }
    }
}

/// One order of sorting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sort {
    /// What is compared.
    pub by: Column,
    /// Whether the greatest comes first.
    pub descending: bool,
}

/// A column of the histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// The number of hits.
    Hits,
    /// The value with this index.
    Value(usize),
    /// The key with this index.
    Key(usize),
}

impl Key {
    /// Returns the number of words that it takes.
    pub fn words(&self) -> usize {
        match self.source {
            KeySource::Array { count, .. } => usize::from(count),
            KeySource::Text { words, .. } => usize::from(words),
            KeySource::Comm => COMM_WORDS,
            KeySource::Stack => KEPT_FRAMES,
            KeySource::UserStack => USER_STACK_WORDS,
            _ => 1,
        }
    }
}
