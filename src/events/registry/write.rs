// SPDX-License-Identifier: GPL-2.0

//! A write: the transaction that changes the set of probes.
//!
//! A write is all or nothing. Its lines are applied in order: new probes are registered, but not
//! armed; deleted probes stay registered. Only if every line succeeds, [`Write::commit`] changes
//! the set and the directories of the events.

use super::{busy, files::Removed, set::Set, Registry};
use crate::{
    drop_where::drop_where,
    engine::{
        definition::{ast::Definition, kind::Mechanism, parse::Grammar},
        language::lex::{self, Command},
        refusal::error::{Error as Refusal, Kind},
        util::text::OneLine,
    },
    events::{event::Event, owner::Owner, probe::Probe},
    kapi::{context, functions::Site, tracepoint},
    source::{functions, location, machine::errno, registered::Removal},
    sys::{AllocError, Vec},
};
use core::mem;
use kernel::{prelude::*, sync::Arc};

/// A write. If it is dropped before it is committed, the new probes are removed, with one grace
/// period for all.
///
/// Context of the drop: process, may sleep.
pub(crate) struct Write<'r> {
    pub(super) registry: &'r mut Registry,
    /// Its number, which marks on events and deleted probes refer to.
    pub(super) number: u64,
    /// The owner of private events, if the write comes from one.
    pub(super) owner: Option<Arc<Owner>>,
    /// The new probes.
    pub(super) added: Set,
    /// Whether the write deletes probes of the registry.
    pub(super) deletes: bool,
    /// The events that it creates.
    pub(super) new: Vec<NewEvent>,
    /// The registry's events that it leaves without a probe.
    pub(super) removed: Vec<Arc<Event>>,
    pub(super) pending_sites: PendingSites,
    /// Has memory for all added probes.
    pub(super) removal: Removal,
}

/// An event that a write creates.
pub(crate) struct NewEvent {
    pub(super) event: Arc<Event>,
    /// The deleted event of the same names, whose files it takes over.
    pub(super) replaces: Option<Arc<Event>>,
}

impl<'r> Write<'r> {
    /// Begins a write, of `owner`'s private events if there is one.
    pub(super) fn new(registry: &'r mut Registry, owner: Option<Arc<Owner>>) -> Self {
        Self {
            number: registry.definitions.next_write(),
            registry,
            owner,
            added: Set::new(),
            deletes: false,
            new: Vec::new(),
            removed: Vec::new(),
            pending_sites: PendingSites::new(),
            removal: Removal::new(),
        }
    }

    /// Begins a write in a box, because parsing its lines takes much stack.
    ///
    /// # Errors
    ///
    /// `NO_MEMORY`.
    #[inline(never)]
    pub(super) fn boxed(
        registry: &'r mut Registry,
        owner: Option<Arc<Owner>>,
    ) -> Result<KBox<Self>, Refusal> {
        KBox::new(Self::new(registry, owner), GFP_KERNEL)
            .map_err(|_| Refusal::new(Kind::NoMemory, 0))
    }

    /// Applies the lines of `text`.
    fn lines(&mut self, text: &[u8], grammar: Grammar) -> Result<(), Failure> {
        for line in lex::lines(text) {
            if context::is_being_killed() {
                return Err(Failure::Interrupted);
            }
            self.pending_sites.line = line.number;
            let command =
                Command::new(line.text).map_err(|refusal| Failure::refused(refusal, line.text))?;
            if !command.is_empty() {
                // A task that is being killed reads no refusal, and a search that it ended has no
                // result.
                let refused = |refusal| match context::is_being_killed() {
                    true => Failure::Interrupted,
                    false => Failure::refused(refusal, command.text()),
                };
                // `line` does not do this: its locals take much stack.
                for place in self.line(&command, grammar).map_err(refused)? {
                    self.create_at(&command, place).map_err(refused)?;
                }
            }
        }
        Ok(())
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
        probe.event.in_write.add_probe(self.number);
        self.added.push(probe);
        Ok(())
    }

