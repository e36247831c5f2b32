// SPDX-License-Identifier: GPL-2.0

//! The words of `set_event`: what one means, what all of a write choose, and which wait.

mod awaited;
mod chosen;
mod words;

pub use awaited::{AwaitedEvents, NotAwaited, MAX_AWAITED};
pub use chosen::{ChosenEvents, Decided};
pub use words::{EventNames, ModuleName};
