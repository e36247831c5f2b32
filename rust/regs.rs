// SPDX-License-Identifier: GPL-2.0

//! The registers of the code that a probe interrupted.
//!
//! C header: [`include/linux/ptrace.h`](srctree/include/linux/ptrace.h)

use super::{arch, bindings as extra, context::EntryWay, nofault, user};
use core::mem;
use kernel::bindings;

/// `struct pt_regs`.
#[repr(transparent)]
pub struct Regs(bindings::pt_regs);

/// Number of whole words in `struct pt_regs`.
const WORDS: usize = mem::size_of::<bindings::pt_regs>() / mem::size_of::<u64>();

/// The number of words in a kernel stack.
pub const STACK_WORDS: u64 = extra::FERROPROBE_THREAD_SIZE / 8;

/// Returns the value of a register that does not exist; cold, so that the compiler
/// expects an existing one.
#[cold]
fn beyond() -> u64 {
    0
}

/// Returns word `n` from the stack pointer `top`; 0 if it is outside that kernel stack.
///
/// Context: any.
#[inline]
pub(super) fn stack_word(top: u64, n: u64) -> u64 {
    // Stacks are aligned to their size, a power of two.
    let mask = !(STACK_WORDS * 8).wrapping_sub(1);
    let address = top.wrapping_add(n.wrapping_mul(8));
    let mut word = [0; 8];
    if address & mask == top & mask && nofault::read_kernel(address, &mut word) {
        u64::from_ne_bytes(word)
    } else {
        0
    }
}

impl Regs {
    /// Wraps the registers that the kernel hands to a handler.
    ///
    /// # Safety
    ///
    /// `regs` must be valid for reads, and not change, for the lifetime chosen by the
    /// caller.
    #[inline(always)]
    pub(super) unsafe fn from_raw<'a>(regs: *const bindings::pt_regs) -> &'a Self {
        // SAFETY: By the requirements of this function valid and constant; the type is
        // transparent.
        unsafe { &*regs.cast() }
    }

    /// Returns the word at `index`, in the order of `struct pt_regs`; 0 beyond its end.
    ///
    /// Context: any.
    #[inline(always)]
    pub fn word(&self, index: usize) -> u64 {
        if index < WORDS {
            // SAFETY: The word is within the structure, which holds initialised words
            // only.
            unsafe { (&raw const self.0).cast::<u64>().add(index).read() }
        } else {
            beyond()
        }
    }

    /// Returns the instruction pointer.
    #[inline(always)]
    pub fn instruction_pointer(&self) -> u64 {
        arch::instruction_pointer(&self.0)
    }

    /// Returns the stack pointer.
    #[inline(always)]
    pub fn stack_pointer(&self) -> u64 {
        arch::stack_pointer(&self.0)
    }

    /// Returns how a kprobe that ftrace does not call was entered; its handler got this reference.
    #[inline(always)]
    pub(super) fn trap_or_jump(&self) -> EntryWay {
        arch::trap_or_jump(&self.0)
    }

    /// Returns the return value of a function; meaningful only at a return.
    #[inline(always)]
    pub fn return_value(&self) -> u64 {
        arch::return_value(&self.0)
    }

    /// Returns the number of the current system call; outside of one, a number that no call has.
    #[inline(always)]
    pub fn call_number(&self) -> usize {
        // CAST: A negative number becomes a large one.
        arch::call_number(&self.0) as u32 as usize
    }

    /// Returns the arguments of the current system call.
    #[inline(always)]
    pub fn call_arguments(&self) -> [u64; 6] {
        arch::call_arguments(&self.0)
    }

    /// [`call_arguments`](Self::call_arguments) of a 32-bit call, in the low halves.
    pub fn compat_call_arguments(&self) -> [u64; 6] {
        arch::compat_call_arguments(&self.0)
    }

    /// Returns whether the interrupted code had interrupts disabled.
    #[inline(always)]
    pub fn irqs_disabled(&self) -> bool {
        arch::irqs_disabled(&self.0)
    }

    /// Returns argument `n`, counted from 0, of the function at whose entry the probe is.
    ///
    /// Reads arguments from the stack if the calling convention passes them there.
    ///
    /// Context: any.
    #[inline(always)]
    pub fn argument(&self, n: usize) -> u64 {
        if n < arch::REGISTER_ARGUMENTS {
            arch::argument_register(&self.0, n)
        } else {
            // CAST: usize is as wide as u64.
            let index = n.wrapping_sub(arch::REGISTER_ARGUMENTS) as u64;
            self.stack_word(index.wrapping_add(arch::STACK_ARGUMENT_INDEX))
        }
    }

    /// Returns word `n` of the stack; 0 if it is outside the current kernel stack.
    ///
    /// Context: any.
    #[inline]
    pub fn stack_word(&self, n: u64) -> u64 {
        stack_word(self.stack_pointer(), n)
    }

    /// Returns word `n` of a program's stack; 0 if it cannot be read.
    ///
    /// Context: process; does not sleep.
    #[inline(never)]
    pub fn user_stack_word(&self, n: u64) -> u64 {
        let address = self.stack_pointer().wrapping_add(n.wrapping_mul(8));
        user::word(address).unwrap_or(0)
    }

    /// Returns the return address of the function at whose entry the probe is.
    ///
    /// Context: any.
    #[inline]
    pub fn return_address(&self) -> u64 {
        arch::return_address_register(&self.0).unwrap_or_else(|| self.stack_word(0))
    }
}
