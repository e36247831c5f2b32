// SPDX-License-Identifier: GPL-2.0

//! What handlers of functions have in common, whether of entries or of returns.

use super::{group::SitesOwner, link::Site};
use kernel::prelude::*;

/// The functions of a handler.
pub trait ProbedFunctions {
    /// Adds the functions at `sites`, of `owner`, and arms them if the handler is armed.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; those of ftrace. Then nothing was added.
    ///
    /// Context: process, may sleep.
    fn add(&self, owner: SitesOwner<'_>, sites: &[Site]) -> Result;

    /// Removes the functions of the owners that `which` selects, and waits for their hits.
    ///
    /// Context: process, may sleep.
    fn remove(&self, which: &dyn Fn(SitesOwner<'_>) -> bool);

    /// Returns whether there are no functions.
    ///
    /// Context: process, may sleep.
    fn is_empty(&self) -> bool;

    /// Returns whether there are functions of an owner that `which` selects.
    ///
    /// Context: process, may sleep.
    fn has(&self, which: &dyn Fn(SitesOwner<'_>) -> bool) -> bool;

    /// Calls `each` with the address of each function and its hits; with `None` if the hits
    /// are not counted by function.
    ///
    /// Context: process, may sleep.
    fn each(&self, each: &mut dyn FnMut(u64, Option<u64>));
}
