// SPDX-License-Identifier: GPL-2.0

//! The pure logic of ferroprobe.
//!
//! The engine does not use the kernel: its modules use `core` and the small facade
//! `crate::sys`, which the kernel module, the host crate and the model checker each supply.
//! So the same files are compiled into the module and into the host crate, in which they
//! are tested, fuzzed and measured.
//!
//! The folders, the lowest first: each uses only those above it in this list.
//!
//! | folder | what it holds |
//! |---|---|
//! | [`util`] | text, numbers, sorting, caches |
//! | [`refusal`] | why a write is refused, and what to write instead |
//! | [`language`] | words, types, patterns, triggers |
//! | [`record`] | the layout of records, and the `format` files that tell it |
//! | [`ring`], [`pairs`] | the ring buffer of one CPU; beginnings that wait for their ends |
//! | [`code`] | instructions, architectures, where a probe may be placed |
//! | [`definition`] | kinds of events, and how a line is parsed to a definition |
//! | [`program`] | type information, fetch programs, and how a hit runs them |
//! | [`filter`], [`print`], [`hist`] | what is recorded, shown, counted |

pub mod code;
pub mod definition;
pub mod filter;
pub mod hist;
pub mod language;
pub mod pairs;
pub mod print;
pub mod program;
pub mod record;
pub mod refusal;
pub mod ring;
pub mod util;