    /// Deletes the registry's probes of events that `which` selects.
    ///
    /// # Errors
    ///
    /// `NO_MEMORY`.
    pub(super) fn delete_all(&mut self, which: impl Fn(&Event) -> bool) -> Result<(), Refusal> {
        let set = &mut self.registry.definitions.set;
        for index in 0..set.len() {
            let probe = set.get(index).filter(|probe| which(&probe.event));
            if let Some(probe) = probe {
                if probe.event.in_write.delete_probe(self.number) == 0 {
                    self.removed.push(probe.event.clone())?;
                }
                set.delete(index, self.number);
                self.deletes = true;
            }
        }
        Ok(())
    }

    /// Returns the probes of all events, including those that the write deletes.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Probe>> + Clone {
        Iterator::chain(self.registry.definitions.set.iter(), self.added.iter())
    }

    pub(super) fn removes(&self, event: &Event) -> bool {
        event.in_write.is_removed_in(self.number)
    }

    /// Returns whether the event of `probe` has the writer as owner.
    pub(super) fn is_own(&self, probe: &Probe) -> bool {
        probe.event.is_of(self.owner.as_ref())
    }

    /// Returns the event with the names of `definition` if it has another owner than the writer.
    pub(super) fn other_of<'a>(&'a self, definition: &'a Definition) -> Option<&'a Event> {
        let mut named = self.registry.definitions.set.named(definition, self.number);
        let other = named.find(|probe| !self.is_own(probe))?;
        Some(&other.event)
    }

    /// Returns the probes that the event of `definition` will have after the write.
    pub(super) fn siblings<'a>(
        &'a self,
        definition: &'a Definition,
    ) -> impl Iterator<Item = &'a Arc<Probe>> {
        let kept = self.registry.definitions.set.named(definition, self.number);
        Iterator::chain(kept, self.added.named(definition, self.number))
    }

    /// Commits the write. Files of removed events are moved to `files`.
    ///
    /// # Errors
    ///
    /// `FILE_IN_USE` if a deleted probe may still serve system calls; `NO_MEMORY`, and the errors
    /// of creating files and of arming new probes of enabled events. Then nothing has changed.
    ///
    /// Context: process, may sleep.
    #[inline(never)]
    pub(super) fn commit(&mut self, files: &mut Removed) -> Result<(), Refusal> {
        if !self.deletes && self.added.len() == 0 {
            return Ok(());
        }
        self.wait_for_syscall_probes()?;
        self.accept(files)
            .map_err(|error| Refusal::registration(errno(error), 0))
    }

    /// Waits until the deleted probes serve no system calls. The wait is short and limited, see
    /// [`Remains`](super::Remains).
    fn wait_for_syscall_probes(&self) -> Result<(), Refusal> {
        let mut running = self
            .deleted()
            .filter_map(|probe| probe.tracepoint())
            .filter(|probe| probe.may_still_run())
            .peekable();
        if !self.deletes || running.peek().is_none() {
            return Ok(());
        }
        if !tracepoint::wait_for_syscall_probes() {
            return Err(Refusal::new(Kind::FileInUse, 0).with_detail(format_args!(
                "another tracer sleeps in a system call, where a user keeps a page from it: try again"
            )));
        }
        running.for_each(|probe| probe.set_waited());
        Ok(())
    }

    fn deleted(&self) -> impl Iterator<Item = &Arc<Probe>> {
        self.registry.definitions.set.deleted(self.number)
    }

    fn accept(&mut self, files: &mut Removed) -> Result {
        // Everything that can fail comes before the first removal.
        self.reserve()?;
        self.change_files(files)?;
        report_waiting(&self.added);
        let arms = self.added.iter().any(|probe| probe.is_armed());
        for new in &self.new {
            self.registry.instances.add_format(&new.event);
        }
        // The drop waits for hits, which may use the formats that are retired next.
        drop(self.change_set());
        for event in &self.removed {
            event.set_gone();
        }
        self.registry.instances.retire_formats(&self.removed);
        if arms {
            self.registry.watch();
        }
        // The write is committed and cannot fail any more. If this fails, the next change of an
        // event repeats it. It only has work if an event probe got another probe.
        if let Err(error) = self.registry.link_caused_events() {
            pr_warn!(
                "hits are not sent to all event probes (errno {}): enable these anew\n",
                error.to_errno()
            );
        }
        Ok(())
    }

    /// Reserves memory for the new probes, and for the removal of deleted ones.
    fn reserve(&mut self) -> Result {
        let number = self.number;
        // A new event may have lost its probes again, or its definition was refused.
        drop_where(&mut self.new, |new| {
            new.event.in_write.probes_after(number) == 0
        });
        let Registry {
            definitions,
            instances,
            ..
        } = &mut *self.registry;
        if self.deletes {
            for probe in definitions.set.deleted(number) {
                self.removal.expect(probe.definition().kind)?;
            }
        }
        definitions.set.reserve(self.added.len())?;
        definitions.reserve_spares(&self.added)?;
        instances.reserve_formats(self.new.len(), self.removed.len())
    }

    /// Creates the directories of new events in all instances, arms the new probes of enabled
    /// events, and moves the directories of removed events to `removed`.
    fn change_files(&mut self, removed: &mut Removed) -> Result {
        let Registry {
            instances, arming, ..
        } = &mut *self.registry;
        let mut events = Vec::new();
        for new in self.new.iter().filter(|new| new.replaces.is_none()) {
            events.push(new.event.clone())?;
        }
        instances.reserve_removed(removed, events.len(), self.removed.len())?;
        let mut all = Vec::new();
        all.reserve(instances.iter().count())?;
        let mut result = Ok(());
        for instance in instances.iter_mut() {
            let made = instance.files.make(&events, removed);
            result = made.and_then(|made| Ok(all.push(made)?));
            if result.is_err() {
                break;
            }
        }
        let needed = self.added.iter().filter(|probe| probe.event.is_needed());
        let result = result.and_then(|()| arming.set_armed(needed, true));
        let mut all = all.into_iter();
        // Not zipped: the symbol name of the drop would be too long.
        for instance in instances.iter_mut() {
            let Some(made) = all.next() else {
                break;
            };
            let files = &mut instance.files;
            if result.is_err() {
                files.discard(made, removed);
                continue;
            }
            if !self.removed.is_empty() {
                for new in &self.new {
                    if let Some(former) = &new.replaces {
                        files.hand_over(former, &new.event);
                    }
                }
                files.remove(|event| event.in_write.is_removed_in(self.number), removed);
            }
            files.accept(made, removed);
        }
        result
    }

    /// Changes the set, which has room. Returns the deleted probes, which may be hit until the
    /// result is dropped.
    ///
    /// Context: process, may sleep.
    fn change_set(&mut self) -> Removal {
        let set = &mut self.registry.definitions.set;
        if self.deletes {
            let removal = &mut self.removal;
            set.take_deleted(self.number, |probe| {
                probe.event.in_write.accept_probes(self.number);
                probe.remove(removal);
            });
        }
        self.added
            .move_to(set, |probe| probe.event.in_write.accept_probes(self.number));
        mem::replace(&mut self.removal, Removal::new())
    }
}

