// SPDX-License-Identifier: GPL-2.0

//! Writes the tables of the engine from the descriptions beside this crate.
//!
//! `cargo run -p ferroprobe-gen` rewrites the tables in place; the tests of
//! this crate generate them again and compare them with what is in the tree.

pub mod x86;
