// SPDX-License-Identifier: GPL-2.0

//! Why a write is refused, where, and what to write instead.

pub mod error;
pub mod excerpt;
pub mod foreign;
pub(in crate::engine) mod log_entry;
pub mod remedy;
pub mod suggest;
