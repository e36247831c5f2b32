// SPDX-License-Identifier: GPL-2.0

//! Makes ready-made events from their table, on first use.
//!
//! They are events like others, with an owner of their own, so that no list of definitions has them
//! and none deletes them. A definition with the same names replaces a ready-made event, unless that
//! is in use.

use super::define::boxed;
use super::Definitions;
use crate::{
    engine::{
        definition::{
            ast::{Definition, Request},
            parse,
            ready::{ReadyGroup, ReadyRow, GROUPS},
        },
        language::lex::{self, Command},
        refusal::error::{Error as Refusal, Kind},
    },
    events::registry::{busy::Hold, files::Removed, write::Write, Registry},
    kapi::context::is_being_killed,
    source::machine::{error_of, MACHINE},
};
use kernel::prelude::*;

impl Write<'_> {
    /// Adds the ready-made events that `which` selects, except those whose names are taken, and
    /// those whose tracepoint or structure member the kernel lacks.
    ///
    /// # Errors
    ///
    /// `NO_MEMORY`, `NO_NUMBER`.
    fn add_ready(&mut self, which: &dyn Fn(&ReadyGroup, &ReadyRow) -> bool) -> Result<(), Refusal> {
        let rows = GROUPS
            .iter()
            .flat_map(|group| group.rows.iter().map(move |row| (group, row)));
        for (group, row) in rows.filter(|(group, row)| which(group, row)) {
            let line = row.definition(group.name)?;
            let command = Command::new(&line)?;
            let Request::Create(definition) = parse::request(&command, MACHINE)? else {
                continue;
            };
            let definitions = &self.registry.definitions;
            let is_taken = definitions.set.has(&definition) || self.added.has(&definition);
            if is_taken || !definitions.has_point(row)? {
                continue;
            }
            match self.create(
                &command,
                (boxed(derived(definition, row))?, Some(row.class)),
            ) {
                Ok(()) => {}
                Err(refusal) if matches!(refusal.kind, Kind::NoMemory | Kind::NoNumber) => {
                    return Err(refusal)
                }
                Err(refusal) => pr_debug!(
                    "event {}/{} is not made: {} at {}\n",
                    group.name,
                    row.name,
                    refusal.kind.text(),
                    refusal.at
                ),
            }
        }
        Ok(())
    }

    /// Deletes the ready-made event with the names of `definition`, if there is one.
    ///
    /// # Errors
    ///
    /// `EVENT_EXIST` if that is in use.
    pub(super) fn make_way(&mut self, definition: &Definition) -> Result<(), Refusal> {
        let Some(other) = self.other_of(definition) else {
            return Ok(());
        };
        if !other.is_ready_made() {
            return Ok(());
        }
        if other.is_needed() || other.is_attached() {
            let hold = Hold::of(other, self.registry.definitions.set.iter());
            return Err(Refusal::new(Kind::EventExist, 0).with_detail(format_args!(
                "the ready-made event is in use, {hold}: undo that first"
            )));
        }
        let id = other.id();
        self.delete_all(|event| event.id() == id)
    }
}

impl Definitions {
    /// Returns whether the kernel has the tracepoint of `row`.
    ///
    /// # Errors
    ///
    /// `NO_MEMORY`.
    ///
    /// Context: process, may sleep.
    fn has_point(&self, row: &ReadyRow) -> Result<bool, Refusal> {
        let found = self.points.find(row.name.as_bytes());
        let found = found.map_err(|_| Refusal::new(Kind::NoMemory, 0))?;
        Ok(found.is_some())
    }
}

impl Registry {
    /// Makes the ready-made events that `which` selects, disabled, except those whose names are
    /// taken, and those that the kernel does not support.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, `ENOSPC`; `ENODEV` while the module is unloaded. Then nothing has changed.
    ///
    /// Context: process, may sleep.
    pub(crate) fn make_ready(
        &mut self,
        which: &dyn Fn(&ReadyGroup, &ReadyRow) -> bool,
        removed: &mut Removed,
    ) -> Result {
        let builtin = self.definitions.builtin.clone();
        let made = Write::boxed(self, Some(builtin)).and_then(|mut write| {
            write.add_ready(which)?;
            write.commit(removed)
        });
        made.map_err(|refusal| error_of(&refusal))
    }

    /// Makes the ready-made events to which the definitions in `text` attach event probes. An event
    /// that cannot be made is later refused as nonexistent.
    ///
    /// Context: process, may sleep.
    #[inline(never)]
    pub(crate) fn make_attachable(&mut self, text: &[u8], removed: &mut Removed) {
        let attaching = |text: &[u8]| matches!(text.trim_ascii(), [b'e' | b'b', ..]);
        for line in lex::lines(text).filter(|line| attaching(line.text)) {
            let words = line.text.split(|&byte| lex::is_space(byte));
            let places = words.filter(|word| !word.is_empty()).skip(1);
            for place in places.take_while(|word| !word.contains(&b'=')) {
                // The definitions will not be applied either.
                if is_being_killed() {
                    return;
                }
                let is_it = |group: &ReadyGroup, row: &ReadyRow| is_named(place, group, row);
                // The lookup of the event reports the failure.
                let _ = self.make_ready(&is_it, removed);
            }
        }
    }

    /// Calls `each` with the ready-made events that have not been made, that the kernel supports,
    /// and whose names are free, until it returns false.
    ///
    /// Context: process, may sleep.
    pub(crate) fn each_unmade(&self, each: &mut dyn FnMut(&ReadyGroup, &ReadyRow) -> bool) {
        for group in GROUPS {
            for row in group.events() {
                let names = (group.name.as_bytes(), row.name.as_bytes());
                let is_free = !self.events().any(|event| event.names() == names);
                // Without memory, the event is left out.
                let has_point = || self.definitions.has_point(row).unwrap_or(false);
                if is_free && has_point() && !each(group, row) {
                    return;
                }
            }
        }
    }

    /// Calls `each` with the group and the name of each event, used or not.
    ///
    /// Context: process, may sleep.
    pub(crate) fn each_name(&self, each: &mut dyn FnMut(&[u8], &[u8])) {
        for event in self.events() {
            let (group, name) = event.names();
            each(group, name);
        }
        self.each_unmade(&mut |group, row| {
            each(group.name.as_bytes(), row.name.as_bytes());
            true
        });
    }
}

/// Returns `definition` of `row`, with the row's derived values.
fn derived(mut definition: Definition, row: &ReadyRow) -> Definition {
    for (argument, field) in definition.args.iter_mut().zip(row.fields()) {
        argument.spec.derived = field.derived;
    }
    definition
}

/// Returns whether `text` is `GROUP.EVENT`, maybe with keys behind it, and names this event.
fn is_named(text: &[u8], group: &ReadyGroup, row: &ReadyRow) -> bool {
    let name = text.strip_prefix(group.name.as_bytes());
    let name = name.and_then(|name| name.split_first());
    name.is_some_and(|(byte, name)| {
        let rest = name.strip_prefix(row.name.as_bytes());
        matches!(byte, b'.' | b'/') && rest.is_some_and(|rest| matches!(rest, [] | [b'(', ..]))
    })
}
