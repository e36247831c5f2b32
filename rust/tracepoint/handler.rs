// SPDX-License-Identifier: GPL-2.0

//! What serves the hits of a tracepoint.

use crate::kapi::{context::OnCpu, registration::Next};
use core::convert::Infallible;

/// The most arguments that a tracepoint has.
pub const MAX_ARGUMENTS: usize = 12;

/// The number of arguments that the kernel passes in registers, behind the pointer that is
/// the probe's own.
#[cfg(target_arch = "x86_64")]
pub(super) const IN_REGISTERS: usize = 5;
/// The number of arguments that the kernel passes in registers, behind the pointer that is
/// the probe's own.
#[cfg(target_arch = "aarch64")]
pub(super) const IN_REGISTERS: usize = 7;

/// The arguments of a hit, in order. The bits that an argument does not have in its type
/// are undefined.
#[derive(Clone, Copy)]
pub struct Arguments<'a>(pub(super) &'a [u64]);

impl Arguments<'_> {
    /// Returns argument `index`; 0 if there are fewer.
    #[inline(always)]
    pub fn get(&self, index: usize) -> u64 {
        self.0.get(index).copied().unwrap_or(0)
    }
}

/// Which arguments a handler uses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// None.
    Nothing,
    /// The one with this index.
    One(usize),
    /// Some of the first ones, as many as this.
    Some(usize),
    /// The same, and [`Handler::serve_quietly`] comes first.
    Quietly(usize),
}

/// What serves the hits of a tracepoint, in steps.
///
/// A step is a function of its own, and the last thing that the step before it calls; see
/// [`registration::Handler`](crate::kapi::registration::Handler). [`Next::Stage`] leads from a step
/// to the next one.
pub trait Handler: Send + Sync {
    /// What [`serve_fast`](Self::serve_fast) passes on to be settled before the next step.
    type Unsettled<'a>
    where
        Self: 'a;

    /// Returns which arguments it uses.
    fn uses(&self) -> Use;

    /// The first step, if one argument is used or none. It leads to [`SHARED`], [`FILTER`] or
    /// [`LAST`]. Must not reach a tracepoint, and serves no hit in an interrupt or with preemption
    /// disabled.
    ///
    /// Context: any, NMI included, with preemption disabled: it must not sleep, lock,
    /// allocate or fault.
    fn serve_fast<'a>(
        &'a self,
        argument: Option<u64>,
        here: &'a OnCpu,
    ) -> Next<Self::Unsettled<'a>>;

    /// Returns the step to begin with, unless [`serve_fast`](Self::serve_fast) or
    /// [`serve_quietly`](Self::serve_quietly) is the first one.
    ///
    /// Context: as for [`serve_fast`](Self::serve_fast).
    fn begins_with(&self) -> u8 {
        FILTER
    }

    /// The step [`FILTER`], with the restrictions of [`serve_fast`](Self::serve_fast): returns
    /// whether the hit is to be ignored.
    ///
    /// Context: as for [`serve_fast`](Self::serve_fast).
    fn rejects(&self, arguments: Arguments<'_>, here: &OnCpu) -> bool;

    /// The step [`SHARED`], if one argument is used or none, with the same restrictions, but it
    /// may reach tracepoints: it must recognise the hits of these as unusual.
    ///
    /// Context: as for [`serve_fast`](Self::serve_fast).
    fn serve_shared(&self, _argument: Option<u64>, _here: &OnCpu) -> Next<Infallible> {
        Next::Stage(LAST)
    }

    /// The step [`SHARED`] for any arguments, as [`serve_shared`](Self::serve_shared);
    /// `QUIETLY` with [`Use::Quietly`] only.
    ///
    /// Context: as for [`serve_fast`](Self::serve_fast).
    fn serve_shared_any<const QUIETLY: bool>(
        &self,
        _arguments: Arguments<'_>,
        _here: &OnCpu,
    ) -> Next<Infallible> {
        Next::Stage(LAST)
    }

    /// The first step with [`Use::Quietly`], if the kernel passes the arguments in registers. It has
    /// the restrictions of [`serve_fast`](Self::serve_fast), and leads to [`SHARED`] or [`LAST`].
    ///
    /// Context: as for [`serve_fast`](Self::serve_fast).
    fn serve_quietly(&self, arguments: Arguments<'_>, here: &OnCpu) -> Next<Infallible>;

    /// The last step, which serves any hit. It is not called on a CPU in a context in which
    /// it runs already: such a hit counts as missed.
    ///
    /// Context: as for [`serve_fast`](Self::serve_fast).
    fn serve(&self, arguments: Arguments<'_>, here: &OnCpu);

    /// Settles what [`serve_fast`](Self::serve_fast) has passed on.
    ///
    /// Context: as for [`serve_fast`](Self::serve_fast).
    fn settle(&self, unsettled: Self::Unsettled<'_>);

    /// Counts a hit for which [`serve`](Self::serve) is not called.
    ///
    /// Context: as for [`serve_fast`](Self::serve_fast).
    fn count_missed(&self, here: &OnCpu);

    /// Called after a step that returns [`Next::Finish`].
    ///
    /// Context: as for [`serve`](Self::serve).
    fn finish(&self, here: &OnCpu);
}

/// The steps to which the first one leads, numbers of [`Next::Stage`]: serving any hit,
pub const LAST: u8 = 0;
/// asking a filter before that,
pub const FILTER: u8 = 1;
/// and serving a hit for several users, before that.
pub const SHARED: u8 = 2;
