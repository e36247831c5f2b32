// SPDX-License-Identifier: GPL-2.0

//! Why an event cannot be removed: the refusals and their remedies.

use super::set::Set;
use crate::{
    engine::{
        refusal::error::{Error as Refusal, Kind},
        util::{sort, text::Plain},
    },
    events::{
        attachment::Attachment,
        event::Event,
        event_file::{EventFile, InstanceId},
        probe::Probe,
    },
    hit::action::Action,
    sys::Vec,
};
use core::{fmt, slice};
use kernel::{prelude::*, sync::Arc};

/// Maximum number of events named in one refusal.
const MAX_NAMED: usize = 8;

/// A reason why an event cannot be removed.
pub(super) enum Hold<'a> {
    /// Enabled: in the top directory if `at_top`, otherwise in an instance.
    Enabled { at_top: bool },
    /// Has triggers: in the top directory if `at_top`, otherwise in an instance.
    Trigger { at_top: bool },
    /// An event probe or a pair of this other event is attached to the event.
    Attached(&'a Event),
    /// A trigger of this other event enables or disables it.
    Switched(Option<&'a Event>),
    /// A trigger of this other event emits it.
    Emitted(Option<&'a Event>),
}

impl<'a> Hold<'a> {
    /// Returns the reason why `event` is in use, to be resolved first. `probes` are the probes of
    /// all events.
    pub(super) fn of(event: &Event, probes: impl Iterator<Item = &'a Arc<Probe>> + Clone) -> Self {
        let at_top = |is: &dyn Fn(&EventFile) -> bool| {
            let found = event.find_file(|instance, file| is(file).then_some(instance));
            found.map(|instance| instance == InstanceId::TOP)
        };
        if let Some(at_top) = at_top(&|file| file.is_enabled()) {
            return Self::Enabled { at_top };
        }
        let has_own = |file: &EventFile| {
            let plan = file.plan();
            let mut all = plan.actions().iter();
            all.any(|action| action.sink().is_none())
        };
        if let Some(at_top) = at_top(&has_own) {
            return Self::Trigger { at_top };
        }
        let mut attached = probes.clone();
        if let Some(probe) = attached.find(|probe| probe.is_attached_to(event)) {
            return Self::Attached(&probe.event);
        }
        let by = |is: &dyn Fn(&Action) -> bool| {
            let has = |probe: &&Arc<Probe>| {
                let file_has = |file: &EventFile| {
                    let plan = file.plan();
                    let mut all = plan.actions().iter();
                    all.any(|action| is(action))
                };
                let found = probe
                    .event
                    .find_file(|_, file| file_has(file).then_some(()));
                found.is_some()
            };
            probes.clone().find(has).map(|probe| &*probe.event)
        };
        if at_top(&|file| file.is_targeted()).is_some() {
            let is_it = |action: &Action| {
                let target = action.target();
                target.is_some_and(|target| Arc::ptr_eq(target, &event.format))
            };
            return Self::Switched(by(&is_it));
        }
        let name = event.names().1;
        Self::Emitted(by(&|action| {
            let inter_event = action.inter_event();
            inter_event.is_some_and(|inter_event| inter_event.emits(name))
        }))
    }

    /// Returns the refusal to delete `event`, with the caret at column `at`.
    pub(super) fn refusal(&self, event: &Event, at: usize) -> Refusal {
        let in_use = Refusal::new(Kind::EventInUse, at);
        let names = ShownNames(event);
        match self {
            Self::Enabled { at_top: true } => Refusal::new(Kind::EventBusy, at),
            Self::Enabled { at_top: false } => Refusal::new(Kind::EventBusy, at).with_detail(
                format_args!("in an instance: instances/*/events/{names}/enable"),
            ),
            Self::Trigger { at_top: true } => in_use.with_detail(format_args!(
                "a trigger needs it: write ! and the trigger to events/{names}/trigger first"
            )),
            Self::Trigger { at_top: false } => in_use.with_detail(format_args!(
                "a trigger needs it in an instance: write ! and the trigger to \
                 instances/*/events/{names}/trigger first"
            )),
            Self::Attached(by) => in_use.with_detail(format_args!(
                "{} is attached to it: {}delete that first",
                ShownNames(by),
                if by.is_enabled() { "disable and " } else { "" }
            )),
            Self::Switched(Some(by)) => in_use.with_detail(format_args!(
                "a trigger of {by} names it: write ! and the trigger to events/{by}/trigger first",
                by = ShownNames(by)
            )),
            Self::Emitted(Some(by)) => in_use.with_detail(format_args!(
                "a trigger of {by} emits it: write ! and the trigger to events/{by}/trigger first",
                by = ShownNames(by)
            )),
            Self::Switched(None) | Self::Emitted(None) => in_use.with_detail(format_args!(
                "a trigger of another event names it: remove that first"
            )),
        }
    }

    /// Returns the remedy, for a write that removes all events.
    fn remedy(&self) -> &'static str {
        match self {
            Self::Enabled { at_top: true } => {
                "write 0 to events/enable first, or 1 to reset, or use >> to add"
            }
            Self::Enabled { at_top: false } => {
                "write 0 to events/enable of the instance first, or use >> to add"
            }
            Self::Attached(_) => "disable and delete what is attached first, or use >> to add",
            Self::Trigger { .. } | Self::Switched(_) | Self::Emitted(_) => {
                "remove the triggers with !TRIGGER first, or use >> to add"
            }
        }
    }
}

/// Displays the reason in parentheses, behind the names of the event.
impl fmt::Display for Hold<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Enabled { at_top: true } => f.write_str("enabled"),
            Self::Enabled { at_top: false } => f.write_str("enabled in an instance"),
            Self::Trigger { at_top: true } => f.write_str("with a trigger"),
            Self::Trigger { at_top: false } => f.write_str("with a trigger in an instance"),
            Self::Attached(by) => write!(f, "with {} attached", ShownNames(by)),
            Self::Switched(Some(by)) => write!(f, "in a trigger of {}", ShownNames(by)),
            Self::Emitted(Some(by)) => write!(f, "emitted by a trigger of {}", ShownNames(by)),
            Self::Switched(None) | Self::Emitted(None) => f.write_str("in a trigger"),
        }
    }
}

