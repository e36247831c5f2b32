// SPDX-License-Identifier: GPL-2.0

//! The architecture-dependent part: the files for each architecture define the same items.

#[cfg_attr(target_arch = "x86_64", path = "arch/call_x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "arch/call_arm64.rs")]
mod call;
#[cfg_attr(target_arch = "x86_64", path = "arch/x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "arch/arm64.rs")]
mod machine;
#[cfg_attr(target_arch = "x86_64", path = "arch/room_x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "arch/room_arm64.rs")]
mod room;

pub(super) use call::*;
pub(super) use machine::*;
pub(super) use room::*;
