// SPDX-License-Identifier: GPL-2.0

//! The rings of all CPUs.

use crate::{
    engine::ring::{self, Ring},
    kapi::{
        clock::{Clock, Hands},
        context::OnCpu,
        percpu::PerCpu,
    },
    sys::Pages,
};
use kernel::{prelude::*, sync::Arc};

/// Sub-buffers of a CPU without the reader's, at the least: one that is written,
/// and one between.
const MIN_SLOTS: usize = 2;

/// A CPU's ring. Others may hold it longer than the buffer does.
pub(super) type Shared = ring::Shared<Pages, Hands>;

/// What changes as a whole: nothing is in a ring with another clock's time, and
/// all sub-buffers have one size.
pub(super) struct Timed {
    /// Each CPU's ring.
    here: ring::Rings<Pages, Hands>,
    pub(super) clock: Clock,
    /// Bytes of a sub-buffer.
    pub(super) sub_buffer: usize,
}

/// A clock that another owns.
pub(super) struct ByReference<'a>(&'a Hands);

impl ring::Clock for ByReference<'_> {
    #[inline(always)]
    fn now(&self) -> u64 {
        self.0.now()
    }
}

impl ring::QuickClock for ByReference<'_> {
    #[inline(always)]
    fn now(&self) -> Option<u64> {
        self.0.now_quickly()
    }
}

impl Timed {
    /// Rings for all CPUs that can ever be online: those that `each` makes, with
    /// the times of `clock`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and those of `each`.
    pub(super) fn new(
        clock: Clock,
        sub_buffer: usize,
        each: impl FnMut(u32) -> Result<Shared>,
    ) -> Result<Arc<Self>> {
        let here = ring::Rings::new(PerCpu::new(each)?).ok_or(EINVAL)?;
        Ok(Arc::new(
            Self {
                here,
                clock,
                sub_buffer,
            },
            GFP_KERNEL,
        )?)
    }

    /// The writer of this CPU's ring, with its clock.
    ///
    /// Contexts: any.
    #[inline(always)]
    pub(super) fn writer<'a>(
        &'a self,
        here: &'a OnCpu,
    ) -> (ring::Writer<'a, Pages>, ByReference<'a>) {
        let (writer, clock) = self.here.writer(here);
        (writer, ByReference(clock))
    }

    /// The rings, in the order of their CPUs.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Shared> {
        self.here.iter()
    }

    /// The rings of all CPUs, or that of `cpu` alone.
    pub(super) fn some(&self, cpu: Option<u32>) -> impl Iterator<Item = &Shared> {
        let wanted = move |ring: &&Shared| cpu.is_none_or(|cpu| ring.cpu() == cpu);
        self.iter().filter(wanted)
    }

    /// The ring of `cpu`, if it has one.
    pub(super) fn of(&self, cpu: u32) -> Option<&Shared> {
        self.here.of(cpu)
    }
}

/// Size of `ring`, in KiB.
pub(super) fn kilobytes(ring: &Ring<Pages>) -> usize {
    // CAST: u32 to usize widens.
    (ring.capacity() as usize).saturating_mul(ring.page_bytes()) / 1024
}

/// How many sub-buffers of `sub_buffer` bytes a ring of as many `kilobytes` has.
///
/// # Errors
///
/// `ENOMEM` for more than can be, `EINVAL` for sub-buffers of nothing.
pub(super) fn slots(kilobytes: usize, sub_buffer: usize) -> Result<usize> {
    let bytes = kilobytes.checked_mul(1024).ok_or(ENOMEM)?;
    let whole = bytes.checked_div(sub_buffer).ok_or(EINVAL)?;
    let part = usize::from(whole.wrapping_mul(sub_buffer) < bytes);
    Ok(whole.saturating_add(part).max(MIN_SLOTS))
}

/// An empty ring for `cpu` of as many `kilobytes`, in sub-buffers of
/// `sub_buffer` bytes, with the times of `clock`.
///
/// # Errors
///
/// `ENOMEM`, `EINVAL` for a size that no ring has.
pub(super) fn make(cpu: u32, kilobytes: usize, sub_buffer: usize, clock: Clock) -> Result<Shared> {
    // One more for the reader.
    let count = slots(kilobytes, sub_buffer)?.checked_add(1).ok_or(ENOMEM)?;
    let pages_count = u32::try_from(count).map_err(|_| ENOMEM)?;
    let pages = Pages::new(count, sub_buffer)?;
    let ring = Ring::new(cpu, pages, pages_count, true).map_err(|error| match error {
        ring::Error::NoMemory => ENOMEM,
        ring::Error::BadSize => EINVAL,
    })?;
    Ok(Shared::new(ring, Hands::of(clock))?)
}
