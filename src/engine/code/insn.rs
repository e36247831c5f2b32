// SPDX-License-Identifier: GPL-2.0

//! Instruction decoders: length, class and verdict, without disassembly.

pub mod arm64;
pub mod exclusive;
pub mod x86;
