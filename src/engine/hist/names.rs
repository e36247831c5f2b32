// SPDX-License-Identifier: GPL-2.0

//! The names that the printing of a histogram asks for.

use crate::engine::print::SymbolNames;
use crate::engine::util::seq_buf::SeqBuf;

/// The names that a histogram shows.
pub trait KeyNames: SymbolNames {
    /// Adds the name of the system call with this number, `sys_NAME`; returns false if there
    /// is none.
    fn syscall(&mut self, number: u64, buf: &mut SeqBuf<'_>) -> bool;
}