impl Drop for Write<'_> {
    fn drop(&mut self) {
        while let Some(probe) = self.added.pop() {
            probe.remove(&mut self.removal);
        }
    }
}

impl Registry {
    /// Applies the lines of a write, of `owner`'s private events if there is one: all of them or
    /// none.
    ///
    /// The files of events that it removes are moved to `removed`.
    ///
    /// # Errors
    ///
    /// The [`Failure`] of the first line that fails.
    ///
    /// Context: process, may sleep.
    #[inline(never)]
    pub(crate) fn apply(
        &mut self,
        (text, grammar): (&[u8], Grammar),
        owner: Option<&Arc<Owner>>,
        removed: &mut Removed,
    ) -> Result<(), Failure> {
        if text.trim_ascii().is_empty() {
            // Nothing to do. This must not fail when `private_events` is closed after its events
            // were removed.
            return Ok(());
        }
        let refused = |refusal| Failure::refused(refusal, text.trim_ascii());
        self.make_attachable(text, removed);
        let mut write = Write::boxed(self, owner.cloned()).map_err(refused)?;
        let applied = write.lines(text, grammar);
        // A refusal here is for a line before the one in `applied`, and is returned first.
        write.pending_sites.ask(text)?;
        applied?;
        write.commit(removed).map_err(refused)
    }

