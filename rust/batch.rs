// SPDX-License-Identifier: GPL-2.0

//! Probes that are unregistered together.
//!
//! C header: [`include/linux/kprobes.h`](srctree/include/linux/kprobes.h)

use core::pin::Pin;
use kernel::{alloc::KVVec, prelude::*};

/// A registration that can be unregistered together with others.
pub trait Batched: Send + Sized {
    /// The kernel's structure.
    type Probe;

    /// Unregisters `all`, with one wait until none of their handlers runs. Does nothing if
    /// `pointers` has too little room; each registration is then unregistered by its drop.
    ///
    /// Context: process, may sleep.
    fn end_all(all: &mut [Pin<KBox<Self>>], pointers: &mut KVVec<*mut Self::Probe>);
}

/// Registrations that are unregistered together: the drop waits for all their handlers at once.
///
/// Context of the drop: process, may sleep.
pub struct Batch<R: Batched> {
    registrations: KVVec<Pin<KBox<R>>>,
    /// Room for the list that is passed to the kernel.
    pointers: KVVec<*mut R::Probe>,
}

// SAFETY: The pointers are to registrations that the batch owns, and these may be sent.
unsafe impl<R: Batched> Send for Batch<R> {}

impl<R: Batched> Batch<R> {
    /// Creates an empty batch.
    pub const fn new() -> Self {
        Self {
            registrations: KVVec::new(),
            pointers: KVVec::new(),
        }
    }

    /// Reserves room for `additional` registrations: adding and unregistering them then
    /// needs no memory.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub fn make_room(&mut self, additional: usize) -> Result {
        self.registrations.reserve(additional, GFP_KERNEL)?;
        let all = self.registrations.len().saturating_add(additional);
        Ok(self.pointers.reserve(all, GFP_KERNEL)?)
    }

    /// Adds `registration`. Without room and memory, first unregisters the registrations in the
    /// batch; if there is still no room, unregisters `registration` alone.
    ///
    /// The latest registration must be added first, because the kernel finds the latest probe at a
    /// location first.
    ///
    /// Context: process, may sleep.
    pub fn push(&mut self, registration: Pin<KBox<R>>) {
        if self.make_room(1).is_err() {
            self.end();
        }
        if let Err(error) = self.registrations.push_within_capacity(registration) {
            drop(error);
        }
    }

    /// Unregisters all, and keeps the room.
    ///
    /// Context: process, may sleep.
    pub fn end(&mut self) {
        if self.registrations.is_empty() {
            return;
        }
        R::end_all(&mut self.registrations, &mut self.pointers);
        self.pointers.clear();
        self.registrations.clear();
    }
}

impl<R: Batched> Default for Batch<R> {
    fn default() -> Self {
        Self::new()
    }
}

impl<R: Batched> Drop for Batch<R> {
    fn drop(&mut self) {
        self.end();
    }
}
