// SPDX-License-Identifier: GPL-2.0

//! Machine code: its instructions, the architectures, and where a probe may be placed.

pub mod arch;
pub mod elf;
pub mod insn;
pub mod kallsyms;
pub mod noreturn;
pub mod placement;
