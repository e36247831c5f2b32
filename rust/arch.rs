// SPDX-License-Identifier: GPL-2.0

//! What differs between architectures: a file for each of them has the same items.

#[cfg_attr(target_arch = "x86_64", path = "arch/x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "arch/arm64.rs")]
mod machine;

pub(super) use machine::*;
