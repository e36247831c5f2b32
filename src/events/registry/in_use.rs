// SPDX-License-Identifier: GPL-2.0

//! The events that keep `>` from removing all of them.

use super::set::Set;
use crate::{
    engine::{
        error::{Error as Refusal, Kind},
        text::Plain,
    },
    events::{event::Event, event_file::InstanceId},
};
use core::{fmt, ptr};

/// Most events that are named.
const MAX_NAMED: usize = 8;

/// Returns the refusal to remove the events that `which` selects; `None` if none of them is
/// enabled or has to do with a trigger. `set` is the registry's.
pub(super) fn refusal(set: &Set, which: impl Fn(&Event) -> bool) -> Option<Refusal> {
    // Of those that are attached to each other, all go or none.
    let has_attached = |event: &Event| {
        let mut all = set.iter();
        if all
            .clone()
            .any(|probe| ptr::eq(&*probe.event, event) && probe.is_emitted())
        {
            return true;
        }
        event.is_attached() && all.any(|probe| probe.is_attached_to(event) && !which(&probe.event))
    };
    let is_in_use = |event: &Event| which(event) && (event.is_needed() || has_attached(event));
    let first = set.iter().find(|probe| is_in_use(&probe.event))?;
    let remedy = match (is_enabled_at_top(&first.event), first.event.is_enabled()) {
        (true, _) => "write 0 to events/enable first, or use >> to add",
        (false, true) => "write 0 to events/enable of the instance first, or use >> to add",
        (false, false) if !first.event.is_needed() => {
            "delete the event probes that are attached to it, and the triggers that emit it, first, \
             or use >> to add"
        }
        (false, false) => "remove the triggers with !TRIGGER first, or use >> to add",
    };
    let names = InUse { set, is_in_use };
    Some(Refusal::new(Kind::FileInUse, 0).with_detail(format_args!("{names}: {remedy}")))
}

/// Returns whether `event` is enabled in the top directory.
fn is_enabled_at_top(event: &Event) -> bool {
    let top = event.file(InstanceId::TOP);
    top.is_some_and(|top| top.is_enabled())
}

/// Displays the names of the events that are in use.
struct InUse<'a, F> {
    set: &'a Set,
    is_in_use: F,
}

impl<F: Fn(&Event) -> bool> fmt::Display for InUse<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut named = 0usize;
        for (index, probe) in self.set.iter().enumerate() {
            let event = &*probe.event;
            let is_same = |other: &Event| ptr::eq(other, event);
            let mut before = self.set.iter().take(index);
            if !(self.is_in_use)(event) || before.any(|other| is_same(&other.event)) {
                continue;
            }
            if named >= MAX_NAMED {
                return f.write_str(", ...");
            }
            let comma = if named == 0 { "" } else { ", " };
            let group = Plain(event.format.group.to_bytes());
            let how = match (is_enabled_at_top(event), event.is_enabled()) {
                (true, _) => "enabled",
                (false, true) => "enabled in an instance",
                (false, false) if event.is_attached() && !event.is_needed() => {
                    "with an event probe"
                }
                (false, false) => "with a trigger",
            };
            write!(f, "{comma}{group}/{} ({how})", event.format.name())?;
            named = named.saturating_add(1);
        }
        Ok(())
    }
}
