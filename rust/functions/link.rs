// SPDX-License-Identifier: GPL-2.0

//! The handlers of one function, a list.

use super::{group::Site, handler::Handler};
use crate::kapi::{percpu::CounterOfCpus, serving::Serving};
use core::{
    ptr,
    sync::atomic::{AtomicPtr, AtomicU32, Ordering},
};
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
///
/// # Invariants
///
/// `server` is the handler of the registration that the link is a part of.
#[repr(C)]
pub(super) struct Link<H: Handler> {
    pub(super) site: u64,
    /// How a hit of the site is served if this is the first link of its list: by the step that
    /// the handler names, or by all handlers.
    pub(super) way: AtomicU32,
    /// The address of the function, its lower half first.
    pub(super) place: [u32; 2],
    server: AtomicPtr<Server<H>>,
    pub(super) next: AtomicPtr<Link<H>>,
    /// Counts the hits of the site, in memory that is freed after the link.
    pub(super) hits: Option<CounterOfCpus>,
}

impl<H: Handler> Link<H> {
    /// Makes a link of `server` to `site`, outside all lists.
    ///
    /// # Safety
    ///
    /// The link must be a part of the registration that has the `server`.
    pub(super) unsafe fn new(site: &Site, server: &Server<H>, hits: Option<CounterOfCpus>) -> Self {
        // INVARIANT: By the requirement above.
        Self {
            site: site.site,
            way: AtomicU32::new(SEVERAL),
            // CAST: Halves.
            place: [site.function as u32, (site.function >> 32) as u32],
            server: AtomicPtr::new(ptr::from_ref(server).cast_mut()),
            next: AtomicPtr::new(ptr::null_mut()),
            hits,
        }
    }

    /// Returns the handler.
    #[inline(always)]
    pub(super) fn server(&self) -> &Server<H> {
        // SAFETY: By the type invariant it exists as long as the link does.
        unsafe { &*self.server.load(Ordering::Relaxed) }
    }
}

/// The ways in which hits are served, see [`Link::way`].
pub(super) const NOTHING: u32 = 0;
pub(super) const REGISTER: u32 = 1;
pub(super) const OTHER: u32 = 2;
pub(super) const SEVERAL: u32 = 3;
/// One of the first three, where hits of the site are counted.
pub(super) const COUNTED: u32 = 4;
/// The first one of those for several users. Whether hits are counted is looked at in each.
pub(super) const SHARED: u32 = 8;
