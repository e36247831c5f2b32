// SPDX-License-Identifier: GPL-2.0

//! The pure logic of ferroprobe.
//!
//! The engine does not use the kernel: its modules use `core` and the small facade
//! `crate::sys`, which the kernel module, the host crate and the model checker each supply.
//! So the same files are compiled into the module and into the host crate, in which they
//! are tested, fuzzed and measured.

pub mod address;
pub mod arch;
pub mod ast;
pub mod btf;
pub mod calling;
pub mod clock;
pub mod context;
pub mod cpumask;
mod derive;
pub mod digits;
pub mod errno;
pub mod error;
pub mod event_names;
pub mod excerpt;
pub mod exec;
pub mod fetch;
pub mod fields;
pub mod filter;
pub mod format;
pub mod functions;
pub mod glob;
pub mod hist;
pub mod insn;
pub mod kallsyms;
pub mod kind;
pub mod lex;
mod log_entry;
pub mod marker;
pub mod memo;
pub mod nearest;
pub mod noreturn;
pub mod numbers;
pub mod pairs;
pub mod parse;
mod paths;
pub mod pids;
pub mod placement;
pub mod print;
pub mod ready;
pub mod record;
pub mod remedy;
pub mod reused;
pub mod ring;
pub mod seq_buf;
pub mod setting;
pub mod sort;
pub mod stack;
pub mod steps;
pub mod suggest;
pub mod syscall;
pub mod task;
pub mod text;
pub mod tgids;
pub mod trigger;
pub mod types;
