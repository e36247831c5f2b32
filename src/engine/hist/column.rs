// SPDX-License-Identifier: GPL-2.0

//! The columns of a histogram: its keys, its values and how they are shown.

use core::num::NonZeroU64;

use crate::engine::record::WholeShape;
use crate::sys::{Box, Vec};

/// Maximum number of keys. The kernel has three, its `TRACING_MAP_KEYS_MAX`.
pub const MAX_KEYS: usize = 4;

/// Maximum number of values besides `hitcount`. The kernel has two.
pub const MAX_VALUES: usize = 6;

/// Maximum number of sort keys: the kernel's `TRACING_MAP_SORT_KEYS_MAX`.
pub const MAX_SORTS: usize = 2;

/// Number of words of a string key of variable length.
pub(super) const TEXT_WORDS: u8 = 32;

/// Number of bytes of such a string, with its NUL: the kernel's `MAX_FILTER_STR_VAL`.
pub const TEXT_SIZE: usize = TEXT_WORDS as usize * 8;

/// Number of bytes of the buffer into which a string is read: larger than a key, so that a cut is
/// noticed.
pub const TEXT_ROOM: usize = TEXT_SIZE + 8;

/// The last byte of a string key that was cut, in place of its NUL.
pub const CUT: u8 = 1;

/// Frames of a stack as a key or a variable: the kernel's `HIST_STACKTRACE_DEPTH`.
pub const KEPT_FRAMES: usize = 16;

/// Frames that are looked up: one more than are kept, to learn whether the stack is deeper.
pub const STACK_DEPTH: usize = KEPT_FRAMES + 1;

/// Number of words of a user's stack as a key: the process, and the frames.
pub(super) const USER_STACK_WORDS: usize = 1 + KEPT_FRAMES;

/// The top bit. It is set in kernel addresses and clear in user addresses and pids. To mark a stack
/// deeper than [`KEPT_FRAMES`], the last frame of a kernel stack has it clear, and the pid of a
/// user stack has it set.
pub(super) const HIGH_BIT: u64 = 1 << 63;

/// The same in the last byte of a number.
pub(super) const HIGH_BIT_OF_BYTE: u8 = 1 << 7;

/// Maximum number of words of all keys together: a string and a stack, as in the kernel. A string
/// of fixed length takes fewer.
pub const MAX_KEY_WORDS: usize = TEXT_SIZE / 8 + KEPT_FRAMES;

/// Number of words of a task's name.
pub const COMM_WORDS: usize = 2;

/// A key.
#[derive(Debug, PartialEq, Eq)]
pub struct Key {
    /// The name, as shown.
    pub name: Vec<u8>,
    /// The source.
    pub source: KeySource,
    /// How it is transformed and shown.
    pub modifier: Modifier,
    /// How a hit transforms it, see [`Modifier::step`].
    pub step: KeyStep,
    /// The names of its values, for [`Modifier::Enum`].
    pub names: Option<Box<WholeShape>>,
}

/// How a hit transforms a numeric key: [`Modifier`] reduced to what the hit path needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyStep {
    /// Unchanged.
    None,
    /// See [`Modifier::Log2`].
    Log2,
    /// The start of its bucket of `size` numbers, if it is at most `last`.
    Bucket {
        /// Numbers per bucket.
        size: NonZeroU64,
        /// The greatest number that is handled as non-negative. 0 for [`Modifier::SignedLog2`].
        last: u64,
    },
}

/// A value that is folded over the hits of an entry.
#[derive(Debug, PartialEq, Eq)]
pub struct Value {
    /// The name, as shown.
    pub name: Vec<u8>,
    /// The source.
    pub source: KeySource,
    /// How it is folded.
    pub fold: Fold,
    /// How it is shown.
    pub modifier: Modifier,
}

/// The source of a key or a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// Numeric argument `index`.
    Argument {
        /// Index of the argument.
        index: u8,
        /// Bytes.
        width: u8,
        /// Whether it is sign-extended.
        signed: bool,
    },
    /// Array argument `index`.
    Array {
        /// Index of the argument.
        index: u8,
        /// Number of elements.
        count: u8,
        /// Type of the elements.
        of: ArrayElement,
    },
    /// String argument `index`.
    Text {
        /// Index of the argument.
        index: u8,
        /// Number of words of the key.
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
    /// The probe's address, the function of a return probe, or the number of a system call.
    Place,
    /// The return address of the probed function.
    ReturnAddress,
    /// `hitcount`: 1 for each hit.
    Hits,
    /// The result of expression `index`.
    Computed {
        /// Index of the expression.
        index: u8,
        /// Bytes.
        width: u8,
        /// Whether it is shown with its sign.
        signed: bool,
    },
}

