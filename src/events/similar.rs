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
use kernel::sync::Arc;

/// Adds to the refusal of the event `name`, which does not exist, the `events` with a similar
/// name; if there are none, all events, unless they are many. The name is `EVENT`, or `GROUP`,
/// `separator` and `EVENT`.
#[cold]
#[inline(never)]
pub(crate) fn suggest_event<'a, E>(
    refusal: Refusal,
    name: &[u8],
    separator: u8,
    events: impl Fn() -> E,
) -> Refusal
where
    E: Iterator<Item = &'a Arc<Event>>,
{
    let has_group = name.contains(&separator);
    suggest_of_many(refusal, name, |each| {
        let mut both = Vec::new();
        for event in events() {
            if !has_group {
                each(event.format.name.to_bytes());
                continue;
            }
            both.clear();
            let group = Plain(event.format.group.to_bytes());
            let separator = char::from(separator);
            let name = event.format.name();
            // Without memory it is not suggested.
            if write!(Appender(&mut both), "{group}{separator}{name}").is_ok() {
                each(&both);
            }
        }
    })
}
