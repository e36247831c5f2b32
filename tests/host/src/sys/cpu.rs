// SPDX-License-Identifier: GPL-2.0

//! Who takes the part of a CPU.

use core::cell::Cell;
use core::marker::PhantomData;

/// Proof that the caller stays on its CPU for as long as it is borrowed.
///
/// On the host a "CPU" is what a test calls so: a thread that writes alone, and
/// the hooks inside it.
#[derive(Debug)]
pub struct OnCpu(u32, PhantomData<*const ()>);

impl OnCpu {
    /// A proof for a caller that takes the part of the CPU `number`.
    ///
    /// # Safety
    ///
    /// While the value lives nothing takes the part of that CPU but the calling
    /// thread, including its hooks.
    pub unsafe fn new(number: u32) -> Self {
        Self(number, PhantomData)
    }

    /// The number of the CPU.
    #[inline]
    pub fn number(&self) -> u32 {
        self.0
    }
}

thread_local! {
    static HAS_CGROUPS: Cell<bool> = const { Cell::new(true) };
}

/// Makes the kernel of this thread one with or without cgroups.
pub fn set_cgroups(has: bool) {
    HAS_CGROUPS.with(|it| it.set(has));
}

/// Whether tasks have cgroups, as [`set_cgroups`] says; they have if it was never called.
pub fn has_cgroups() -> bool {
    HAS_CGROUPS.with(Cell::get)
}

/// Lets another task run, in the kernel.
pub fn cond_resched() {}

thread_local! {
    static LOOKS_LEFT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Lets this thread be killed once it has looked for that `count` times; `None` lets it live.
pub fn kill_after(count: Option<usize>) {
    LOOKS_LEFT.with(|left| left.set(count));
}

/// Whether the thread is being killed, as [`kill_after`] says.
pub fn is_being_killed() -> bool {
    LOOKS_LEFT.with(|left| match left.get() {
        None => false,
        Some(0) => true,
        Some(n) => {
            left.set(Some(n - 1));
            false
        }
    })
}
