// SPDX-License-Identifier: GPL-2.0

//! What a write changes in the set of probes.

use super::{busy::Hold, set::Set};
use crate::{
    engine::{
        definition::{
            ast::{Definition, Deletion},
            kind::Mechanism,
        },
        refusal::error::{Error as Refusal, Kind},
        util::text::{OneLine, Plain},
    },
    events::{event::Event, owner::Owner, probe::Probe, similar::suggest_event},
    kapi::functions::Site,
    source::{functions, location, registered::Removal},
    sys::{AllocError, Vec},
};
use core::mem;
use kernel::{prelude::*, sync::Arc};

/// What a write changes in the set of probes: the new probes; those that it deletes are
/// marked in the set. When it is dropped, the new probes are removed, unless the set took
/// them over, with one wait for all.
///
/// Context of the drop: process, may sleep.
pub(crate) struct Draft {
    /// The number of the write.
    write: u64,
    /// Who writes; `None` for everybody.
    owner: Option<Arc<Owner>>,
    added: Set,
    /// Whether it deletes probes of the set.
    deletes: bool,
    pub(super) pending_sites: PendingSites,
    /// Has room for all probes that were added.
    removal: Removal,
}

/// The events that come and go with a write.
pub(crate) struct Comings {
    /// The events without a probe before it.
    pub(super) new: Vec<Arc<Event>>,
    /// The events without a probe after it.
    pub(super) removed: Vec<Arc<Event>>,
}

impl Draft {
    /// Makes the draft of the write with the number `write` by `owner`, or by everybody, which
    /// changes nothing yet.
    pub(super) const fn new(write: u64, owner: Option<Arc<Owner>>) -> Self {
        Self {
            write,
            owner,
            added: Set::new(),
            deletes: false,
            pending_sites: PendingSites::new(),
            removal: Removal::new(),
        }
    }

    /// Returns who writes; `None` for everybody.
    pub(super) fn owner(&self) -> Option<&Arc<Owner>> {
        self.owner.as_ref()
    }

    fn is_own(&self, probe: &Probe) -> bool {
        probe.event.is_of(self.owner())
    }

