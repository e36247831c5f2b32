// SPDX-License-Identifier: GPL-2.0

//! A function that returns.

use super::entry::{Entry, FunctionRegs};
use crate::kapi::{
    arch,
    context::OnCpu,
    handler::{Handler, Hits},
    regs,
};
use core::ptr;
use kernel::ffi::c_void;

/// Functions that return, as hits.
pub enum FunctionReturn {}

impl Hits for FunctionReturn {
    type Hit<'a> = Exit<'a>;
}

/// What serves the returns of functions, and their entries before.
pub trait ReturnHandler: Handler<FunctionReturn> {
    /// Called when the function begins, if the registration keeps data. What it stores in `data`
    /// is passed to the handler of the return; `data` holds anything before. The entry's place is
    /// not known.
    ///
    /// Context: as for a hit.
    fn entry(&self, entry: Entry<'_>, data: &mut [u64], here: &OnCpu);
}

/// A function that returns.
#[derive(Clone, Copy)]
pub struct Exit<'a> {
    pub(super) regs: &'a FunctionRegs,
    pub(super) place: &'a [u32; 2],
    pub(super) data: &'a [u64],
}

impl<'a> Exit<'a> {
    /// Returns the function's address: its lower half, then its upper half.
    #[inline(always)]
    pub fn place(&self) -> &'a [u32; 2] {
        self.place
    }

    /// Returns what was stored when the function began.
    #[inline(always)]
    pub fn data(&self) -> &'a [u64] {
        self.data
    }

    /// Returns the address to which the function returns.
    ///
    /// Context: any.
    #[inline(always)]
    pub fn return_address(&self) -> u64 {
        arch::exit_address(&self.regs.0)
    }

    /// Returns a pointer to the registers.
    pub(in crate::kapi) fn as_ptr(&self) -> *const c_void {
        ptr::from_ref(self.regs).cast()
    }

    /// Returns the register with this index in `struct pt_regs`, if it is one of those that hold
    /// return values; anything otherwise.
    ///
    /// Context: any.
    #[inline(always)]
    pub fn word(&self, index: usize) -> u64 {
        arch::entry_word(&self.regs.0, index)
    }

    /// Returns word `n` of the stack; 0 if it is outside the current kernel stack.
    ///
    /// Context: any.
    #[inline]
    pub fn stack_word(&self, n: u64) -> u64 {
        regs::stack_word(arch::exit_stack_pointer(&self.regs.0), n)
    }
}
