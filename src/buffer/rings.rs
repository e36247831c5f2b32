// SPDX-License-Identifier: GPL-2.0

//! The rings of all CPUs.

use super::{local_clock::Making, time};
use crate::{
    engine::ring::{self, Always, Ring},
    kapi::{
        clock::{self, Clock, Hands},
        context::OnCpu,
        pages::PAGE_SIZE,
        percpu::PerCpu,
    },
    sys::Pages,
};
use kernel::{prelude::*, sync::Arc};

/// Least number of sub-buffers of a CPU, without the reader's: one being written, and one between
/// writer and reader.
const MIN_SLOTS: usize = 2;

/// How much a fast reservation may call.
#[derive(Clone, Copy)]
pub(crate) enum Pace {
    /// No function.
    Fastest,
    /// A clock that takes more than a few instructions.
    Fast,
}

/// A CPU's ring, reference-counted.
pub(super) type Shared = ring::Shared<Pages, Hands>;

/// The rings, replaced as a whole: all times in them are of one clock, and all
/// sub-buffers have one size.
pub(super) struct RingSet {
    /// Each CPU's ring.
    here: ring::Rings<Pages, Hands>,
    pub(super) clock: Clock,
    /// Number of bytes of a sub-buffer.
    pub(super) sub_buffer: usize,
}

/// The successor of closed rings; `None` while none are closed.
pub(super) struct Successor(pub(super) Option<Arc<RingSet>>);

/// A borrowed clock.
#[derive(Clone, Copy)]
pub(super) struct ByReference<'a>(clock::ClockReader<'a>);

impl ring::RingClock for ByReference<'_> {
    #[inline(always)]
    fn now(&self) -> u64 {
        self.0.now()
    }

    fn verified(&self, now: u64) -> u64 {
        let compared = self.0.compare_counter();
        compared.map_or(now, |compared| time::reading(compared).time())
    }
}

impl ring::FastClock for ByReference<'_> {
    #[inline(always)]
    fn now(&self) -> Option<u64> {
        self.0.now_fast()
    }
}

/// A borrowed clock, limited by a pace.
pub(super) struct Paced<'a>(pub(super) ByReference<'a>, pub(super) Pace);

impl ring::FastClock for Paced<'_> {
    #[inline(always)]
    fn now(&self) -> Option<u64> {
        match self.1 {
            Pace::Fastest => self.0.now(),
            Pace::Fast => Always(self.0).now(),
        }
    }
}

impl RingSet {
    /// Makes rings for all CPUs that can ever be online, by `each`, with the times of
    /// `clock`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and the errors of `each`.
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

    /// Returns this CPU's ring, with its clock.
    ///
    /// Context: any.
    #[inline(always)]
    pub(super) fn local<'a>(
        &'a self,
        here: &'a OnCpu,
    ) -> (ring::Local<'a, Pages>, ByReference<'a>) {
        let (ring, clock) = self.here.local(here);
        (ring, ByReference(clock.read_on(here)))
    }

    /// Returns the rings, in the order of their CPUs.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Shared> {
        self.here.iter()
    }

    /// Returns the rings of all CPUs, or only the ring of `cpu`.
    pub(super) fn some(&self, cpu: Option<u32>) -> impl Iterator<Item = &Shared> {
        let wanted = move |ring: &&Shared| cpu.is_none_or(|cpu| ring.cpu() == cpu);
        self.iter().filter(wanted)
    }

    /// Returns the ring of `cpu`, if it has one.
    pub(super) fn of(&self, cpu: u32) -> Option<&Shared> {
        self.here.of(cpu)
    }
}

/// The size of the ring of a CPU that is not present, in KiB.
pub(super) const OF_ABSENT: usize = 1;

/// Returns the size of `ring`, in KiB.
pub(super) fn kilobytes(ring: &Ring<Pages>) -> usize {
    // CAST: u32 to usize widens.
    (ring.capacity() as usize).saturating_mul(ring.page_bytes()) / 1024
}

/// Returns the size of `ring`, in KiB, and of its sub-buffers, in bytes, for [`make`].
pub(super) fn size(ring: &Ring<Pages>) -> (usize, usize) {
    (kilobytes(ring), ring.page_bytes())
}

/// Returns the number of sub-buffers of `sub_buffer` bytes in a ring of `kilobytes`.
///
/// # Errors
///
/// `ENOMEM` if the size overflows, `EINVAL` if `sub_buffer` is 0.
pub(super) fn slots(kilobytes: usize, sub_buffer: usize) -> Result<usize> {
    let bytes = kilobytes.checked_mul(1024).ok_or(ENOMEM)?;
    let whole = bytes.checked_div(sub_buffer).ok_or(EINVAL)?;
    let part = usize::from(whole.wrapping_mul(sub_buffer) < bytes);
    Ok(whole.saturating_add(part).max(MIN_SLOTS))
}

/// Returns the number of spare sub-buffers for a ring of `count`, which replace those lent to
/// pipes: as much as a pipe holds by default, but no more than the ring has. Sub-buffers smaller
/// than a page cannot be lent.
fn spares(count: usize, sub_buffer: usize) -> usize {
    const PIPE: usize = 64 * 1024;
    if sub_buffer % PAGE_SIZE == 0 {
        count.min(PIPE.checked_div(sub_buffer).unwrap_or(0))
    } else {
        0
    }
}

/// Makes an empty ring of `kilobytes` for `cpu`, in sub-buffers of `sub_buffer` bytes, with times
/// by `clock`. The buffer must have it before `making` is dropped. The ring is disabled; the buffer
/// enables it, if it records, before hits find it.
///
/// # Errors
///
/// `ENOMEM`, `EINVAL` for a size that a ring cannot have.
pub(super) fn make(
    cpu: u32,
    (kilobytes, sub_buffer): (usize, usize),
    clock: Clock,
    _making: &Making<'_>,
) -> Result<Shared> {
    // One more, for the reader.
    let count = slots(kilobytes, sub_buffer)?.checked_add(1).ok_or(ENOMEM)?;
    let pages_count = u32::try_from(count).map_err(|_| ENOMEM)?;
    let pages = Pages::new(count.saturating_add(spares(count, sub_buffer)), sub_buffer)?;
    let ring = Ring::new(cpu, pages, pages_count, true).map_err(|error| match error {
        ring::RingError::NoMemory => ENOMEM,
        ring::RingError::BadSize => EINVAL,
    })?;
    ring.set_enabled(false);
    Ok(Shared::new(ring, Hands::of(clock))?)
}
