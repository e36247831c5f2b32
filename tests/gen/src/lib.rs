// SPDX-License-Identifier: GPL-2.0

//! Writes the tables of the engine from the descriptions beside this crate, and the
//! list of unsafe code from the sources.
//!
//! `cargo run -p ferroprobe-gen` rewrites them in place; the tests of this crate
//! generate them again and compare them with what is in the tree.

pub mod contexts;
pub mod deferred;
pub mod layers;
pub mod loops;
pub mod machines;
pub mod type_names;
pub mod unsafe_code;
pub mod x86;
