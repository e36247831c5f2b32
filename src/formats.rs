// SPDX-License-Identifier: GPL-2.0

//! The formats of records: what a reader needs to know of an event.

mod format;
mod retired;
mod table;

pub(crate) use format::{Format, Pool};
pub(crate) use table::Formats;
