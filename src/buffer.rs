// SPDX-License-Identifier: GPL-2.0

//! The buffer: one ring per CPU, its readers, and their wake-ups.

mod aligning;
mod local_clock;
mod mapping;
mod mmap;
mod reading;
mod recording;
mod resizing;
mod rings;
mod snapshot;
mod still;
mod time;

pub(crate) use local_clock::LocalClock;
pub(crate) use reading::Iterators;
pub(crate) use recording::{Buffer, Lost, Side, Unpublished};
pub(crate) use resizing::MAX_SUB_BUFFER;
pub(crate) use rings::Pace;
pub(crate) use still::StillTools;
pub(crate) use time::{now_by, Cleared};
