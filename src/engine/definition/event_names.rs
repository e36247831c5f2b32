// SPDX-License-Identifier: GPL-2.0

//! The words of `set_event`: parsing one, combining those of a write, and those that wait for a
//! module.

mod awaited;
mod chosen;
mod words;

pub use awaited::{AwaitedEvents, NotAwaited, MAX_AWAITED};
pub use chosen::{ChosenEvents, Decided};
pub use words::{EventNames, ModuleName};
