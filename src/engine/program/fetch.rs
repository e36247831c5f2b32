// SPDX-License-Identifier: GPL-2.0

//! Compiles the fetch arguments of a definition to a program that
//! [`exec`](crate::engine::program::exec) runs at each hit.
//!
//! Compiling resolves everything that can be known in advance: symbols become addresses,
//! arguments become registers, every offset in the record is computed and checked, so that
//! running needs no decision that depends on the text. The common shapes (a register,
//! memory behind one register, the task's name) are one compact operation each, and so is
//! memory behind pointers; all others use [`General`].
//!
//! Compiling has two steps: [`expand`] replaces `$arg*` and gives `$argN` the parameter's
//! name, and its result is what `kprobe_events` lists; [`compile`] makes the program.
//!
//! Context: process, may sleep.

mod attach;
mod by_value;
mod cast;
mod compile;
mod expand;
mod members;
mod named;
mod passed;
mod path;
mod program;
mod resolve;
mod target;
mod unknown;
mod variable;
mod whole;

pub use attach::{
    attach, name_of_beginning, pair_keys, BegunField, FieldShape, PairKey, Taken, FIRST_BEGUN,
    MAX_TEXTS, PAIR_DURATION,
};
pub use compile::compile;
pub use expand::expand;
pub(in crate::engine) use program::{
    saved_words, Constant, General, Hop, Load, LoadOrigin, Op, Steps, Store, WordRead,
};
pub use program::{Form, Program, Size, FILE_START};
pub use target::{CpuInstance, PathOffsets, Symbols, Target, MAX_TRACEPOINT_ARGUMENTS};
