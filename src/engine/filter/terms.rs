// SPDX-License-Identifier: GPL-2.0

//! A compiled filter: its terms, each an operand and the test it must pass.

use core::fmt;

use super::arithmetic::Arithmetic;
use crate::engine::definition::task::is_of_task;
use crate::engine::record::Header;
use crate::engine::util::glob;
use crate::sys::{AtomicU64, Vec};

/// The part of a hit that is known before its arguments are fetched.
#[derive(Clone, Copy, Debug)]
pub struct Hit {
    /// The record's header.
    pub header: Header,
    /// The CPU.
    pub cpu: u32,
    /// `__probe_ip`, or `__probe_func` of a return probe.
    pub place: u64,
}

/// A compiled filter.
///
/// # Invariants
///
/// The targets of a term are later terms, or [`ACCEPT`] or [`REJECT`].
#[derive(Debug, PartialEq, Eq)]
pub struct Filter {
    pub(super) text: Vec<u8>,
    pub(super) terms: Vec<Term>,
    /// Patterns of text terms.
    pub(super) patterns: Vec<u8>,
    /// CPU sets of terms, 64 CPUs in a word.
    pub(super) cpus: Vec<u64>,
    /// Arithmetic on operands of terms.
    pub(super) arithmetic: Vec<Arithmetic>,
    /// The filter as a single comparison, if possible.
    pub(super) single: Option<Single>,
    /// The number of hits that exhausted the step budget.
    pub(super) exhausted: Exhausted,
}

/// A number of hits.
pub(super) struct Exhausted(AtomicU64);

impl fmt::Debug for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.load_relaxed().fmt(f)
    }
}

impl Exhausted {
    pub(super) fn none() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Adds one.
    ///
    /// Context: any.
    pub(super) fn add(&self) {
        self.0.fetch_add_relaxed(1);
    }
}

/// The number does not take part in comparisons of filters.
impl PartialEq for Exhausted {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for Exhausted {}

/// Step budget of one evaluation: a step is, for example, a pattern tried on one byte of a text.
/// The budget takes less than a millisecond. Without steps left, a term counts as unreadable.
pub(super) const MOST_STEPS: u32 = 1 << 16;

/// Target of a term: the filter is true.
pub(super) const ACCEPT: u16 = u16::MAX;

/// Target of a term: the filter is false.
pub(super) const REJECT: u16 = u16::MAX - 1;

impl Filter {
    /// Returns whether `text` requests the removal of the filter.
    pub fn is_removal(text: &[u8]) -> bool {
        text.trim_ascii() == b"0"
    }

    /// Returns the number of hits that exhausted the step budget.
    pub fn exhausted(&self) -> u64 {
        self.exhausted.0.load_relaxed()
    }

    /// Returns the filter as it was written.
    pub fn text(&self) -> &[u8] {
        &self.text
    }
}

/// Maximum number of bytes of a pattern and a NUL: the kernel's `MAX_FILTER_STR_VAL`. Longer texts
/// are compared in pieces.
pub(super) const MAX_TEXT: usize = 256;
const _: () = assert!(MAX_TEXT - 1 <= glob::LONGEST);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Term {
    pub(super) operand: Operand,
    pub(super) test: Test,
    /// Term to evaluate next if this one is true.
    pub(super) on_true: u16,
    /// Term to evaluate next if it is false.
    pub(super) on_false: u16,
}

/// The operand of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operand {
    /// The argument with this index; `count` elements, each of `width` bytes.
    Argument {
        index: u8,
        count: u8,
        width: u8,
        signed: bool,
    },
    /// The text to which an argument points.
    Pointer {
        index: u8,
        user: bool,
    },
    /// The argument with this index, whose `count` bytes are one value.
    Bytes {
        index: u8,
        count: u8,
    },
    /// The text argument with this index.
    Text {
        index: u8,
        count: u8,
    },
    /// The array of strings with this index.
    Strings {
        index: u8,
    },
    Type,
    Flags,
    PreemptCount,
    Pid,
    Cpu,
    Comm,
    Place,
    ReturnAddress,
}

