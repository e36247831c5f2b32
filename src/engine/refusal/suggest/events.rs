// SPDX-License-Identifier: GPL-2.0

//! The events that a misspelt name may mean.

use super::suggest_of_many;
use crate::engine::refusal::error::Error as Refusal;
use crate::sys::Vec;

/// Passes the group and the name of each of some events to its argument.
pub type EachName<'a> = &'a dyn Fn(&mut dyn FnMut(&[u8], &[u8]));

/// Adds suggestions to the refusal of an event that does not exist: each of `names` that is similar
/// to `name`. If there are none, it adds all events, unless they are many. The name is
/// `EVENT`, or `GROUP`, `separator` and `EVENT`.
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
            // Without memory it is not suggested.
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