    /// Returns the event with the names of `definition` if it belongs to somebody else than
    /// the writer; `set` is the registry's.
    pub(super) fn other_of<'a>(
        &self,
        set: &'a Set,
        definition: &'a Definition,
    ) -> Option<&'a Event> {
        let mut named = set.named(definition, self.write);
        let other = named.find(|probe| !self.is_own(probe))?;
        Some(&other.event)
    }

    /// Returns whether it deletes probes of the set.
    pub(super) fn deletes(&self) -> bool {
        self.deletes
    }

    /// Returns whether it changes nothing.
    pub(super) fn is_empty(&self) -> bool {
        !self.deletes && self.added.len() == 0
    }

    /// Returns the probes of `set`, the registry's, that it deletes.
    pub(super) fn deleted<'a>(&self, set: &'a Set) -> impl Iterator<Item = &'a Arc<Probe>> {
        set.deleted(self.write)
    }

    /// Notes that a new event takes the place of `event`.
    pub(super) fn replace(&self, event: &Event) {
        event.in_write.replace(self.write);
    }

    /// Returns whether a new event takes the place of `event`.
    pub(super) fn replaces(&self, event: &Event) -> bool {
        event.in_write.is_replaced_in(self.write)
    }

    /// Returns whether it removes `event`.
    pub(super) fn removes(&self, event: &Event) -> bool {
        event.in_write.is_removed_in(self.write)
    }

    /// Returns whether `event` has a probe after the write.
    pub(super) fn keeps(&self, event: &Event) -> bool {
        event.in_write.probes_after(self.write) != 0
    }

    /// Returns the refusal to delete `deleted`, whose deletion is noted, if that leaves an event
    /// that is in use without a probe. `set` is the registry's; the caret is at column `at`.
    #[inline(never)]
    fn refusal<'a>(
        &'a self,
        set: &'a Set,
        deleted: impl Iterator<Item = &'a Arc<Probe>>,
        at: usize,
    ) -> Option<Refusal> {
        let all = || Iterator::chain(set.iter(), self.added.iter());
        let refusal = |event: &Event| Some(Hold::of(event, all()).refusal(event, at));
        let mut is_any_attached = false;
        for probe in deleted {
            if !self.removes(&probe.event) {
                continue;
            }
            if probe.event.is_needed() || probe.is_emitted() {
                return refusal(&probe.event);
            }
            is_any_attached |= probe.event.is_attached();
        }
        if !is_any_attached {
            return None;
        }
        // One look at each probe, however many events have attached ones.
        for probe in all().filter(|probe| self.keeps(&probe.event)) {
            for attachment in probe.attachments() {
                if self.removes(attachment.to()) {
                    return refusal(attachment.to());
                }
            }
        }
        None
    }

    /// Returns the new probes.
    pub(super) fn added(&self) -> &Set {
        &self.added
    }

    /// Returns the probes that the event of `definition` has after the write; `set` is
    /// the registry's.
    pub(super) fn siblings<'a>(
        &'a self,
        set: &'a Set,
        definition: &'a Definition,
    ) -> impl Iterator<Item = &'a Arc<Probe>> {
        let kept = set.named(definition, self.write);
        Iterator::chain(kept, self.added.named(definition, self.write))
    }

    /// Adds a probe.
    ///
    /// # Errors
    ///
    /// `NO_MEMORY`.
    pub(super) fn add(&mut self, probe: Arc<Probe>) -> Result<(), Refusal> {
        let no_memory = |_| Refusal::new(Kind::NoMemory, 0);
        let kind = probe.definition().kind;
        self.removal.expect(kind).map_err(no_memory)?;
        self.added.reserve(1)?;
        probe.event.in_write.add_probe(self.write);
        self.added.push(probe);
        Ok(())
    }

    /// Deletes the probes that `deletion` names; `set` is the registry's. An enabled
    /// event must keep a probe.
    ///
    /// # Errors
    ///
    /// `NO_SUCH_EVENT`, `AMBIGUOUS_EVENT`, `EVENT_BUSY`, `NO_MEMORY`; then nothing has
    /// changed.
    pub(super) fn delete(&mut self, set: &mut Set, deletion: &Deletion) -> Result<(), Refusal> {
        /// The column of the names, behind `-:`.
        const NAMES: usize = 2;

        let group = self.one_group(set, deletion, NAMES)?;
        let is_meant = |probe: &Probe| {
            let is_group = |group: &Vec<u8>| **group == *probe.definition().group;
            self.is_own(probe) && group.as_ref().is_none_or(is_group)
        };
        let mut kept = Vec::new();
        for (index, probe) in set.matching(deletion, self.write) {
            if is_meant(probe) {
                kept.push(index)?;
            }
        }
        let mut new = Vec::new();
        for (index, probe) in self.added.matching(deletion, self.write) {
            if is_meant(probe) {
                new.push(index)?;
            }
        }
        if kept.is_empty() && new.is_empty() {
            let other = set.matching(deletion, self.write).next();
            return Err(match other {
                Some((_, other)) => other.event.belongs_to_other(Kind::OtherOwner, NAMES),
                None => no_such_event(set, deletion, NAMES),
            });
        }
        let from_set = kept.iter().filter_map(|&index| set.get(index));
        let from_new = new.iter().filter_map(|&index| self.added.get(index));
        let events = Iterator::chain(from_set, from_new).map(|probe| &probe.event);
        for event in events.clone() {
            event.in_write.delete_probe(self.write);
        }
        let from_set = kept.iter().filter_map(|&index| set.get(index));
        let from_new = new.iter().filter_map(|&index| self.added.get(index));
        let deleted = Iterator::chain(from_set, from_new);
        if let Some(refusal) = self.refusal(set, deleted, NAMES) {
            for event in events {
                event.in_write.add_probe(self.write);
            }
            return Err(refusal);
        }
        for &index in &kept {
            set.delete(index, self.write);
            self.deletes = true;
        }
        // The latest first, which also keeps the indices of the others.
        for &index in new.iter().rev() {
            if let Some(probe) = self.added.take(index) {
                probe.remove(&mut self.removal);
            }
        }
        Ok(())
    }

    /// Deletes the probes of `set`, the registry's, whose events `which` selects, and adds
    /// none.
    pub(super) fn delete_all(&mut self, set: &mut Set, which: impl Fn(&Event) -> bool) {
        for index in 0..set.len() {
            let probe = set.get(index).filter(|probe| which(&probe.event));
            if let Some(probe) = probe {
                probe.event.in_write.delete_probe(self.write);
                set.delete(index, self.write);
                self.deletes = true;
            }
        }
    }

    /// Returns the group that `deletion` means if it names an event without a group: the
    /// default group if it has such an event, or else the only group that does.
    ///
    /// # Errors
    ///
    /// `AMBIGUOUS_EVENT`, with the caret at column `at`, if there are several groups.
    fn one_group(
        &self,
        set: &Set,
        deletion: &Deletion,
        at: usize,
    ) -> Result<Option<Vec<u8>>, Refusal> {
        if deletion.group.is_some() {
            return Ok(None);
        }
        let kept = set.matching(deletion, self.write);
        let all = Iterator::chain(kept, self.added.matching(deletion, self.write));
        let (mut first, mut other): (Option<&Definition>, Option<&Definition>) = (None, None);
        for (_, probe) in all {
            if !self.is_own(probe) {
                continue;
            }
            let definition = probe.definition();
            if *definition.group == *definition.kind.default_group.as_bytes() {
                return Ok(Some(Vec::from_slice(&definition.group)?));
            }
            match first {
                None => first = Some(definition),
                Some(first) if *first.group != *definition.group => {
                    other.get_or_insert(definition);
                }
                Some(_) => {}
            }
        }
        match (first, other) {
            (Some(first), Some(other)) => {
                let refusal = Refusal::new(Kind::AmbiguousEvent, at);
                Err(refusal.with_detail(format_args!(
                    "{}, {}",
                    Plain(&first.group),
                    Plain(&other.group)
                )))
            }
            _ => Ok(None),
        }
    }

    /// Makes room in `set`, the registry's, for the new probes, and for the removal of
    /// those that are deleted. Returns which events come and go.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn reserve(&mut self, set: &mut Set) -> Result<Comings> {
        let (mut new, mut removed) = (Vec::new(), Vec::new());
        let deleted = self.deletes.then(|| set.deleted(self.write));
        for probe in deleted.into_iter().flatten() {
            self.removal.expect(probe.definition().kind)?;
            let event = &probe.event;
            if self.removes(event) && event.in_write.list(self.write) {
                removed.push(event.clone())?;
            }
        }
        for event in self.added.iter().map(|probe| &probe.event) {
            if event.in_write.is_new() && event.in_write.list(self.write) {
                new.push(event.clone())?;
            }
        }
        set.reserve(self.added.len())?;
        Ok(Comings { new, removed })
    }

    /// Applies the changes to `set`, the registry's. Call [`Draft::reserve`] before. Returns what
    /// was deleted, which may be hit until it is dropped.
    ///
    /// Context: process, may sleep.
    pub(super) fn apply(&mut self, set: &mut Set) -> Removal {
        if self.deletes {
            let removal = &mut self.removal;
            set.take_deleted(self.write, |probe| {
                probe.event.in_write.accept_probes(self.write);
                probe.remove(removal);
            });
        }
        self.added
            .move_to(set, |probe| probe.event.in_write.accept_probes(self.write));
        mem::replace(&mut self.removal, Removal::new())
    }
}

