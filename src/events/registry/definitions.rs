// SPDX-License-Identifier: GPL-2.0

//! Definitions: the defined probes, those of system calls, and the symbols and types that defining
//! one needs.

mod calls;
mod caused_events;
mod define;
mod delete;
mod modules;
mod ready;
mod watchpoints;

use super::set::Set;
use crate::{
    engine::{
        definition::kind::ProbeKind, filter::Filter, language::lex::Span, record::Layout,
        refusal::error::Error as Refusal,
    },
    events::{attachment::AttachmentCount, owner::Owner, probe::Probe},
    formats::Pool,
    hit::nesting::Nesting,
    kapi::tracepoint::Tracepoints,
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

pub(crate) struct Definitions {
    pub(super) set: Set,
    calls: SystemCalls,
    spares: Spares,
    types: types::Cache,
    names: Names,
    points: Arc<Tracepoints>,
    numbers: Arc<Pool>,
    /// The owner of ready-made events.
    builtin: Arc<Owner>,
    /// Limits events that cause each other, and lends them memory.
    nesting: Arc<Nesting>,
    /// The number of attached event probes.
    attachments: Arc<AttachmentCount>,
    /// The number of writes so far.
    writes: u64,
}

impl Definitions {
    /// Makes it without definitions.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    #[inline(never)]
    pub(super) fn new() -> Result<KBox<Self>> {
        let points = Tracepoints::new()?;
        let numbers = Pool::new()?;
        let builtin = Owner::builtin()?;
        let (nesting, attachments) = (Nesting::new()?, AttachmentCount::new()?);
        let definitions = init!(Self {
            set: Set::new(),
            calls: SystemCalls::new(),
            spares: Spares::new(),
            types: types::Cache::new(),
            names: Names::new(),
            points,
            numbers,
            builtin,
            nesting,
            attachments,
            writes: 0,
        });
        KBox::init(definitions, GFP_KERNEL)
    }

    /// Returns what limits events that cause each other.
    pub(crate) fn nesting(&self) -> Arc<Nesting> {
        self.nesting.clone()
    }

    /// Returns the number for a new write.
    pub(super) fn next_write(&mut self) -> u64 {
        self.writes = self.writes.wrapping_add(1);
        self.writes
    }

    /// Reserves memory for unloading modules, for the present probes and those of `added`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn reserve_spares(&mut self, added: &Set) -> Result {
        // Removed probes keep their spares until the next write.
        let all = Iterator::chain(self.set.in_modules(), added.in_modules());
        self.spares.keep(all)
    }

    /// Removes all probes. They may still be hit until the result is dropped: the drop waits for
    /// them, longest for those of system calls.
    pub(super) fn shut_down(&mut self) -> (SystemCalls, Removal) {
        self.cut_circles();
        let mut removal = Removal::new();
        // Without memory, the removal takes several grace periods.
        let _ = removal.expect_only(self.set.iter().map(|probe| probe.definition().kind));
        while let Some(probe) = self.set.pop() {
            probe.remove(&mut removal);
        }
        let calls = self.calls.shut_down();
        self.spares.clear();
        (calls, removal)
    }

    /// Returns the probes of all events: first the defined probes, then system calls.
    pub(crate) fn all_probes(&self) -> impl Iterator<Item = &Arc<Probe>> {
        Iterator::chain(self.set.iter(), self.calls.probes.iter())
    }

    /// Returns the probes of system calls.
    pub(crate) fn syscall_probes(&self) -> impl Iterator<Item = &Arc<Probe>> {
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

    /// Returns the function at `address`; `None` if there is no readable one.
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
        Span { bytes: text, at }: Span<'_>,
        layout: &Layout,
    ) -> Result<Filter, Refusal> {
        let mut functions = KernelFunctions::new(Some(&mut self.names), &mut self.types);
        // BOUND: One filter, for one event.
        let filter = Filter::compile(text, layout, &mut functions);
        filter.map_err(|mut refusal| {
            refusal.at = refusal.at.saturating_add(at);
            refusal
        })
    }

    /// Returns what a filter looks names up in, without suggestions for unknown ones.
    pub(crate) fn functions(&mut self) -> KernelFunctions<'_> {
        KernelFunctions::new(None, &mut self.types)
    }

    /// Adds similar names to the refusal of the function `name`, which does not exist.
    ///
    /// Context: process, may sleep.
    pub(crate) fn add_similar_names(&mut self, refusal: Refusal, name: &[u8]) -> Refusal {
        location::no_symbol(refusal, None, name, &mut self.names)
    }

    /// Writes the tracepoints, see [`points::write_all`].
    ///
    /// # Errors
    ///
    /// The errors of `out`, also when there is no memory.
    ///
    /// Context: process, may sleep.
    pub(crate) fn write_tracepoints(&mut self, out: &mut dyn fmt::Write) -> fmt::Result {
        points::write_all(&self.points, &mut self.types, out)
    }

    /// Returns the functions that `f` events can probe.
    ///
    /// # Errors
    ///
    /// The reason if there are none.
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

/// Memory for unloading modules, which must not fail.
pub(super) struct Spares {
    /// Memory for a waiting probe, one for each probe in a module.
    probes: Vec<UniqueArc<MaybeUninit<Probe>>>,
    /// Has room for each probe in a module.
    removal: Removal,
}

impl Spares {
    /// Makes an empty one.
    const fn new() -> Self {
        Self {
            probes: Vec::new(),
            removal: Removal::new(),
        }
    }

    /// Allocates memory for probes of `kinds`, and frees some of the excess.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; then there is at least as much memory as before.
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
