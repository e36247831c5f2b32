// SPDX-License-Identifier: GPL-2.0

//! The defined probes, those of system calls, and what defining one needs to know.

mod calls;
mod define;
mod modules;
mod ready;
mod receivers;

use super::{
    busy,
    set::Set,
    write::{Comings, Draft},
};
use crate::{
    engine::{
        definition::kind::ProbeKind,
        filter::Filter,
        record::Layout,
        refusal::error::{Error as Refusal, Kind},
    },
    events::{attachment::AttachmentCount, event::Event, owner::Owner, probe::Probe},
    formats::Pool,
    hit::nesting::Nesting,
    kapi::tracepoint::{self, Tracepoints},
    source::{
        functions,
        live::Live,
        location,
        names::{KernelFunctions, Names},
        points,
        registered::Removal,
        types,
    },
    sys::{AllocError, Vec},
};
use core::{fmt, mem::MaybeUninit};
use kernel::{
    prelude::*,
    sync::{Arc, UniqueArc},
};

pub(super) use calls::SystemCalls;

/// The defined probes, those of system calls, and what defining one needs to know.
pub(crate) struct Definitions {
    set: Set,
    calls: SystemCalls,
    spares: Spares,
    types: types::Cache,
    names: Names,
    points: Arc<Tracepoints>,
    numbers: Arc<Pool>,
    /// Owns the ready-made events.
    nobody: Arc<Owner>,
    /// How many events cause each other.
    nesting: Arc<Nesting>,
    /// How many event probes there are.
    attachments: Arc<AttachmentCount>,
    /// The number of writes so far.
    writes: u64,
}

impl Definitions {
    /// Nothing is defined.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    #[inline(never)]
    pub(super) fn new() -> Result<KBox<Self>> {
        let points = Tracepoints::new()?;
        let numbers = Pool::new()?;
        let nobody = Owner::nobody()?;
        let (nesting, attachments) = (Nesting::new()?, AttachmentCount::new()?);
        let definitions = init!(Self {
            set: Set::new(),
            calls: SystemCalls::new(),
            spares: Spares::new(),
            types: types::Cache::new(),
            names: Names::new(),
            points,
            numbers,
            nobody,
            nesting,
            attachments,
            writes: 0,
        });
        KBox::init(definitions, GFP_KERNEL)
    }

    /// Returns how many events cause each other.
    pub(crate) fn nesting(&self) -> Arc<Nesting> {
        self.nesting.clone()
    }

    /// Returns the draft of a new write by `owner`, or by everybody.
    pub(super) fn begin(&mut self, owner: Option<Arc<Owner>>) -> Draft {
        self.writes = self.writes.wrapping_add(1);
        Draft::new(self.writes, owner)
    }

    /// As [`Definitions::begin`], of a write whose lines are parsed with the draft at hand: it has a
    /// box, as that goes deep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    #[inline(never)]
    pub(super) fn begin_boxed(&mut self, owner: Option<Arc<Owner>>) -> Result<KBox<Draft>> {
        Ok(KBox::new(self.begin(owner), GFP_KERNEL)?)
    }

    /// Deletes in `draft` the defined probes whose events `which` selects.
    pub(super) fn delete(&mut self, draft: &mut Draft, which: impl Fn(&Event) -> bool) {
        draft.delete_all(&mut self.set, which);
    }

    /// Waits, half a second at most, until the probes that `draft` deletes do not serve system
    /// calls. A task that sleeps in another tracer's probe may come to ours afterwards.
    ///
    /// # Errors
    ///
    /// `FILE_IN_USE` if they may still do so.
    ///
    /// Context: process, may sleep.
    pub(super) fn settle(&self, draft: &Draft) -> Result<(), Refusal> {
        let mut unsettled = draft
            .deleted(&self.set)
            .filter_map(|probe| probe.tracepoint())
            .filter(|probe| probe.is_unsettled())
            .peekable();
        if !draft.deletes() || unsettled.peek().is_none() {
            return Ok(());
        }
        if !tracepoint::settle() {
            return Err(Refusal::new(Kind::FileInUse, 0).with_detail(format_args!(
                "another tracer sleeps in a system call, where a user keeps a page from it: try again"
            )));
        }
        unsettled.for_each(|probe| probe.set_settled());
        Ok(())
    }