/// Returns the refusal of `deletion`, which names no probe of `set`, with the caret at `at`.
#[cold]
#[inline(never)]
fn no_such_event(set: &Set, deletion: &Deletion, at: usize) -> Refusal {
    let refusal = Refusal::new(Kind::NoSuchEvent, at);
    match (&deletion.group, &deletion.event) {
        (None, Some(name)) => suggest_event(refusal, name, b'/', &|each| {
            let all = set.iter().map(|probe| &probe.event);
            all.filter(|event| !event.is_ready_made())
                .map(|event| event.names())
                .for_each(|(group, name)| each(group, name));
        }),
        _ => refusal,
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        while let Some(probe) = self.added.pop() {
            probe.remove(&mut self.removal);
        }
    }
}

/// The functions of a write's definitions whose entries ftrace may report or not. It is asked
/// about all of them at once: a question takes some ten thousand instructions, and little more
/// for many functions.
pub(super) struct PendingSites {
    sites: Vec<Site>,
    /// For each of them, where it is named.
    named: Vec<NamedSite>,
    /// The number of the line that is being applied.
    line: usize,
}

/// Where a write names a function.
struct NamedSite {
    line: usize,
    column: usize,
}

impl PendingSites {
    /// Makes an empty list.
    pub(super) const fn new() -> Self {
        Self {
            sites: Vec::new(),
            named: Vec::new(),
            line: 0,
        }
    }

