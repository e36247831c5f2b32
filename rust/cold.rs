// SPDX-License-Identifier: GPL-2.0

//! Calls that keep all registers.
//!
//! A function that calls another one must save registers for that on each hit, however seldom the
//! call happens. So rare work of a fast stage is called from here: the call itself saves the
//! registers, and the stage stays a leaf function. The kernel calls its scheduler
//! (`preempt_schedule_thunk`), and the checks of its lists (`__preserve_most`), in this way.

use super::{arch, context::OnCpu};
use core::ptr;

/// Work that hits seldom do.
pub trait Seldom {
    /// Offset of this value in the structure whose address the caller has in a register, in bytes.
    /// Any value is correct; the right one saves hits an addition and a register.
    const OFFSET: usize = 0;

    /// Does the work.
    ///
    /// Context: any, with preemption disabled.
    fn run(&self, here: &OnCpu);
}

/// Calls [`Seldom::run`].
///
/// Context: any, with preemption disabled.
#[inline(always)]
pub fn call<T: Seldom>(what: &T, _here: &OnCpu) {
    unlikely();
    let base = ptr::from_ref(what).wrapping_byte_sub(T::OFFSET);
    // SAFETY: `enter` gets a reference that is valid during the call, and the caller proves that
    // preemption is disabled.
    unsafe { arch::call_keeping_registers!(enter::<T>, base, T::OFFSET) };
}

/// # Safety
///
/// `what` must be valid during the call, and preemption be disabled.
unsafe extern "C" fn enter<T: Seldom>(what: *const T) {
    // SAFETY: By the promise of the caller.
    let (what, here) = unsafe { (&*what, OnCpu::new()) };
    what.run(&here);
}

/// Makes the compiler treat the branch that calls this as unlikely.
#[cold]
#[inline(never)]
fn unlikely() {}
