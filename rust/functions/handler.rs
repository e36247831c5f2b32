// SPDX-License-Identifier: GPL-2.0

//! What serves the entries of functions.

use super::entry::Entry;
use crate::kapi::{context::OnCpu, registration::Next};
use core::convert::Infallible;

/// What serves the entries of functions, in steps.
///
/// A step is a function of its own, and the last thing that the step before it calls; see
/// [`registration::Handler`](crate::kapi::registration::Handler). [`Next::Stage`] leads from
/// the first step to the last one.
pub trait Handler: Send + Sync {
    /// What [`serve_fast`](Self::serve_fast) passes on to be settled before the next step.
    type Unsettled<'a>
    where
        Self: 'a;

    /// Returns the step that is called first; see
    /// [`Registration::follow`](super::Registration::follow).
    fn first(&self) -> First;

    /// A step that fetches one register or nothing; in other cases it leads to the last step.
    /// Must not call a function of the kernel.
    ///
    /// Context: any, NMI included, with preemption disabled: it must not sleep, lock,
    /// allocate or fault.
    fn serve_fast<'a, const REGISTER: bool>(
        &'a self,
        entry: Entry<'_>,
        here: &'a OnCpu,
    ) -> Next<Self::Unsettled<'a>>;

    /// A step that serves a hit about which nothing is unusual, and in other cases leads to the
    /// last step. What it reads may fault, which calls functions that are hit: the step must
    /// recognise such a hit as unusual.
    ///
    /// Context: as for [`serve_fast`](Self::serve_fast).
    fn serve_usual(&self, entry: Entry<'_>, here: &OnCpu) -> Next<Infallible>;

    /// As [`serve_usual`](Self::serve_usual), of a handler that serves several users, with the
    /// number of [`First::Shared`].
    fn serve_shared<const NUMBER: u8>(&self, entry: Entry<'_>, here: &OnCpu) -> Next<Infallible>;

    /// The last step, which serves any hit. It is not called on a CPU in a context in which
    /// it runs already: such a hit counts as missed.
    ///
    /// Context: as for [`serve_fast`](Self::serve_fast).
    fn serve(&self, entry: Entry<'_>, here: &OnCpu);

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

/// The step that is called first: each of them serves any hit, or leads to one that does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum First {
    /// [`Handler::serve_fast`], which fetches nothing.
    Nothing,
    /// [`Handler::serve_fast`], which fetches one register.
    Register,
    /// [`Handler::serve_usual`].
    Usual,
    /// [`Handler::serve_shared`] with this number, at most 2.
    Shared(u8),
}
