// SPDX-License-Identifier: GPL-2.0

//! What `ferroprobe trace` is made of: definitions as users write them, and records as people read
//! them.

pub mod definition;
pub mod error_log;
pub mod filter;
pub mod format;
pub mod losses;
pub mod mapped;
pub mod print;
pub mod refused;
pub mod units;
pub mod value;