/// The test that the operand must pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Test {
    /// Relation to a number; both signed or both unsigned.
    Number {
        relation: Relation,
        value: u64,
        signed: bool,
    },
    /// Relation of the result of arithmetic `made_by` to a number; all signed or all unsigned.
    Made {
        made_by: u16,
        relation: Relation,
        value: u64,
        signed: bool,
    },
    /// Relation to another number of the hit, plus `offset`.
    Field {
        relation: Relation,
        other: Operand,
        offset: i64,
    },
    /// Whether the operand is inside or outside a range.
    Range { start: u64, end: u64, outside: bool },
    /// Relation to a set of CPUs, `len` words from `start`.
    Cpus {
        relation: Relation,
        start: u16,
        len: u16,
    },
    /// Equality of the first `bits` bits with those of the pattern from `start`.
    Bytes { start: u16, bits: u8, not: bool },
    /// Match with the pattern of `len` bytes from `start`.
    Text {
        start: u16,
        len: u16,
        glob: bool,
        not: bool,
    },
}

/// The relation of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Bits,
}

impl Relation {
    pub(super) fn is_order(self) -> bool {
        matches!(
            self,
            Self::Less | Self::LessEqual | Self::Greater | Self::GreaterEqual
        )
    }

    #[inline(always)]
    pub(super) fn holds(self, left: u64, right: u64, signed: bool) -> bool {
        // Flipping the sign bit maps signed order to unsigned order.
        let flip = if signed { 1 << 63 } else { 0 };
        let (a, b) = (left ^ flip, right ^ flip);
        match self {
            Relation::Equal => a == b,
            Relation::NotEqual => a != b,
            Relation::Less => a < b,
            Relation::LessEqual => a <= b,
            Relation::Greater => a > b,
            Relation::GreaterEqual => a >= b,
            Relation::Bits => left & right != 0,
        }
    }

    /// Like `holds`, for mixed signs.
    pub(super) fn holds_between(self, left: i128, right: i128) -> bool {
        match self {
            Relation::Equal => left == right,
            Relation::NotEqual => left != right,
            Relation::Less => left < right,
            Relation::LessEqual => left <= right,
            Relation::Greater => left > right,
            Relation::GreaterEqual => left >= right,
            Relation::Bits => left & right != 0,
        }
    }
}

/// A filter of one term that compares a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Single {
    /// The argument, which is not an array.
    pub(super) index: u8,
    /// Number of bits that the argument lacks to 64.
    unused: u8,
    relation: Relation,
    signed: bool,
    /// Whether the value is sign-extended.
    extended: bool,
    /// The verdict if the relation is true.
    on_true: bool,
    value: u64,
}

impl Single {
    /// Returns `terms` as a single comparison, if possible.
    pub(super) fn of(terms: &[Term]) -> Option<Self> {
        let &[term] = terms else { return None };
        let Operand::Argument {
            index,
            count: 1,
            width,
            signed: extended,
        } = term.operand
        else {
            return None;
        };
        if is_of_task(index) {
            return None;
        }
        let Test::Number {
            relation,
            value,
            signed,
        } = term.test
        else {
            return None;
        };
        Some(Self {
            index,
            unused: 64u8.checked_sub(width.checked_mul(8)?)?,
            relation,
            signed,
            extended,
            on_true: term.on_true == ACCEPT,
            value,
        })
    }

    /// Returns whether to record a hit whose argument has this value. Bits above the argument's
    /// width are ignored.
    ///
    /// Context: any.
    #[inline(always)]
    pub(super) fn accepts(&self, value: u64) -> bool {
        let unused = u32::from(self.unused);
        let high = value.wrapping_shl(unused);
        let value = if self.extended {
            // CAST: extends the sign.
            (high as i64).wrapping_shr(unused) as u64
        } else {
            high.wrapping_shr(unused)
        };
        self.relation.holds(value, self.value, self.signed) == self.on_true
    }
}