    /// Makes room for the changes of `draft`. Returns which events come and go.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn reserve(&mut self, draft: &mut Draft) -> Result<Comings> {
        let events = draft.reserve(&mut self.set)?;
        // Removed probes keep their spares until the next write.
        let all = Iterator::chain(self.set.in_modules(), draft.added().in_modules());
        self.spares.keep(all)?;
        Ok(events)
    }

    /// Makes the changes of `draft`, for which there is room. Returns what was deleted, which may
    /// be hit until it is dropped.
    ///
    /// Context: process, may sleep.
    pub(super) fn accept(&mut self, draft: &mut Draft) -> Removal {
        draft.apply(&mut self.set)
    }

    /// Removes all probes. They may be hit until what it returns is dropped, which waits for them:
    /// system calls longer than others.
    pub(super) fn shut_down(&mut self) -> (SystemCalls, Removal) {
        self.cut_circles();
        let mut all = self.begin(None);
        self.delete(&mut all, |_| true);
        // Without memory, the removal waits for them in parts.
        let _ = all.reserve(&mut self.set);
        let removal = self.accept(&mut all);
        let calls = self.calls.shut_down();
        self.spares.clear();
        (calls, removal)
    }

    /// Returns the refusal to remove the events that `which` selects; `None` if none of them is
    /// enabled or has to do with a trigger.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn in_use(&self, which: impl Fn(&Event) -> bool) -> Result<Option<Refusal>> {
        busy::refusal(&self.set, which)
    }

    /// Returns the probes of all events: first the defined probes, then system calls.
    pub(crate) fn all_probes(&self) -> impl Iterator<Item = &Arc<Probe>> {
        Iterator::chain(self.set.iter(), self.calls.probes.iter())
    }

    /// Returns the probes of the system calls' events.
    pub(crate) fn call_probes(&self) -> impl Iterator<Item = &Arc<Probe>> {
        self.calls.probes.iter()
    }

    /// Returns the defined probes, in the order of their definition.
    pub(crate) fn probes(&self) -> impl Iterator<Item = &Arc<Probe>> {
        self.set.iter()
    }

    /// Returns whether a probe is armed.
    pub(crate) fn is_any_armed(&self) -> bool {
        self.all_probes().any(|probe| probe.is_armed())
    }

    /// Returns the function at `address`; `None` if there is none that can be read.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    ///
    /// Context: process, may sleep.
    pub(crate) fn live(&mut self, address: u64) -> Result<Option<Live>, AllocError> {
        Live::at(address, &mut self.names, self.set.originals())
    }

    /// Compiles the filter `text` for an event with `layout`.
    ///
    /// # Errors
    ///
    /// The refusal of the filter.
    ///
    /// Context: process, may sleep.
    pub(crate) fn compile_filter(
        &mut self,
        text: &[u8],
        layout: &Layout,
    ) -> Result<Filter, Refusal> {
        // BOUND: One filter, for one event.
        Filter::compile(text, layout, &mut KernelFunctions(Some(&mut self.names)))
    }

    /// Adds similar names to the refusal of the function `name`, which does not exist.
    ///
    /// Context: process, may sleep.
    pub(crate) fn no_symbol(&mut self, refusal: Refusal, name: &[u8]) -> Refusal {
        location::no_symbol(refusal, None, name, &mut self.names)
    }

    /// Writes the tracepoints, as [`points::write_all`].
    ///
    /// # Errors
    ///
    /// The errors of `out`, also when there is no memory.
    ///
    /// Context: process, may sleep.
    pub(crate) fn write_tracepoints(&mut self, out: &mut dyn fmt::Write) -> fmt::Result {
        points::write_all(&self.points, &mut self.types, out)
    }

    /// Returns the functions that `f` events can probe now.
    ///
    /// # Errors
    ///
    /// Why there are none.
    ///
    /// Context: process, may sleep.
    pub(crate) fn all_functions(&mut self) -> Result<Vec<functions::SiteGroup>, Refusal> {
        functions::all(&mut self.names)
    }

    /// Returns the kernel's tracepoints.
    pub(crate) fn points(&self) -> &Arc<Tracepoints> {
        &self.points
    }
}

/// Memory for the unloading of modules, which must not fail.
pub(super) struct Spares {
    /// Memory for waiting probes, one for each probe in a module.
    probes: Vec<UniqueArc<MaybeUninit<Probe>>>,
    /// Has room for each probe in a module.
    removal: Removal,
}

impl Spares {
    /// Makes spares for no probes.
    const fn new() -> Self {
        Self {
            probes: Vec::new(),
            removal: Removal::new(),
        }
    }

    /// Allocates what probes of `kinds` need, and frees some of the excess.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; then there is as much memory as before, or more.
    fn keep(&mut self, kinds: impl Iterator<Item = ProbeKind> + Clone) -> Result {
        let count = kinds.clone().count();
        self.removal.expect_only(kinds)?;
        self.probes.truncate(count);
        while self.probes.len() < count {
            self.probes.push(UniqueArc::new_uninit(GFP_KERNEL)?)?;
        }
        Ok(())
    }

    /// Frees the memory for waiting probes.
    fn clear(&mut self) {
        self.probes.clear();
    }
}
