// SPDX-License-Identifier: GPL-2.0

//! The module's own crate `kernel` on the host: each function against what std's does, with each
//! allocation failing in turn, on a heap that notices wrong use.

mod arc;
mod boxed;
mod element;
mod errors;
mod heap;
mod locks;
mod once;
mod print;
mod strings;
mod user;
mod vec;

/// What lines of the log begin with, by the name that the macros know.
const __LOG_PREFIX: &std::ffi::CStr = c"test: ";
