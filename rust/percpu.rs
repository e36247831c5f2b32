// SPDX-License-Identifier: GPL-2.0

//! Owned per-CPU memory.
//!
//! C header: [`include/linux/percpu.h`](srctree/include/linux/percpu.h)

use super::{arch, calls, context::OnCpu, local::Counter};
use core::{mem, ptr};
use kernel::{bindings, prelude::*};

/// The numbers of the CPUs that can ever be online, ascending.
pub fn possible_cpus() -> impl Iterator<Item = u32> {
    (0..cpu_limit()).filter(|&cpu| calls::ferroprobe_cpu_possible(cpu))
}

/// One more than the highest number that a CPU can have.
pub fn cpu_limit() -> u32 {
    // SAFETY: Set at boot and constant since.
    unsafe { bindings::nr_cpu_ids }
}

/// Whether `cpu` is online.
pub fn is_online(cpu: u32) -> bool {
    calls::ferroprobe_cpu_online(cpu)
}

/// How many CPUs are online; at least one.
pub fn online_cpus() -> u64 {
    let online = possible_cpus().filter(|&cpu| is_online(cpu));
    // CAST: usize has 64 bits.
    online.count().max(1) as u64
}

/// One `T` for each possible CPU.
///
/// # Invariants
///
/// `base` is a per-CPU allocation for `T`, whose instances of the possible CPUs below
/// `filled` are initialised: of all of them, except in `new`.
pub struct PerCpu<T: Send + Sync> {
    base: *mut T,
    filled: u32,
}

// SAFETY: Only shared references to the instances are handed out, and `T` may
// be shared and sent.
unsafe impl<T: Send + Sync> Send for PerCpu<T> {}
// SAFETY: As above.
unsafe impl<T: Send + Sync> Sync for PerCpu<T> {}

impl<T: Send + Sync> PerCpu<T> {
    /// Allocates and fills one instance for each possible CPU.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, or what `init` returns.
    ///
    /// Context: process, may sleep.
    pub fn new(mut init: impl FnMut(u32) -> Result<T>) -> Result<Self> {
        // SAFETY: Size and alignment are those of a type.
        let base = unsafe {
            bindings::pcpu_alloc_noprof(
                mem::size_of::<T>().max(1),
                mem::align_of::<T>(),
                false,
                bindings::GFP_KERNEL,
            )
        }
        .cast::<T>();
        if base.is_null() {
            return Err(ENOMEM);
        }
        // INVARIANT: Allocated above.
        let mut this = Self { base, filled: 0 };
        for cpu in possible_cpus() {
            let value = init(cpu)?;
            // SAFETY: The instance is allocated and not yet initialised.
            unsafe { instance(base, cpu).write(value) };
            // INVARIANT: Filled just now.
            this.filled = cpu.saturating_add(1);
        }
        Ok(this)
    }

    /// The instance of the CPU on which the caller stays.
    ///
    /// Contexts: any.
    #[inline(always)]
    pub fn this_cpu<'a>(&'a self, here: &'a OnCpu) -> &'a T {
        let instance = self.base.wrapping_byte_add(arch::offset_from(here.base()));
        // SAFETY: By the type invariant the instance of this CPU is initialised,
        // and only shared references to it exist.
        unsafe { &*instance }
    }

    /// The instance of `cpu`; `None` if that CPU is not possible.
    pub fn get(&self, cpu: u32) -> Option<&T> {
        let possible = possible_cpus().any(|possible| possible == cpu);
        // SAFETY: By the type invariant the instance of a possible CPU is
        // initialised, and only shared references to it exist.
        possible.then(|| unsafe { &*instance(self.base, cpu) })
    }

    /// All instances with the numbers of their CPUs, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        // SAFETY: As in `get`.
        possible_cpus().map(|cpu| (cpu, unsafe { &*instance(self.base, cpu) }))
    }
}

impl<const N: usize> PerCpu<[Counter; N]> {
    /// Adds 1 to this CPU's counter number `index`, if there are as many.
    ///
    /// Contexts: any.
    #[inline(always)]
    pub fn increment(&self, index: usize, here: &OnCpu) {
        if index < N {
            let counter = self.base.cast::<u64>().wrapping_add(index);
            // SAFETY: By the type invariant a per-CPU allocation of counters, of
            // which there are more than `index`; a counter is a transparent
            // word that only this CPU changes.
            unsafe { arch::this_cpu_increment(counter, here.base()) };
        }
    }
}

impl<T: Send + Sync> Drop for PerCpu<T> {
    fn drop(&mut self) {
        for cpu in possible_cpus().take_while(|&cpu| cpu < self.filled) {
            // SAFETY: By the type invariant initialised; no reference is left.
            unsafe { ptr::drop_in_place(instance(self.base, cpu)) };
        }
        // SAFETY: By the type invariant a per-CPU allocation, used no more.
        unsafe { bindings::free_percpu(self.base.cast()) };
    }
}

/// Where the instance of the possible CPU `cpu` lies.
fn instance<T>(base: *mut T, cpu: u32) -> *mut T {
    base.wrapping_byte_add(calls::ferroprobe_per_cpu_offset(cpu))
}
