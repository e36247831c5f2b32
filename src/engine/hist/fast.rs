// SPDX-License-Identifier: GPL-2.0

//! How a hit is counted, chosen when the trigger is parsed, and hits that take few instructions.

use super::column::KeySource;
use super::source::extend;
use super::spec::Spec;
use super::table::EntryShape;
use crate::engine::program::exec::{self, Arguments, Memory};
use crate::engine::program::fetch::Program;

/// How a hit is counted: the form of the key, and what else the hit does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UpdateBy {
    /// One number, stored in the claim. No values.
    HitsOfWord,
    /// One number with the task's comm, or two numbers. No values.
    HitsOfWords,
    /// One number, stored in the claim.
    Word,
    /// Two numbers.
    Pair,
    /// The stack of the kernel. No values.
    HitsOfStack,
    /// Any key.
    Any,
    /// One number. The hit sets variables, and emits a synthetic event if there is an action.
    Sets(QuickArgs),
    /// One number. The hit only saves the timestamp in a variable.
    Stamps,
    /// One number. The hit does nothing unless the variables of other histograms are set.
    Rejects,
}

impl UpdateBy {
    pub(super) fn of(spec: &Spec) -> Self {
        if let Some(quick) = spec.quick_update() {
            return quick;
        }
        let are_numbers = spec.keys.iter().all(|key| key.source.is_number());
        let only_hits = are_numbers && spec.values.is_empty() && !spec.is_inter_event();
        match spec.keys.len() {
            1 if only_hits && EntryShape::of(spec).is_word() => Self::HitsOfWord,
            1 | 2 if only_hits => Self::HitsOfWords,
            1 if are_numbers && !spec.keeps_comm() => Self::Word,
            2 if are_numbers => Self::Pair,
            1 if spec.is_by_stack() => Self::HitsOfStack,
            _ => Self::Any,
        }
    }
}

/// The arguments of a synthetic event, for the fast path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct QuickArgs {
    /// Indices of values: first those of other histograms' variables, then those of this histogram.
    pub(super) from: [u8; QUICK_ARGS],
    /// Number of arguments.
    pub(super) count: usize,
}

impl QuickArgs {
    /// No arguments.
    pub(super) const NONE: Self = Self {
        from: [0; QUICK_ARGS],
        count: 0,
    };
}

/// Maximum number of arguments of [`QuickArgs`].
pub(super) const QUICK_ARGS: usize = 8;

/// A hit whose numbers can be read in few instructions.
///
/// Context: any.
pub trait AtHand {
    /// Like [`Values::number`](super::Values::number); `None` if registers do not suffice.
    fn number(&self, source: KeySource) -> Option<u64>;
}

/// A probe's hit: registers, and the other numbers that [`Values`](super::Values) has.
#[derive(Clone, Copy)]
pub struct NumberHit<'a, E, P, C>(pub RegisterHit<'a, E, P, C>);

impl<E, P, C> AtHand for NumberHit<'_, E, P, C>
where
    E: Arguments + Memory,
    P: Fn() -> i32,
    C: Fn() -> u32,
{
    #[inline(always)]
    fn number(&self, source: KeySource) -> Option<u64> {
        if let Some(value) = self.0.number(source) {
            return Some(value);
        }
        match source {
            KeySource::Argument {
                index,
                width,
                signed,
            } => {
                let value = exec::number(self.0.program, index, 0, self.0.env)?;
                Some(extend(value, width, signed))
            }
            _ => None,
        }
    }
}

/// A probe's hit: registers only.
#[derive(Clone, Copy)]
pub struct RegisterHit<'a, E, P, C> {
    /// The program of the probe.
    pub program: &'a Program,
    /// The registers.
    pub env: &'a E,
    /// Returns the pid.
    pub pid: P,
    /// Returns the number of the CPU.
    pub cpu: C,
}

impl<E, P, C> AtHand for RegisterHit<'_, E, P, C>
where
    E: Arguments + Memory,
    P: Fn() -> i32,
    C: Fn() -> u32,
{
    #[inline(always)]
    fn number(&self, source: KeySource) -> Option<u64> {
        match source {
            KeySource::Argument {
                index,
                width,
                signed,
            } => {
                let value = exec::register(self.program, index, self.env)?;
                Some(extend(value, width, signed))
            }
            // CAST: extends the sign.
            KeySource::Pid => Some(i64::from((self.pid)()) as u64),
            KeySource::Cpu => Some(u64::from((self.cpu)())),
            _ => None,
        }
    }
}
