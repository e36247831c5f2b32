// SPDX-License-Identifier: GPL-2.0

//! Adds similar event names to the refusal of an unknown event.

use super::suggest_of_many;
use crate::engine::refusal::error::Error as Refusal;
use crate::sys::Vec;

/// Passes group and name of each event to its argument.
pub type EachName<'a> = &'a dyn Fn(&mut dyn FnMut(&[u8], &[u8]));

/// Adds to `refusal` those of `names` that are similar to `name`, or all events if none is similar
/// and they are few. `name` is `EVENT`, or `GROUP` and `EVENT` joined by `separator`.
#[cold]
#[inline(never)]
pub fn suggest_event(refusal: Refusal, name: &[u8], separator: u8, names: EachName<'_>) -> Refusal {
    let has_group = name.contains(&separator);
    suggest_of_many(refusal, name, |each| {
        let mut both = Vec::new();
        names(&mut |group, name| {
            if !has_group {
                return each(name);
            }
            both.clear();
            let parts = [group, &[separator], name];
            // Without memory the event is not suggested.
            if parts
                .iter()
                .try_for_each(|part| both.extend_from_slice(part))
                .is_ok()
            {
                each(&both);
            }
        });
    })
}
