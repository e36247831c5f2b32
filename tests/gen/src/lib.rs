// SPDX-License-Identifier: GPL-2.0

//! Writes the tables of the engine from the descriptions beside this crate, and the
//! list of unsafe code from the sources.
//!
//! `cargo run -p ferroprobe-gen` rewrites the tables in place and the list in `build/`; the tests
//! of this crate generate the tables again and compare them with what is in the tree, and check
//! the sources: unsafe code, layers, loops, names, versions; and the links of the documents.

pub mod contexts;
pub mod deferred;
pub mod layers;
pub mod links;
pub mod loops;
pub mod machines;
pub mod type_names;
pub mod unsafe_code;
pub mod versions;
pub mod x86;