    /// Removes all events without an owner that `which` selects.
    ///
    /// # Errors
    ///
    /// `FILE_IN_USE` if one is enabled or a trigger uses it; then none is removed.
    /// `NO_MEMORY`.
    ///
    /// Context: process, may sleep.
    pub(crate) fn clear(
        &mut self,
        which: &dyn Fn(&Event) -> bool,
        removed: &mut Removed,
    ) -> Result<(), Refusal> {
        let is_common = |event: &Event| event.owner().is_none() && which(event);
        busy::check(&self.definitions.set, &is_common)?;
        let mut write = Write::new(self, None);
        write.delete_all(is_common)?;
        write.commit(removed)
    }
}

/// Functions of a write whose entries ftrace may refuse. They are checked together: a check takes
/// some ten thousand instructions, for one function or many.
pub(crate) struct PendingSites {
    sites: Vec<Site>,
    /// For each function, the line that names it and the column there.
    named: Vec<(usize, usize)>,
    /// The line that is being applied.
    line: usize,
}

impl PendingSites {
    const fn new() -> Self {
        Self {
            sites: Vec::new(),
            named: Vec::new(),
            line: 0,
        }
    }

    /// Adds a function that the current line names at `column`.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub(super) fn add(&mut self, site: Site, column: usize) -> Result<(), AllocError> {
        self.sites.push(site)?;
        self.named.push((self.line, column))
    }

    /// Checks the functions that the write `text` names.
    ///
    /// # Errors
    ///
    /// The [`Failure`] of the first line with a function whose entry ftrace does not report.
    fn ask(&self, text: &[u8]) -> Result<(), Failure> {
        let index = functions::first_unknown(&self.sites)
            .map_err(|error| Failure::refused(error.into(), text.trim_ascii()))?;
        let unknown = index.and_then(|index| self.sites.get(index).zip(self.named.get(index)));
        let Some((site, &(number, column))) = unknown else {
            return Ok(());
        };
        let refusal = location::unreported(site.function, column);
        // BOUND: One look at each line.
        let line = lex::lines(text).find(|line| line.number == number);
        let line = line.map_or(&b""[..], |line| line.text);
        Err(match Command::new(line) {
            Ok(command) => Failure::refused(refusal, command.text()),
            Err(_) => Failure::refused(refusal, line),
        })
    }
}

/// Warns in the kernel's log of new `probes` that wait for a module, as the kernel does for its own
/// events: the name may be wrong.
fn report_waiting(probes: &Set) {
    /// Maximum number of events that one warning names.
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

/// Why a write has changed nothing.
pub(crate) enum Failure {
    /// A command was refused.
    Refused { refusal: Refusal, command: Vec<u8> },
    /// The task is being killed.
    Interrupted,
}

impl Failure {
    /// Makes the refusal of `command`.
    fn refused(refusal: Refusal, command: &[u8]) -> Self {
        Self::Refused {
            refusal,
            command: Vec::from_slice(command).unwrap_or_default(),
        }
    }

    /// Returns whether the write was refused for lack of event ids.
    pub(crate) fn is_for_numbers(&self) -> bool {
        matches!(self, Self::Refused { refusal, .. } if refusal.kind == Kind::NoNumber)
    }
}
