// SPDX-License-Identifier: GPL-2.0

//! The vocabulary of what users write: words, types, patterns, triggers and single values.

pub mod functions;
pub mod lex;
pub mod pids;
pub mod setting;
pub mod trigger;
pub mod types;
