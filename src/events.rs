// SPDX-License-Identifier: GPL-2.0

//! The defined events and their probes.

mod attachment;
pub(crate) mod event;
pub(crate) mod event_file;
pub(crate) mod marks;
pub(crate) mod owner;
pub(crate) mod probe;
pub(crate) mod rate;
pub(crate) mod registry;
mod transaction;
