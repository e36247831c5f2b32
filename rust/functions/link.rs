// SPDX-License-Identifier: GPL-2.0

//! The handlers of one function, a list.

use super::handler::Handler;
use crate::kapi::{percpu::CounterOfCpus, serving::Serving};
use core::sync::atomic::{AtomicPtr, AtomicU32};
use kernel::sync::Arc;

/// A handler with what its hits need.
pub(super) struct Server<H: Handler> {
    pub(super) handler: H,
    pub(super) serving: Arc<Serving>,
}

/// An element of the list of a site's handlers.
///
/// The order of its fields leaves the place aligned to words only, as it is in a record: where
/// the processor must not store it unaligned, the compiler would load it whole and split it.
#[repr(C)]
pub(super) struct Link<H: Handler> {
    pub(super) site: u64,
    /// How a hit of the site is served if this is the first link of its list: by what the
    /// handler fetches, or by all handlers.
    pub(super) way: AtomicU32,
    /// The address of the function, its lower half first.
    pub(super) place: [u32; 2],
    /// The handler, which is in the same registration as the link.
    pub(super) server: AtomicPtr<Server<H>>,
    pub(super) next: AtomicPtr<Link<H>>,
    /// Counts the hits of the site, in memory that is freed after the link.
    pub(super) hits: Option<CounterOfCpus>,
}

/// The ways in which hits are served, see [`Link::way`].
pub(super) const NOTHING: u32 = 0;
pub(super) const REGISTER: u32 = 1;
pub(super) const OTHER: u32 = 2;
pub(super) const SEVERAL: u32 = 3;
/// One of the first three, where hits of the site are counted.
pub(super) const COUNTED: u32 = 4;
