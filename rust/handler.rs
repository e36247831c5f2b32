// SPDX-License-Identifier: GPL-2.0

//! What serves the hits of a probe, in stages.
//!
//! A stage is a function of its own, and the last thing that the stage before it calls. So a first
//! stage that serves most hits calls nothing, and has no registers to save for what it leaves to
//! others. Which stage is first, and which lead to others, is the handler's affair; a mechanism
//! knows of the numbers below.

use super::context::OnCpu;

/// A mechanism of the kernel that reports hits.
pub trait Hits: 'static {
    /// What it tells of a hit.
    type Hit<'a>: Copy;
}

/// What serves the hits of a probe, in stages.
pub trait Handler<M: Hits>: Send + Sync {
    /// Returns the stage that the kernel is to call, if the mechanism leaves that open.
    fn first(&self) -> u8;

    /// Runs the stage with the number `STAGE`. [`NOTHING`] and [`WORD`] must not call a function
    /// of the kernel, but by [`cold`](super::cold); the others up to [`REST`] may, and must recognise
    /// the hits of these as unusual.
    ///
    /// Context: any, NMI included, with preemption disabled: it must not sleep, lock,
    /// allocate or fault.
    fn run<const STAGE: u8>(&self, hit: M::Hit<'_>, here: &OnCpu) -> Next;

    /// Counts a hit that is not served, as the CPU serves another one in the same context.
    ///
    /// Context: as for [`run`](Self::run).
    fn count_missed(&self, here: &OnCpu);
}

/// The first stage of a handler that uses nothing of a hit.
pub const NOTHING: u8 = 0;
/// The first stage of a handler that uses one word of a hit.
pub const WORD: u8 = 1;
/// The first stage of a handler that uses how long a call took.
pub const TIMED: u8 = 3;
/// The first stage of a handler that uses that and one word of the return.
pub const WORD_TIMED: u8 = 4;
/// To these numbers the ones above may lead, and [`USUAL`] and [`QUIETLY`] to the next one: the
/// stages of a handler that serves several users.
pub const SHARED: u8 = 6;
/// One word of a hit, for several users.
pub const SHARED_WORD: u8 = SHARED + WORD;
/// Any number of words, for several users.
pub const SHARED_ANY: u8 = SHARED + 2;
/// The number of stages that only the kernel calls, the first ones, where it is told one.
pub const FIRST_STAGES: u8 = 15;
/// May end a hit, and otherwise leads to [`LAST`].
pub const CHECK: u8 = FIRST_STAGES;
/// Serves any hit.
pub const LAST: u8 = 16;
/// Serves a hit about which nothing is unusual, and otherwise leads to [`REST`].
pub const USUAL: u8 = 17;
/// Serves any hit that [`USUAL`] does not.
pub const REST: u8 = 18;
/// As [`USUAL`], and calls no function of the kernel; otherwise it leads to [`LAST`].
pub const QUIETLY: u8 = 19;
/// As [`SHARED_ANY`], and calls no function of the kernel.
pub const SHARED_QUIETLY: u8 = 20;
/// The number of stages.
pub const STAGES: u8 = 21;

/// What comes after a stage.
pub enum Next {
    /// Nothing.
    Done,
    /// The stage with this number, as above; the last one for any other. It should be a constant:
    /// the compiler then makes a jump of it.
    Stage(u8),
}

impl Next {
    /// Returns whether nothing comes.
    #[inline(always)]
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Done)
    }
}
