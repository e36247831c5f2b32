// SPDX-License-Identifier: GPL-2.0

//! What keeps events from being removed, in words.

use super::set::Set;
use crate::{
    engine::{
        refusal::error::{Error as Refusal, Kind},
        util::{sort::sort, text::Plain},
    },
    events::{
        event::Event,
        event_file::{EventFile, InstanceId},
        probe::Probe,
    },
    hit::action::Action,
    sys::Vec,
};
use core::fmt;
use kernel::{prelude::*, sync::Arc};

/// Most events that are named.
const MAX_NAMED: usize = 8;

/// What keeps an event.
pub(super) enum Hold<'a> {
    /// It is enabled: in the top directory if `at_top`, or else in an instance.
    Enabled { at_top: bool },
    /// It has triggers: in the top directory if `at_top`, or else in an instance.
    Trigger { at_top: bool },
    /// An event probe or a pair of this event is attached to it.
    Attached(&'a Event),
    /// A trigger of this event enables or disables it.
    Switched(Option<&'a Event>),
    /// A trigger of this event emits it.
    Emitted(Option<&'a Event>),
}

impl<'a> Hold<'a> {
    /// Returns what keeps `event`, which is kept: what is to be undone first. `probes` are those of
    /// all events that may hold it.
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
            all.any(|action| action.receiver().is_none())
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
            let linked = action.linked();
            linked.is_some_and(|linked| linked.emits(name))
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

    /// Returns what helps where all events are to be removed.
    fn remedy(&self) -> &'static str {
        match self {
            Self::Enabled { at_top: true } => "write 0 to events/enable first, or use >> to add",
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

/// Displays it in brackets behind the names of the event.
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

/// The names of an event: `GROUP/EVENT`.
struct ShownNames<'a>(&'a Event);

impl fmt::Display for ShownNames<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(event) = self;
        let group = Plain(event.format.group.to_bytes());
        write!(f, "{group}/{}", event.format.name())
    }
}

/// Returns the refusal to remove the events that `which` selects; `None` if none of them is
/// enabled or has to do with a trigger. `set` is the registry's.
///
/// # Errors
///
/// `ENOMEM`.
pub(super) fn refusal(set: &Set, which: impl Fn(&Event) -> bool) -> Result<Option<Refusal>> {
    // Of those that are attached to each other, all go or none.
    let mut attached = Vec::new();
    let stays = |probe: &&Arc<Probe>| !probe.attachments().is_empty() && !which(&probe.event);
    for attachment in set
        .iter()
        .filter(stays)
        .flat_map(|probe| probe.attachments())
    {
        attached.push(attachment.to().id())?;
    }
    sort(&mut attached);
    let is_in_use = |probe: &&Arc<Probe>| {
        let event = &probe.event;
        which(event)
            && (event.is_needed()
                || probe.is_emitted()
                || attached.binary_search(&event.id()).is_ok())
    };
    let Some(first) = set.iter().find(is_in_use) else {
        return Ok(None);
    };
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
    let remedy = Hold::of(&first.event, set.iter()).remedy();
    let names = InUse { set, named };
    Ok(Some(
        Refusal::new(Kind::FileInUse, 0).with_detail(format_args!("{names}: {remedy}")),
    ))
}

/// Displays the names of the events that are in use.
struct InUse<'a> {
    set: &'a Set,
    /// One more than are displayed, if there are more.
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
