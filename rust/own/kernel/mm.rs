// SPDX-License-Identifier: GPL-2.0

//! The memory of user space.

pub mod virt;
