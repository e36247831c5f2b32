// SPDX-License-Identifier: GPL-2.0

//! The arguments of a function at its entry.

use crate::kapi::{arch, handler::Hits, regs};
use core::ptr;
use kernel::ffi::c_void;

/// Functions that begin, as hits.
pub enum Function {}

impl Hits for Function {
    type Hit<'a> = Entry<'a>;
}

/// The registers that hold a function's arguments, as ftrace saves them.
#[repr(transparent)]
pub(super) struct FunctionRegs(pub(super) arch::EntryRegs);

/// A function that begins.
#[derive(Clone, Copy)]
pub struct Entry<'a> {
    pub(super) regs: &'a FunctionRegs,
    pub(super) place: &'a [u32; 2],
}

impl<'a> Entry<'a> {
    /// Returns the function's address: its lower half, then its upper half.
    #[inline(always)]
    pub fn place(&self) -> &'a [u32; 2] {
        self.place
    }

    /// Returns the function's address.
    ///
    /// Context: any.
    pub fn address(&self) -> u64 {
        let [low, high] = *self.place;
        u64::from(low) | u64::from(high) << 32
    }

    /// Returns a pointer to the registers.
    pub(in crate::kapi) fn as_ptr(&self) -> *const c_void {
        ptr::from_ref(self.regs).cast()
    }

    /// Returns the register with this index in `struct pt_regs`, if ftrace saves it; 0
    /// otherwise.
    ///
    /// Context: any.
    #[inline(always)]
    pub fn word(&self, index: usize) -> u64 {
        arch::entry_word(&self.regs.0, index)
    }

    /// Returns argument `index` of the function; 0 if it is outside the current kernel stack.
    ///
    /// Context: any.
    #[cfg(CONFIG_CFI)]
    pub(in crate::kapi) fn argument(&self, index: usize) -> u64 {
        match index.checked_sub(arch::REGISTER_ARGUMENTS) {
            None => arch::entry_argument(&self.regs.0, index),
            // CAST: usize has 64 bits.
            Some(n) => self.stack_word(arch::STACK_ARGUMENT_INDEX.wrapping_add(n as u64)),
        }
    }

    /// Returns word `n` of the stack; 0 if it is outside the current kernel stack.
    ///
    /// Context: any.
    #[inline]
    pub fn stack_word(&self, n: u64) -> u64 {
        regs::stack_word(arch::entry_stack_pointer(&self.regs.0), n)
    }
}
