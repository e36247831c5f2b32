// SPDX-License-Identifier: GPL-2.0

//! The handlers of one function, a list.

use super::entry::Function;
use crate::kapi::{handler::Handler, percpu::CounterOfCpus, serving::Serving};
use core::{
    ptr,
    sync::atomic::{AtomicPtr, AtomicU8, Ordering},
};
use kernel::sync::Arc;

/// A function to be probed.
#[derive(Clone, Copy)]
pub struct Site {
    /// The address of the function.
    pub function: u64,
    /// The address that ftrace patches for it.
    pub site: u64,
}

/// A handler with what its hits need.
pub(super) struct Server<H: Handler<Function>> {
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
pub(super) struct Link<H: Handler<Function>> {
    pub(super) site: u64,
    /// How a hit of the site is served if this is the first link of its list: by the stage of its
    /// handler with this number, with [`COUNTED`] or without, or by all handlers ([`SEVERAL`]).
    pub(super) way: AtomicU8,
    /// The address of the function, its lower half first.
    pub(super) place: [u32; 2],
    server: AtomicPtr<Server<H>>,
    pub(super) next: AtomicPtr<Link<H>>,
    /// Counts the hits of the site, in memory that is freed after the link.
    pub(super) hits: Option<CounterOfCpus>,
}

impl<H: Handler<Function>> Link<H> {
    /// Makes a link of `server` to `site`, outside all lists.
    ///
    /// # Safety
    ///
    /// The link must be a part of the registration that has the `server`.
    pub(super) unsafe fn new(site: &Site, server: &Server<H>, hits: Option<CounterOfCpus>) -> Self {
        // INVARIANT: By the requirement above.
        Self {
            site: site.site,
            way: AtomicU8::new(SEVERAL),
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

/// A [way](Link::way): by all handlers.
pub(super) const SEVERAL: u8 = 1 << 6;
/// A bit of the way, where hits of the site are counted.
pub(super) const COUNTED: u8 = 1 << 7;