/// The type of array elements. One byte, so that [`KeySource`] takes four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayElement {
    /// A character.
    Char,
    /// Unsigned, one byte.
    U8,
    /// Unsigned, two bytes.
    U16,
    /// Unsigned, four bytes.
    U32,
    /// Unsigned, eight bytes.
    U64,
    /// Signed, one byte.
    S8,
    /// Signed, two bytes.
    S16,
    /// Signed, four bytes.
    S32,
    /// Signed, eight bytes.
    S64,
}

const _: () = assert!(size_of::<KeySource>() == 4);

impl ArrayElement {
    /// Returns the type of integers of `width` bytes; `None` for other widths.
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

    /// Returns the bytes of an element, and whether it is signed.
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
    /// Returns whether the source is a number.
    pub fn is_number(self) -> bool {
        !matches!(
            self,
            Self::Array { .. } | Self::Text { .. } | Self::Comm | Self::Stack | Self::UserStack
        )
    }

    /// Returns size in bytes and signedness of the number, or of the array's elements, in the
    /// kernel's field.
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

/// The key of all negative numbers with [`Modifier::SignedLog2`].
pub const BELOW_ZERO: u64 = u64::MAX;

/// How a key or a value is transformed and shown. At most one modifier, as in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modifier {
    /// Decimal number, string or stack.
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
    /// The power of two that a signed number does not exceed; all negative numbers share one key.
    SignedLog2,
    /// The start of a bucket of that many numbers.
    Buckets(NonZeroU64),
    /// As [`Modifier::Buckets`] for signed numbers.
    SignedBuckets(NonZeroU64),
    /// As the name of an error, or as a number with its sign.
    Errno,
    /// As an IPv4 address.
    Ip4,
    /// As an IPv6 address, an array of bytes.
    Ip6,
    /// As a MAC address, an array of bytes.
    Mac,
    /// As a name of an enumeration, see [`Key::names`].
    Enum,
    /// A time in microseconds.
    Usecs,
    /// Percentage of the sum over all entries.
    Percent,
    /// A bar.
    Graph,
}

impl Modifier {
    /// Returns the signed variant of the modifier if the number is `signed`.
    pub fn of_sign(self, signed: bool) -> Self {
        match self {
            Self::Log2 if signed => Self::SignedLog2,
            Self::Buckets(size) if signed => Self::SignedBuckets(size),
            other => other,
        }
    }

    /// Returns how a hit transforms a key.
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

    /// Returns the size of a bucket.
    pub fn bucket(self) -> Option<NonZeroU64> {
        match self {
            Self::Buckets(size) | Self::SignedBuckets(size) => Some(size),
            _ => None,
        }
    }

    /// Returns the name in a trigger, without the size of a [bucket](Modifier::bucket).
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            // The type of the field tells.
            Self::None | Self::Ip4 | Self::Ip6 | Self::Mac => return None,
            Self::Hex => "hex",
            Self::Sym => "sym",
            Self::SymOffset => "sym-offset",
            Self::Execname => "execname",
            Self::Syscall => "syscall",
            Self::Log2 | Self::SignedLog2 => "log2",
            Self::Buckets(_) | Self::SignedBuckets(_) => "buckets",
            Self::Errno => "errno",
            Self::Enum => "enum",
            Self::Usecs => "usecs",
            Self::Percent => "percent",
            Self::Graph => "graph",
        })
    }
}

/// How values are combined over the hits of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// Sum, modulo 2^64.
    Sum,
    /// Minimum.
    Min,
    /// Maximum.
    Max,
    /// Mean, rounded towards zero.
    Avg,
}

impl Fold {
    /// Returns the name in a trigger; a sum has none.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Sum => None,
            Self::Min => Some("min"),
            Self::Max => Some("max"),
            Self::Avg => Some("avg"),
        }
    }
}

/// One sort key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sort {
    /// What is compared.
    pub by: Column,
    /// Whether the greatest comes first.
    pub descending: bool,
}

/// A column that entries can be sorted by.
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
    /// Returns the number of words of the key.
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
