// SPDX-License-Identifier: GPL-2.0

//! Fetch programs: compiled from type information and arguments, run by each hit.

pub mod btf;
pub mod calling;
pub(in crate::engine) mod derive;
pub mod exec;
pub mod fetch;
pub mod marker;
pub(in crate::engine) mod paths;
pub mod syscall;
