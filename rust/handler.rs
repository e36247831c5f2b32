// SPDX-License-Identifier: GPL-2.0

//! What serves the hits of a probe, in stages.
//!
//! A stage is a separate function, and the stage before it tail-calls it. So a first stage that
//! serves most hits calls nothing, and has no registers to save for what it leaves to others. The
//! handler numbers its stages, and decides which is first and which lead to others. A mechanism
//! names the stages that it calls by the constants below.

use super::context::OnCpu;

/// A mechanism of the kernel that reports hits.
pub trait Hits: 'static {
    /// What it tells of a hit.
    type Hit<'a>: Copy;
}

/// What serves the hits of a probe, in stages.
pub trait Handler<M: Hits>: Send + Sync {
    /// Returns the stage that serves hits in the fewest instructions now.
    fn first(&self) -> u8;

    /// Runs the stage with the number `STAGE`. [`BARE`] and [`WORD`] must not call a function of
    /// the kernel, but by [`cold`](super::cold); all others but [`SLOW`] may, and must recognise
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

/// A handler with a callback for each stage that the kernel may call first.
pub trait HandlerByStage<M: Hits>: Handler<M> {
    /// Returns the callback for hits that `stage` serves in the fewest instructions.
    fn callback<C: Callbacks>(stage: u8) -> C::Callback;
}

/// The callbacks of a mechanism.
pub trait Callbacks {
    /// A function that the kernel calls.
    type Callback;

    /// Returns the one that begins with `STAGE`.
    fn of<const STAGE: u8>() -> Self::Callback;
}

// The stages that mechanisms name. All other numbers are the handler's own.

/// Uses nothing of a hit.
pub const BARE: u8 = 0;
/// Uses one word of a hit.
pub const WORD: u8 = 1;
/// Uses how long a call took.
pub const DURATION: u8 = 2;
/// Uses one word of a return, and how long the call took.
pub const WORD_AND_DURATION: u8 = 3;
/// Serves a hit about which nothing is unusual, and otherwise leads to [`SLOW`].
pub const SHORT: u8 = 4;
/// Serves any hit, and does not try a fast path first.
pub const SLOW: u8 = 6;
/// Serves any hit.
pub const SERVE: u8 = 7;
/// [`BARE`] for several users, to which it may lead.
pub const EACH_BARE: u8 = 14;
/// [`WORD`] for several users, to which it may lead.
pub const EACH_WORD: u8 = 15;
/// [`SHORT`] for several users, to which that and [`NO_MEMORY`] may lead.
pub const EACH_SHORT: u8 = 16;
/// May end a hit, and otherwise leads to [`SERVE`]. [`BARE`] and others may lead to it.
pub const FILTER: u8 = 19;
/// Uses the stack of a hit. [`BARE`] and others may lead to it.
pub const STACK: u8 = 24;
/// [`SHORT`] without a call of the kernel; otherwise it leads to [`SERVE`].
pub const NO_MEMORY: u8 = 22;
/// [`EACH_SHORT`] without a call of the kernel.
pub const EACH_NO_MEMORY: u8 = 23;

/// What comes after a stage.
pub enum Next {
    /// Nothing.
    Done,
    /// The stage with this number, if the mechanism tells it apart, else [`SERVE`] or [`SLOW`]. It
    /// should be a constant: the compiler then makes a tail call.
    Stage(u8),
}

impl Next {
    /// Returns whether nothing comes.
    #[inline(always)]
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Done)
    }
}
