// SPDX-License-Identifier: GPL-2.0

//! Helpers that are independent of tracing: text, numbers, sorting, caches, clocks.

pub mod address;
pub mod clock;
pub mod cpumask;
pub mod digits;
pub mod errno;
pub mod glob;
pub mod memo;
pub mod reused;
pub mod seq_buf;
pub mod sort;
pub mod steps;
pub mod text;
pub mod tgids;
pub mod units;
