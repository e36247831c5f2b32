// SPDX-License-Identifier: GPL-2.0

//! The x86-64 decoder compared with other decoders.

pub mod compare;
pub mod generate;
pub mod kernel;
pub mod text;
pub mod verdict;
