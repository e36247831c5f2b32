// SPDX-License-Identifier: GPL-2.0

//! Printing records: a walk that yields named values, and the code that renders them.
//!
//! Context: process, may sleep.

mod call;
mod text;
pub mod walk;

pub use text::{Event, Lines, SymbolNames};