    /// Begins the line with the number `line`.
    pub(super) fn begin_line(&mut self, line: usize) {
        self.line = line;
    }

    /// Adds a function that the line names at `column`.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub(super) fn add(&mut self, site: Site, column: usize) -> Result<(), AllocError> {
        self.sites.push(site)?;
        self.named.push(NamedSite {
            line: self.line,
            column,
        })
    }

    /// Asks ftrace. Returns the number of the first line that names a function whose entry ftrace
    /// does not report, and the line's refusal.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    ///
    /// Context: process, may sleep.
    pub(super) fn ask(&self) -> Result<Option<(usize, Refusal)>, AllocError> {
        let Some(index) = functions::first_unknown(&self.sites)? else {
            return Ok(None);
        };
        let both = self.sites.get(index).zip(self.named.get(index));
        Ok(both.map(|(site, named)| {
            let refusal = location::unreported(site.function, named.column);
            (named.line, refusal)
        }))
    }
}

/// Warns in the kernel's log of those of `probes`, the new probes, that wait for a
/// module, as the kernel does for its own events: the name may be wrong.
pub(super) fn report_waiting(probes: &Set) {
    /// Most events that one call names.
    const NAMED: usize = 10;
    let waiting = || probes.iter().filter(|probe| probe.is_waiting());
    for probe in waiting().take(NAMED) {
        let definition = probe.definition();
        let (group, event) = (OneLine(&definition.group), OneLine(&definition.event));
        match definition.place.symbol() {
            Some((Some(module), _)) => pr_warn!(
                "event {} waits for the module {}, which is not loaded\n",
                format_args!("{group}/{event}"),
                format_args!("{}", OneLine(module))
            ),
            Some((None, point)) if definition.kind.mechanism == Mechanism::Tracepoint => pr_warn!(
                "event {} waits for a module with the tracepoint {}\n",
                format_args!("{group}/{event}"),
                format_args!("{}", OneLine(point))
            ),
            _ => {}
        }
    }
    let more = waiting().count().saturating_sub(NAMED);
    if more > 0 {
        pr_warn!("so do {more} other events: kprobe_stats names them\n");
    }
}

/// The reason why a write has changed nothing.
pub(crate) enum Failure {
    /// The command was refused.
    Refused {
        /// The refusal.
        refusal: Refusal,
        /// The command.
        command: Vec<u8>,
    },
    /// The task is being killed.
    Interrupted,
}

impl Failure {
    /// Makes the refusal of `command`.
    pub(super) fn refused(refusal: Refusal, command: &[u8]) -> Self {
        Self::Refused {
            refusal,
            command: Vec::from_slice(command).unwrap_or_default(),
        }
    }

    /// Returns whether the refusal is that no event id is free.
    pub(crate) fn is_for_numbers(&self) -> bool {
        matches!(self, Self::Refused { refusal, .. } if refusal.kind == Kind::NoNumber)
    }
}
