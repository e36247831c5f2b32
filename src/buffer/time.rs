// SPDX-License-Identifier: GPL-2.0

//! The time by the clock of the events.

use crate::{
    engine::clock::ClockReading,
    kapi::clock::{self, Clock, Comparison},
};

/// Converts `compared` to the engine's type.
pub(crate) fn reading(compared: Comparison) -> ClockReading {
    ClockReading {
        before: compared.before,
        counter: compared.counter,
        after: compared.after,
    }
}

/// Returns the time by `clock`. It is correct even if the counter has jumped and has not
/// been checked since.
///
/// Context: process.
pub(crate) fn now_by(clock: Clock) -> u64 {
    let compared = match clock {
        Clock::Local => clock::compare(),
        _ => None,
    };
    compared.map_or_else(|| clock.now(), |compared| reading(compared).time())
}
