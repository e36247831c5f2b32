// SPDX-License-Identifier: GPL-2.0

//! The rings of all CPUs, each written by its own CPU only.

use super::{Error, Ring, Storage, Writer};
use crate::sys::{Arc, OnCpu, Vec};

/// A ring for each CPU.
///
/// # Invariants
///
/// The ring at an index is written by the CPU of that number only.
pub struct Rings<S>(Vec<Option<Arc<Ring<S>>>>);

impl<S: Storage> Rings<S> {
    /// No rings.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Gives `cpu`, which has none yet, a ring; see [`Ring::new`].
    ///
    /// # Errors
    ///
    /// Those of [`Ring::new`]; [`Error::BadSize`] if the CPU has a ring.
    pub fn add(&mut self, cpu: u32, storage: S, pages: u32, overwrite: bool) -> Result<(), Error> {
        let index = usize::try_from(cpu).map_err(|_| Error::BadSize)?;
        while self.0.len() <= index {
            self.0.push(None)?;
        }
        let place = self.0.get_mut(index).ok_or(Error::BadSize)?;
        if place.is_some() {
            return Err(Error::BadSize);
        }
        // INVARIANT: The only one that gives out writers is `writer`.
        *place = Some(Arc::new(Ring::new(cpu, storage, pages, overwrite)?)?);
        Ok(())
    }

    /// The right to write to the ring of the CPU that the caller stays on;
    /// `None` if that CPU has no ring.
    ///
    /// Runs in any context.
    #[inline(always)]
    pub fn writer<'a>(&'a self, here: &'a OnCpu) -> Option<Writer<'a, S>> {
        // CAST: u32 to usize widens.
        let ring = self.0.get(here.number() as usize)?.as_ref()?;
        // SAFETY: The proof keeps the caller on the CPU, and by the type
        // invariant no other CPU gets a writer of this ring.
        Some(unsafe { ring.writer() })
    }

    /// The ring of `cpu`, if it has one.
    pub fn of(&self, cpu: u32) -> Option<&Arc<Ring<S>>> {
        self.0.get(usize::try_from(cpu).ok()?)?.as_ref()
    }

    /// The rings, in the order of their CPUs.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Ring<S>>> {
        self.0.iter().flatten()
    }
}

impl<S: Storage> Default for Rings<S> {
    fn default() -> Self {
        Self::new()
    }
}
