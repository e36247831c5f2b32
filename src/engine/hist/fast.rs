// SPDX-License-Identifier: GPL-2.0

//! The hits that are counted in few instructions.

use super::column::KeySource;
use super::source::extend;
use super::spec::Spec;
use super::table::EntryShape;
use crate::engine::program::exec::{self, Arguments, Memory};
use crate::engine::program::fetch::Program;

/// How a hit is counted: by what key, and what else is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UpdateBy {
    /// By one number, which is the claim; there are no values.
    HitsOfWord,
    /// By one number with the name of its task, or by two numbers; there are no values.
    HitsOfWords,
    /// By one number, which is the claim.
    Word,
    /// By two numbers.
    Pair,
    /// By any key.
    Any,
    /// By one number; a hit sets variables, and emits a synthetic event if there is an action.
    Sets(QuickArgs),
    /// By one number; all that a hit does is to set a variable to the time.
    Stamps,
    /// By one number; a hit does nothing without the variables of others.
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
            _ => Self::Any,
        }
    }
}

/// What a synthetic event gets, in few instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct QuickArgs {
    /// Indices in the values of the variables of others, behind which are those of the own ones.
    pub(super) from: [u8; QUICK_ARGS],
    /// How many there are.
    pub(super) count: usize,
}

impl QuickArgs {
    /// Nothing.
    pub(super) const NONE: Self = Self {
        from: [0; QUICK_ARGS],
        count: 0,
    };
}

/// Most of these.
pub(super) const QUICK_ARGS: usize = 8;

/// The numbers of a hit that take few instructions.
///
/// Context: any.
pub trait AtHand {
    /// Returns what [`Values::number`](super::Values::number) returns; `None` if more than
    /// registers is needed.
    fn number(&self, source: KeySource) -> Option<u64>;
}

/// What is at hand of a probe's hit: registers, and then what else is a number.
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

/// What is at hand of a probe's hit in registers.
#[derive(Clone, Copy)]
pub struct RegisterHit<'a, E, P, C> {
    /// The program of the probe.
    pub program: &'a Program,
    /// Its registers.
    pub env: &'a E,
    /// Returns the task's pid.
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
