// SPDX-License-Identifier: GPL-2.0

//! Owned per-CPU memory.
//!
//! C header: [`include/linux/percpu.h`](srctree/include/linux/percpu.h)

use super::{arch, bindings as extra, calls, context::OnCpu, local::Counter, memory};
use core::{mem, ptr};
use kernel::{bindings, prelude::*};

/// Returns the numbers of the CPUs that can ever be online, ascending.
pub fn possible_cpus() -> impl Iterator<Item = u32> {
    (0..cpu_limit()).filter(|&cpu| calls::ferroprobe_cpu_possible(cpu))
}

/// Returns one more than the highest possible CPU number.
pub fn cpu_limit() -> u32 {
    // SAFETY: The variable is set at boot and constant since.
    unsafe { bindings::nr_cpu_ids }
}

/// Returns whether `cpu` is online.
pub fn is_online(cpu: u32) -> bool {
    calls::ferroprobe_cpu_online(cpu)
}

/// Returns whether `cpu` is present: it can come online now. Further CPUs may be added later.
pub fn is_present(cpu: u32) -> bool {
    calls::ferroprobe_cpu_present(cpu)
}

/// Returns the number of online CPUs, at least 1.
pub fn online_cpus() -> u64 {
    let online = possible_cpus().filter(|&cpu| is_online(cpu));
    // CAST: usize has 64 bits.
    online.count().max(1) as u64
}

/// Returns the address of `cpu`'s instance of the per-CPU variable at `address`, which may belong
/// to anyone; `None` if the CPU is not possible. Reads of the address may fault.
pub fn address_of(address: u64, cpu: u32) -> Option<u64> {
    let is_possible = cpu < cpu_limit() && calls::ferroprobe_cpu_possible(cpu);
    // CAST: usize has 64 bits.
    is_possible.then(|| address.wrapping_add(calls::ferroprobe_per_cpu_offset(cpu) as u64))
}

/// One `T` for each possible CPU.
///
/// # Invariants
///
/// `base` is a per-CPU allocation for `T`. Its instances for the possible CPUs below
/// `filled` are initialised; except in `new`, these are all possible CPUs.
pub struct PerCpu<T: Send + Sync> {
    base: *mut T,
    filled: u32,
}

// SAFETY: Only shared references to the instances are handed out, and `T` may be shared
// and sent.
unsafe impl<T: Send + Sync> Send for PerCpu<T> {}
// SAFETY: As above.
unsafe impl<T: Send + Sync> Sync for PerCpu<T> {}

impl<T: Send + Sync> PerCpu<T> {
    /// Allocates and initialises one instance for each possible CPU.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, or the error of `init`.
    ///
    /// Context: process, may sleep.
    pub fn new(mut init: impl FnMut(u32) -> Result<T>) -> Result<Self> {
        /// Number of bytes that are allocated without a check of available memory.
        const FEW: usize = 64 << 10;

        // CAST: u32 to usize widens.
        let bytes = mem::size_of::<T>().saturating_mul(cpu_limit() as usize);
        if bytes > FEW && !memory::suffices(bytes) {
            return Err(ENOMEM);
        }
        // SAFETY: Size and alignment belong to a type.
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
            // INVARIANT: The instance of `cpu` is initialised above.
            this.filled = cpu.saturating_add(1);
        }
        Ok(this)
    }

    /// Returns the instance of the CPU on which the caller stays.
    ///
    /// Context: any.
    #[inline(always)]
    pub fn this_cpu<'a>(&'a self, here: &'a OnCpu) -> &'a T {
        let instance = self.base.wrapping_byte_add(arch::offset_from(here.base()));
        // SAFETY: By the type invariant the instance of this CPU is initialised, and only
        // shared references to it exist.
        unsafe { &*instance }
    }

    /// Returns the instance of `cpu`; `None` if the CPU is not possible.
    pub fn get(&self, cpu: u32) -> Option<&T> {
        // SAFETY: `base` is a per-CPU allocation. By the type invariant the instance of a
        // possible CPU is initialised, and only shared references to it exist.
        unsafe {
            extra::ferroprobe_per_cpu_instance(self.base.cast(), cpu)
                .cast::<T>()
                .as_ref()
        }
    }

    /// Iterates over all instances and the numbers of their CPUs, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        // SAFETY: By the type invariant the instance of a possible CPU is initialised,
        // and only shared references to it exist.
        possible_cpus().map(|cpu| (cpu, unsafe { &*instance(self.base, cpu) }))
    }
}

impl<const N: usize> PerCpu<[Counter; N]> {
    /// Increments the counter `index` of this CPU; does nothing if there is no such counter.
    ///
    /// Context: any.
    #[inline(always)]
    pub fn increment(&self, index: usize, here: &OnCpu) {
        if index < N {
            let counter = self.base.cast::<u64>().wrapping_add(index);
            // SAFETY: By the type invariant `base` is a per-CPU allocation of counters,
            // of which there are more than `index`; a counter is a transparent word that
            // only this CPU changes. By the invariant of `OnCpu` its base is this CPU's.
            unsafe { arch::this_cpu_increment(counter, here.base()) };
        }
    }
}

impl<const N: usize> PerCpu<[Counter; N]> {
    /// Returns the counter `index` of all CPUs; `None` if there is no such counter.
    pub fn counter(&self, index: usize) -> Option<CounterOfCpus> {
        (index < N).then(|| CounterOfCpus(self.base.cast::<u64>().wrapping_add(index)))
    }
}

/// One counter of a [`PerCpu`] array of counters.
///
/// # Invariants
///
/// As long as the array exists, this is one of its counters.
#[derive(Clone, Copy)]
pub struct CounterOfCpus(*mut u64);

impl CounterOfCpus {
    /// Increments the counter of this CPU.
    ///
    /// # Safety
    ///
    /// The array exists.
    ///
    /// Context: any.
    #[inline(always)]
    pub unsafe fn increment(self, here: &OnCpu) {
        // SAFETY: By the type invariant and the caller's promise this is a counter, a
        // transparent word that only this CPU changes. By the invariant of `OnCpu` its base
        // is this CPU's.
        unsafe { arch::this_cpu_increment(self.0, here.base()) };
    }
}

impl<T: Send + Sync> Drop for PerCpu<T> {
    fn drop(&mut self) {
        for cpu in possible_cpus().take_while(|&cpu| cpu < self.filled) {
            // SAFETY: The instance is initialised by the type invariant; no reference to
            // it is left.
            unsafe { ptr::drop_in_place(instance(self.base, cpu)) };
        }
        // SAFETY: `base` is a per-CPU allocation by the type invariant, and is no longer
        // used.
        unsafe { bindings::free_percpu(self.base.cast()) };
    }
}

/// Returns the address of the instance of the possible CPU `cpu`.
fn instance<T>(base: *mut T, cpu: u32) -> *mut T {
    base.wrapping_byte_add(calls::ferroprobe_per_cpu_offset(cpu))
}
