// SPDX-License-Identifier: GPL-2.0

//! The crate that the compiler calls for what the processor cannot do: nothing here needs it, as in
//! the kernel. The kernel has `memcpy` and its kin.

#![no_core]
#![feature(compiler_builtins, no_core)]
#![compiler_builtins]
#![allow(internal_features)]
