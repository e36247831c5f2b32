// SPDX-License-Identifier: GPL-2.0

//! The names that are needed to print a histogram.

use crate::engine::print::SymbolNames;
use crate::engine::util::seq_buf::SeqBuf;

/// Looks up names for printing.
pub trait KeyNames: SymbolNames {
    /// Adds the name of system call `number`, `sys_NAME`; returns false if there is none.
    fn syscall(&mut self, number: u64, buf: &mut SeqBuf<'_>) -> bool;
}
