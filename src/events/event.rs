// SPDX-License-Identifier: GPL-2.0

//! A defined event: what its probes have in common.

use crate::{
    engine::error::{Error as Refusal, Kind},
    events::{
        event_file::EventFile,
        format::Format,
        owner::{self, Owner},
    },
    hit::{action::Switch, histograms::Histograms, plan::Plan},
};
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use kernel::{prelude::*, sync::Arc};

/// A defined event. Everything but the format changes, and only with the registry lock
/// held.
#[pin_data]
pub(crate) struct Event {
    /// The format of its records: the format of its first probe.
    pub(crate) format: Arc<Format>,
    /// Who owns it; `None` if it is everybody's.
    owner: Option<Arc<Owner>>,
    /// The event in the one instance.
    #[pin]
    pub(crate) file: EventFile,
    /// The number of its probes in the registry.
    probes: AtomicUsize,
    /// The number of the last write that added or deleted a probe of it.
    write: AtomicU64,
    /// The number of its probes if that write succeeds.
    planned: AtomicUsize,
    /// The number of the last write that removed it.
    removed: AtomicU64,
    /// The number of the last write that redefined it.
    replaced: AtomicU64,
    /// The number of the last set of events that contained it.
    set: AtomicU64,
    /// Whether its directory exists, its own or that of the event that it replaces.
    has_files: AtomicBool,
}

impl Event {
    /// Makes a disabled event of `owner`, or of everybody, without probes, with `plan`.
    ///
    /// # Errors
    ///
    /// `NO_MEMORY`.
    pub(crate) fn new(
        format: Arc<Format>,
        plan: Arc<Plan>,
        owner: Option<Arc<Owner>>,
    ) -> Result<Arc<Self>, Refusal> {
        let no_memory = || Refusal::new(Kind::NoMemory, 0);
        let switch = Arc::new(Switch::new(), GFP_KERNEL).map_err(|_| no_memory())?;
        let histograms = Histograms::new().map_err(|_| no_memory())?;
        let event = pin_init!(Self {
            format,
            owner,
            file <- EventFile::new(plan, switch, histograms),
            probes: AtomicUsize::new(0),
            write: AtomicU64::new(0),
            planned: AtomicUsize::new(0),
            removed: AtomicU64::new(0),
            replaced: AtomicU64::new(0),
            set: AtomicU64::new(0),
            has_files: AtomicBool::new(false),
        });
        Arc::pin_init(event, GFP_KERNEL).map_err(|_| no_memory())
    }

    /// Returns its id.
    pub(crate) fn id(&self) -> u16 {
        self.format.id
    }

    /// Returns who owns it; `None` if it is everybody's.
    pub(crate) fn owner(&self) -> Option<&Arc<Owner>> {
        self.owner.as_ref().filter(|owner| owner.is_here())
    }

    /// Returns whether `owner` may delete it and add probes to it.
    pub(super) fn is_of(&self, owner: Option<&Arc<Owner>>) -> bool {
        owner::same(self.owner(), owner)
    }

    /// Returns the refusal, of `kind` and at column `at`, of what only its owner may do.
    pub(super) fn belongs_to_other(&self, kind: Kind, at: usize) -> Refusal {
        let refusal = Refusal::new(kind, at);
        match self.owner() {
            Some(owner) => refusal.with_detail(format_args!("private to {}", **owner)),
            None => refusal.with_detail(format_args!("use kprobe_events")),
        }
    }

    /// Returns the number of its probes if the write with the number `write` succeeds.
    /// Writes are numbered from 1 on.
    pub(super) fn probes_after(&self, write: u64) -> usize {
        if self.write.load(Ordering::Relaxed) == write {
            self.planned.load(Ordering::Relaxed)
        } else {
            self.probes.load(Ordering::Relaxed)
        }
    }

    /// Notes that the write with the number `write` adds a probe.
    pub(super) fn add_probe(&self, write: u64) {
        self.plan_probes(write, self.probes_after(write).saturating_add(1));
    }

    /// Notes that the write with the number `write` deletes a probe.
    pub(super) fn delete_probe(&self, write: u64) {
        self.plan_probes(write, self.probes_after(write).saturating_sub(1));
    }

    fn plan_probes(&self, write: u64, count: usize) {
        self.planned.store(count, Ordering::Relaxed);
        self.write.store(write, Ordering::Relaxed);
    }

    /// Notes that the write with the number `write` has succeeded.
    pub(super) fn accept_probes(&self, write: u64) {
        let count = self.probes_after(write);
        self.probes.store(count, Ordering::Relaxed);
    }

    /// Notes that the write with the number `write` removes it. Returns false if that was
    /// known.
    pub(super) fn remove_in(&self, write: u64) -> bool {
        self.removed.swap(write, Ordering::Relaxed) != write
    }

    /// Returns whether the write with the number `write` removes it.
    pub(super) fn is_removed_in(&self, write: u64) -> bool {
        self.removed.load(Ordering::Relaxed) == write
    }

    /// Notes that the write with the number `write` redefines it.
    pub(super) fn replace_in(&self, write: u64) {
        self.replaced.store(write, Ordering::Relaxed);
    }

    /// Returns whether the write with the number `write` redefines it.
    pub(super) fn is_replaced_in(&self, write: u64) -> bool {
        self.replaced.load(Ordering::Relaxed) == write
    }

    /// Notes that the set with the number `set`, from 1 on, contains it.
    pub(super) fn put_in(&self, set: u64) {
        self.set.store(set, Ordering::Relaxed);
    }

    /// Returns whether the set with the number `set` contains it, and no later set did.
    pub(super) fn is_in(&self, set: u64) -> bool {
        self.set.load(Ordering::Relaxed) == set
    }

    /// Notes that it has files.
    pub(super) fn set_has_files(&self) {
        self.has_files.store(true, Ordering::Relaxed);
    }

    /// Returns whether it has files.
    pub(super) fn has_files(&self) -> bool {
        self.has_files.load(Ordering::Relaxed)
    }
}
