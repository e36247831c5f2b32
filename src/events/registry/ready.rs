// SPDX-License-Identifier: GPL-2.0

//! The ready-made events, for who uses or lists them.

use super::{files::Removed, Registry};
use crate::{
    engine::{
        definition::ready::{ReadyGroup, ReadyRow},
        language::lex,
    },
    events::event::Event,
    kapi::context::is_being_killed,
};
use kernel::prelude::*;

impl Registry {
    /// Makes the ready-made events that `which` selects, disabled, but for those whose names are
    /// taken, and those that this kernel cannot have.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, `ENOSPC`; `ENODEV` once the module is being unloaded. Then nothing has changed.
    ///
    /// Context: process, may sleep.
    pub(crate) fn make_ready(
        &mut self,
        which: &dyn Fn(&ReadyGroup, &ReadyRow) -> bool,
        removed: &mut Removed,
    ) -> Result {
        let mut draft = self.definitions.begin_ready()?;
        let others = (&self.instances, &self.arming);
        let added = self.definitions.add_ready(&mut draft, which, others);
        added.map_err(|refusal| Error::from_errno(refusal.errno.0.wrapping_neg()))?;
        if draft.added().len() == 0 {
            return Ok(());
        }
        self.accept(&mut draft, removed)
    }

    /// Makes the ready-made events to which `text` attaches event probes. An event that cannot be
    /// made is refused later, as one that does not exist.
    ///
    /// Context: process, may sleep.
    #[inline(never)]
    pub(super) fn make_attachable(&mut self, text: &[u8], removed: &mut Removed) {
        let attaching = |text: &[u8]| matches!(text.trim_ascii(), [b'e' | b'b', ..]);
        for line in lex::lines(text).filter(|line| attaching(line.text)) {
            let words = line.text.split(|&byte| lex::is_space(byte));
            let places = words.filter(|word| !word.is_empty()).skip(1);
            for place in places.take_while(|word| !word.contains(&b'=')) {
                // Then the definitions are not looked at, either.
                if is_being_killed() {
                    return;
                }
                let is_it = |group: &ReadyGroup, row: &ReadyRow| is_named(place, group, row);
                // What is missing is told when it is looked up.
                let _ = self.make_ready(&is_it, removed);
            }
        }
    }

    /// Calls `each` with the ready-made events that nobody has used yet and whose names are free,
    /// until it returns false.
    ///
    /// Context: process, may sleep.
    pub(crate) fn each_unmade(&self, each: &mut dyn FnMut(&ReadyGroup, &ReadyRow) -> bool) {
        let is_free =
            |group: &[u8], name: &[u8]| !self.events().any(|event| event.names() == (group, name));
        self.definitions.each_ready(&is_free, each);
    }

    /// Calls `each` with the group and the name of each event, used or not.
    ///
    /// Context: process, may sleep.
    pub(crate) fn each_name(&self, each: &mut dyn FnMut(&[u8], &[u8])) {
        let events = |each: &mut dyn FnMut(&Event)| self.events().for_each(|event| each(event));
        self.definitions.each_name(&events, each);
    }
}

/// Returns whether `text` is the name of an event, `GROUP.EVENT`, with keys behind it or not.
fn is_named(text: &[u8], group: &ReadyGroup, row: &ReadyRow) -> bool {
    let name = text.strip_prefix(group.name.as_bytes());
    let name = name.and_then(|name| name.split_first());
    name.is_some_and(|(byte, name)| {
        let rest = name.strip_prefix(row.name.as_bytes());
        matches!(byte, b'.' | b'/') && rest.is_some_and(|rest| matches!(rest, [] | [b'(', ..]))
    })
}
