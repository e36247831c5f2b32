// SPDX-License-Identifier: GPL-2.0

//! The module's own crate `kernel`, compiled for the host.
//!
//! The sources are those of `rust/own/kernel`, for kernels that are built without Rust; this crate
//! adds only the C side of them, [`bindings`], whose functions tests make fail and watch.

#![feature(coerce_unsized, dispatch_from_dyn, unsize)]

// The sources name the crate as the kernel does.
extern crate pinned_init as pin_init;

pub mod bindings;
pub mod ffi;
pub mod heap;

#[path = "../../../rust/own/kernel"]
mod kernel {
    pub mod alloc;
    pub mod error;
    #[allow(
        clippy::crate_in_macro_def,
        reason = "the prefix is of the crate that prints"
    )]
    pub mod print;
    pub mod str;
    pub mod sync;
    pub mod types;
    pub mod uaccess;
}
pub use kernel::*;
