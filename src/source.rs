// SPDX-License-Identifier: GPL-2.0

//! Sources of hits: symbols, locations in the text, what is known of both, and the kernel's
//! mechanisms.

pub(crate) mod functions;
pub(crate) mod live;
pub(crate) mod location;
pub(crate) mod machine;
pub(crate) mod names;
pub(crate) mod namesakes;
pub(crate) mod points;
pub(crate) mod registered;
pub(crate) mod syscalls;
pub(crate) mod tables;
pub(crate) mod types;
pub(crate) mod user;
mod watched;
