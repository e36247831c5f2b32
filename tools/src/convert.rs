// SPDX-License-Identifier: GPL-2.0

//! `ferroprobe convert`: a stream of events as files that viewers open.
//!
//! An event with a duration is a slice that ends at its time; any other one is a moment.

pub mod chrome;
pub mod firefox;
