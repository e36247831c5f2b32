// SPDX-License-Identifier: GPL-2.0

//! Deletes the probes that a line names.

use crate::{
    engine::{
        definition::ast::{Definition, Deletion},
        refusal::{
            error::{Error as Refusal, Kind},
            suggest::events::suggest_event,
        },
        util::text::Plain,
    },
    events::{
        probe::Probe,
        registry::{busy, write::Write},
    },
    sys::Vec,
};
use kernel::{prelude::*, sync::Arc};

/// The column of the names, behind `-:`.
const NAMES: usize = 2;

impl Write<'_> {
    /// Deletes the probes that `deletion` matches. An event that is in use must keep a probe.
    ///
    /// # Errors
    ///
    /// `NO_SUCH_EVENT`, `AMBIGUOUS_EVENT`, `EVENT_BUSY`, `EVENT_IN_USE`, `OTHER_OWNER`,
    /// `NO_MEMORY`.
    pub(super) fn delete(&mut self, deletion: &Deletion) -> Result<(), Refusal> {
        let group = self.one_group(deletion)?;
        let is_meant = |probe: &Probe| {
            let is_group = |group: &Vec<u8>| **group == *probe.definition().group;
            self.is_own(probe) && group.as_ref().is_none_or(is_group)
        };
        let set = &self.registry.definitions.set;
        let mut kept = Vec::new();
        for (index, probe) in set.matching(deletion, self.number) {
            if is_meant(probe) {
                kept.push(index)?;
            }
        }
        let mut new = Vec::new();
        for (index, probe) in self.added.matching(deletion, self.number) {
            if is_meant(probe) {
                new.push(index)?;
            }
        }
        if kept.is_empty() && new.is_empty() {
            let other = set.matching(deletion, self.number).next();
            return Err(match other {
                Some((_, other)) => other.event.belongs_to_other(Kind::OtherOwner, NAMES),
                None => self.no_such_event(deletion),
            });
        }
        let from_set = kept.iter().filter_map(|&index| set.get(index));
        let from_new = new.iter().filter_map(|&index| self.added.get(index));
        for probe in Iterator::chain(from_set.clone(), from_new.clone()) {
            let event = &probe.event;
            if event.in_write.delete_probe(self.number) == 0 && !event.in_write.is_new() {
                self.removed.push(event.clone())?;
            }
        }
        let removed = |probe: &&Arc<Probe>| self.removes(&probe.event);
        let going = Iterator::chain(from_set, from_new).filter(removed);
        if let Some(event) = busy::first_of(going, self.all(), &|event| self.removes(event)) {
            return Err(busy::Hold::of(event, self.all()).refusal(event, NAMES));
        }
        let set = &mut self.registry.definitions.set;
        for &index in &kept {
            set.delete(index, self.number);
            self.deletes = true;
        }
        // The latest first, so that the other indices stay valid.
        for &index in new.iter().rev() {
            if let Some(probe) = self.added.take(index) {
                probe.remove(&mut self.removal);
            }
        }
        Ok(())
    }

    /// Returns the group of an event that `deletion` names without a group: the default group if it
    /// has such an event, otherwise the only group that does.
    ///
    /// # Errors
    ///
    /// `AMBIGUOUS_EVENT` if several groups do.
    fn one_group(&self, deletion: &Deletion) -> Result<Option<Vec<u8>>, Refusal> {
        if deletion.group.is_some() {
            return Ok(None);
        }
        let kept = self
            .registry
            .definitions
            .set
            .matching(deletion, self.number);
        let all = Iterator::chain(kept, self.added.matching(deletion, self.number));
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
                let refusal = Refusal::new(Kind::AmbiguousEvent, NAMES);
                Err(refusal.with_detail(format_args!(
                    "{}, {}",
                    Plain(&first.group),
                    Plain(&other.group)
                )))
            }
            _ => Ok(None),
        }
    }

    /// Returns the refusal of `deletion`, which matches no probe.
    #[cold]
    #[inline(never)]
    fn no_such_event(&self, deletion: &Deletion) -> Refusal {
        let refusal = Refusal::new(Kind::NoSuchEvent, NAMES);
        let mut all = self.registry.definitions.set.iter();
        if all.all(|probe| probe.event.is_ready_made()) {
            return refusal.with_detail(format_args!(
                "there are no events: > removes all of them first, >> does not"
            ));
        }
        match (&deletion.group, &deletion.event) {
            (None, Some(name)) => suggest_event(refusal, name, b'/', &|each| {
                let all = self.registry.definitions.set.iter();
                all.map(|probe| &probe.event)
                    .filter(|event| !event.is_ready_made())
                    .map(|event| event.names())
                    .for_each(|(group, name)| each(group, name));
            }),
            _ => refusal,
        }
    }
}
