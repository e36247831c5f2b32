// SPDX-License-Identifier: GPL-2.0

//! Bindings that `kernel::bindings` lacks, generated from `bindings_helper.h`.

#![allow(
    clippy::all,
    clippy::cast_lossless,
    clippy::ptr_as_ptr,
    clippy::ref_as_ptr,
    clippy::undocumented_unsafe_blocks,
    dead_code,
    improper_ctypes,
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    unreachable_pub,
    unsafe_op_in_unsafe_fn,
    unused_imports,
    reason = "generated from C headers"
)]

use kernel::bindings::*;
use pin_init::MaybeZeroable;

include!(env!("FERROPROBE_BINDINGS"));