/// Displays `GROUP/EVENT`.
struct ShownNames<'a>(&'a Event);

impl fmt::Display for ShownNames<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(event) = self;
        let group = Plain(event.format.group.to_bytes());
        write!(f, "{group}/{}", event.format.name())
    }
}

/// Returns whether the event of `probe` is in use, apart from attached event probes.
fn is_used(probe: &Probe) -> bool {
    probe.event.is_needed() || probe.is_of_emitted_event()
}

/// The events that would be removed, according to `goes`, although a remaining probe is attached to
/// them.
pub(super) struct AttachedTo<'a, P> {
    /// The probes that are still to be looked at.
    probes: P,
    /// The attachments of the last probe.
    attachments: slice::Iter<'a, Attachment>,
    goes: &'a dyn Fn(&Event) -> bool,
}

impl<'a, P: Iterator<Item = &'a Arc<Probe>>> AttachedTo<'a, P> {
    pub(super) fn new(all: P, goes: &'a dyn Fn(&Event) -> bool) -> Self {
        Self {
            probes: all,
            attachments: [].iter(),
            goes,
        }
    }
}

impl<'a, P: Iterator<Item = &'a Arc<Probe>>> Iterator for AttachedTo<'a, P> {
    type Item = &'a Arc<Event>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            for attachment in self.attachments.by_ref() {
                if (self.goes)(attachment.to()) {
                    return Some(attachment.to());
                }
            }
            let probe = self.probes.next()?;
            if !probe.attachments().is_empty() && !(self.goes)(&probe.event) {
                self.attachments = probe.attachments().iter();
            }
        }
    }
}

/// Returns an event of the removed probes `going` that is in use. `all` are all probes; `goes` says
/// which events are removed.
pub(super) fn first_of<'a>(
    going: impl Iterator<Item = &'a Arc<Probe>> + Clone,
    all: impl Iterator<Item = &'a Arc<Probe>>,
    goes: &'a dyn Fn(&Event) -> bool,
) -> Option<&'a Arc<Event>> {
    if let Some(probe) = going.clone().find(|probe| is_used(probe)) {
        return Some(&probe.event);
    }
    let mut attached = going.filter(|probe| probe.event.is_attached());
    // One pass over all probes, for any number of events with attached probes.
    attached
        .next()
        .and_then(|_| AttachedTo::new(all, goes).next())
}

/// Checks that no event that `which` selects is in use.
///
/// # Errors
///
/// `FILE_IN_USE`, `NO_MEMORY`.
pub(super) fn check(set: &Set, which: &dyn Fn(&Event) -> bool) -> Result<(), Refusal> {
    // Events that are attached to each other can only be removed together.
    let mut attached = Vec::new();
    for event in AttachedTo::new(set.iter(), which) {
        attached.push(event.id())?;
    }
    sort::sort(&mut attached);
    let is_attached = |event: &Event| attached.binary_search(&event.id()).is_ok();
    let is_in_use =
        |probe: &&Arc<Probe>| which(&probe.event) && (is_used(probe) || is_attached(&probe.event));
    let mut named: Vec<&Arc<Event>> = Vec::new();
    for probe in set.iter().filter(is_in_use) {
        let is_it = |event: &&Arc<Event>| Arc::ptr_eq(event, &probe.event);
        if !named.iter().any(is_it) {
            named.push(&probe.event)?;
        }
        if named.len() > MAX_NAMED {
            break;
        }
    }
    let Some(first) = named.first() else {
        return Ok(());
    };
    let remedy = Hold::of(first, set.iter()).remedy();
    let names = InUse { set, named };
    Err(Refusal::new(Kind::FileInUse, 0).with_detail(format_args!("{names}: {remedy}")))
}

/// Displays the names of events in use.
struct InUse<'a> {
    set: &'a Set,
    /// At most one more than are displayed.
    named: Vec<&'a Arc<Event>>,
}

impl fmt::Display for InUse<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, event) in self.named.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            if index >= MAX_NAMED {
                return f.write_str("...");
            }
            write!(
                f,
                "{} ({})",
                ShownNames(event),
                Hold::of(event, self.set.iter())
            )?;
        }
        Ok(())
    }
}
