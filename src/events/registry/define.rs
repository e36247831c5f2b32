// SPDX-License-Identifier: GPL-2.0

//! Makes the probe of a definition: finds and judges the location, compiles the fetch
//! arguments, and registers the probe with the kernel.

use super::{draft::Draft, set::NO_WRITE, Registry};
use crate::{
    engine::{
        ast::{self, Definition, Place},
        btf::Btf,
        error::{Error as Refusal, Kind},
        fetch::{self, PathOffsets, Program, Target},
        filter::Filter,
        lex::Command,
        record::Layout,
        text::Plain,
    },
    events::{event::Event, format::Format, probe::Probe},
    hit::plan::Plan,
    kapi::paths,
    source::{
        location::{self, Found},
        machine::MACHINE,
        names::KernelFunctions,
        types,
    },
    sys::AllocError,
};
use kernel::{prelude::*, sync::Arc};

impl Registry {
    /// Makes the probe of `definition`, for the event of that name if `draft` has one,
    /// else for a new event.
    pub(super) fn create(
        &mut self,
        draft: &Draft,
        command: &Command,
        mut definition: Definition,
    ) -> Result<Arc<Probe>, Refusal> {
        if is_taken(&definition) || self.calls.probes.has(&definition) {
            return Err(Refusal::new(Kind::EventExist, 0));
        }
        let originals = Iterator::chain(self.set.originals(), draft.added().originals());
        let found = location::find(&definition, &mut self.names, &self.points, originals)?;
        self.expand(&mut definition, found.as_ref())?;
        let (program, layout) = self.compile(&definition, found.as_ref())?;
        let mut known = None;
        let siblings = draft.siblings(&self.set, &definition);
        let siblings = siblings.inspect(|probe| known = Some(probe.event.clone()));
        let described = siblings.map(|probe| ast::Probe {
            definition: probe.definition(),
            layout: &probe.format().layout,
        });
        definition.check_append(&layout, command, described)?;
        let (event, format) = match known {
            Some(event) => {
                let format = Format::new(&definition, event.format.number().clone(), layout)?;
                (event, format)
            }
            None => self.new_event(draft, &definition, layout)?,
        };
        let no_memory = |_| Refusal::new(Kind::NoMemory, 0);
        let definition = Arc::new(definition, GFP_KERNEL).map_err(no_memory)?;
        let probe = Probe::new(
            event,
            definition,
            found.as_ref(),
            (format, program),
            &self.sources(),
        )?;
        Arc::new(probe, GFP_KERNEL).map_err(no_memory)
    }

    /// Makes the event of `definition`, which is not in `draft`. If this write has
    /// deleted an event of that name, the new one takes over its id and its filter.
    fn new_event(
        &mut self,
        draft: &Draft,
        definition: &Definition,
        layout: Layout,
    ) -> Result<(Arc<Event>, Arc<Format>), Refusal> {
        let no_memory = |_| Refusal::new(Kind::NoMemory, 0);
        let mut before = None;
        if draft.deletes() {
            let mut probes = self.set.named(definition, NO_WRITE);
            before = probes.next().map(|probe| probe.event.clone());
        }
        let Some(before) = before else {
            let format = Format::new(definition, self.numbers.take()?, layout)?;
            let plan = Plan::all().map_err(no_memory)?;
            return Ok((Event::new(format.clone(), plan)?, format));
        };
        let format = Format::new(definition, before.format.number().clone(), layout)?;
        let plan = before.file.plan();
        let filter = match &plan.filter {
            None => None,
            Some(filter) => {
                let fitting = Filter::compile(filter.text(), &format.layout, &mut KernelFunctions);
                Some(fitting.map_err(|refusal| match refusal.kind {
                    Kind::NoMemory => refusal,
                    kind => Refusal::new(Kind::FilterLost, 0).with_detail(format_args!(
                        "{}: {}",
                        Plain(filter.text()),
                        kind.text()
                    )),
                })?)
            }
        };
        let plan = Plan::new(filter, plan.actions).map_err(no_memory)?;
        let event = Event::new(format.clone(), plan)?;
        event.set_has_files();
        before.replace_in(draft.write());
        Ok((event, format))
    }

    /// Compiles the fetch arguments of `definition`. `found` is its location, `None` if
    /// its module is not loaded.
    pub(super) fn compile(
        &mut self,
        definition: &Definition,
        found: Option<&Found>,
    ) -> Result<(Program, Layout), Refusal> {
        let needs_types = types::are_needed(definition);
        let at_entry = is_at_entry(definition, found);
        self.with_target(needs_types, at_entry, found, |target| {
            fetch::compile(definition, target)
        })?
    }

    /// Expands the arguments of `definition` that stand for parameters.
    fn expand(
        &mut self,
        definition: &mut Definition,
        found: Option<&Found>,
    ) -> Result<(), Refusal> {
        let needs_types = types::are_needed(definition);
        let at_entry = is_at_entry(definition, found);
        self.with_target(needs_types, at_entry, found, |target| {
            fetch::expand(definition, target)
        })?
    }

    /// Calls `work` with what is known about the probed location.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory to read type information.
    fn with_target<R>(
        &mut self,
        needs_types: bool,
        at_entry: bool,
        found: Option<&Found>,
        work: impl FnOnce(&mut Target<'_>) -> R,
    ) -> Result<R, AllocError> {
        let names = &mut self.names;
        let work = |btf: Option<Btf<'_>>| {
            work(&mut Target {
                arch: MACHINE.arch,
                at_entry,
                symbols: names,
                paths: PathOffsets {
                    dentry_name: paths::DENTRY_NAME,
                    file_dentry: paths::FILE_DENTRY,
                },
                btf,
                function: found.and_then(Found::function),
            })
        };
        if needs_types {
            self.types.with(found.and_then(Found::module), work)
        } else {
            Ok(work(None))
        }
    }
}

/// Returns whether `definition` is at a function's entry. `found` is its location, `None`
/// if its module is not loaded.
fn is_at_entry(definition: &Definition, found: Option<&Found>) -> bool {
    match (found, &definition.place) {
        (Some(found), _) => found.at_entry,
        (None, place) => matches!(place, Place::Symbol { offset: 0, .. }),
    }
}

/// Returns whether the directory of `definition` would have a file's name.
fn is_taken(definition: &Definition) -> bool {
    let above: [&[u8]; 4] = [b"enable", b"ftrace", b"header_event", b"header_page"];
    let files: [&[u8]; 2] = [b"enable", b"filter"];
    above.contains(&&*definition.group)
        || files.contains(&&*definition.group)
        || files.contains(&&*definition.event)
}
