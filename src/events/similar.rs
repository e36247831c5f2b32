// SPDX-License-Identifier: GPL-2.0

//! The events that a misspelt name may mean.

use super::event::Event;
use crate::{
    engine::{
        error::Error as Refusal,
        suggest::suggest_of_many,
        text::{Appender, Plain},
    },
    sys::Vec,
};
use core::fmt::Write;

/// Passes each of some events to its argument.
pub(crate) type EachEvent<'a> = &'a dyn Fn(&mut dyn FnMut(&Event));

/// Adds suggestions to the refusal of an event that does not exist: the `events` whose names are
/// similar to `name`. If there are none, it adds all events, unless they are many. The name is
/// `EVENT`, or `GROUP`, `separator` and `EVENT`.
#[cold]
#[inline(never)]
pub(crate) fn suggest_event(
    refusal: Refusal,
    name: &[u8],
    separator: u8,
    events: EachEvent<'_>,
) -> Refusal {
    let has_group = name.contains(&separator);
    suggest_of_many(refusal, name, |each| {
        let mut both = Vec::new();
        events(&mut |event| {
            if !has_group {
                return each(event.format.name.to_bytes());
            }
            both.clear();
            let group = Plain(event.format.group.to_bytes());
            let separator = char::from(separator);
            let name = event.format.name();
            // Without memory it is not suggested.
            if write!(Appender(&mut both), "{group}{separator}{name}").is_ok() {
                each(&both);
            }
        });
    })
}
