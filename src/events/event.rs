// SPDX-License-Identifier: GPL-2.0

//! A defined event: what its probes have in common.

use crate::{
    buffer::Buffer,
    engine::{
        filter::Filter,
        refusal::error::{Error as Refusal, Kind},
    },
    events::{
        event_file::{EventFile, InstanceId},
        owner::{self, Owner},
        transaction::{ChangeMark, WriteMarks},
    },
    formats::Format,
    hit::plan::InstancePlan,
    sys::Vec,
};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{Arc, Mutex},
};

/// A defined event. Everything but the format changes, and only with the registry lock
/// held.
#[pin_data]
pub(crate) struct Event {
    /// The format of its records: the format of its first probe.
    pub(crate) format: Arc<Format>,
    /// Who owns it; `None` if it is everybody's.
    owner: Option<Arc<Owner>>,
    #[pin]
    instances: Mutex<InInstances>,
    /// For writes.
    pub(super) in_write: WriteMarks,
    /// For changes of plans.
    pub(super) in_change: ChangeMark,
    /// Whether it is defined no more.
    gone: AtomicBool,
    /// The number of event probes that are attached to it.
    attached: AtomicUsize,
    /// Whether it was ever enabled, or had a filter or a trigger.
    used: AtomicBool,
    /// Whether `hit_limit` has disarmed it.
    limited: AtomicBool,
}

/// What an event is in the instances.
struct InInstances {
    /// By [`InstanceId`].
    files: Vec<Option<Arc<EventFile>>>,
    /// What the probes do on a hit, for all instances; the buffer has no meaning to a plan of
    /// several.
    active: InstancePlan,
}

impl InInstances {
    fn files(&self) -> impl Iterator<Item = (InstanceId, &Arc<EventFile>)> {
        let all = self.files.iter().enumerate();
        all.filter_map(|(index, file)| Some((InstanceId(index), file.as_ref()?)))
    }
}

impl Event {
    /// Returns its group and its name.
    pub(crate) fn names(&self) -> (&[u8], &[u8]) {
        (self.format.group.to_bytes(), self.format.name.to_bytes())
    }

    /// Makes a disabled event of `owner`, or of everybody, without probes, with `files`, one
    /// for each instance, by [`InstanceId`]. `buffer` is that of the top directory.
    ///
    /// # Errors
    ///
    /// `NO_MEMORY`.
    pub(crate) fn new(
        format: Arc<Format>,
        (files, buffer): (Vec<Option<Arc<EventFile>>>, Arc<Buffer>),
        owner: Option<Arc<Owner>>,
    ) -> Result<Arc<Self>, Refusal> {
        let no_memory = || Refusal::new(Kind::NoMemory, 0);
        let top = files.first().and_then(Option::as_ref);
        let plan = top.map(|top| top.plan()).ok_or_else(no_memory)?;
        let active = InstancePlan { buffer, plan };
        let event = pin_init!(Self {
            format,
            owner,
            instances <- new_mutex!(InInstances { files, active }),
            in_write: WriteMarks::new(),
            in_change: ChangeMark::new(),
            gone: AtomicBool::new(false),
            attached: AtomicUsize::new(0),
            used: AtomicBool::new(false),
            limited: AtomicBool::new(false),
        });
        Arc::pin_init(event, GFP_KERNEL).map_err(|_| no_memory())
    }

    /// Returns its id.
    pub(crate) fn id(&self) -> u16 {
        self.format.id
    }

    /// Returns the event in `instance`; `None` if there is no such instance.
    pub(crate) fn file(&self, instance: InstanceId) -> Option<Arc<EventFile>> {
        self.instances.lock().files.get(instance.0)?.clone()
    }

    /// Returns the event in `instance`.
    ///
    /// # Errors
    ///
    /// `ENODEV` if there is no such instance.
    pub(crate) fn in_instance(&self, instance: InstanceId) -> Result<Arc<EventFile>> {
        self.file(instance).ok_or(ENODEV)
    }

    /// Returns the number of hits for which a filter took too many steps, as far as that filter is
    /// still there.
    pub(crate) fn exhausted(&self) -> u64 {
        let mut sum = 0u64;
        let _: Option<()> = self.find_file(|_, file| {
            let plan = file.plan();
            let of_actions = plan.actions().iter().filter_map(|action| action.filter());
            let counts = of_actions.map(Filter::exhausted);
            let own = plan.filter().map_or(0, |filter| filter.exhausted());
            sum = counts.fold(sum.saturating_add(own), u64::saturating_add);
            None
        });
        sum
    }

    /// Calls `each` with the event in each instance until that returns a value.
    pub(super) fn find_file<R>(
        &self,
        mut each: impl FnMut(InstanceId, &Arc<EventFile>) -> Option<R>,
    ) -> Option<R> {
        let instances = self.instances.lock();
        let mut files = instances.files();
        files.find_map(|(instance, file)| each(instance, file))
    }

    /// Makes room for the event in `instance`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn reserve_file(&self, instance: InstanceId) -> Result {
        let mut instances = self.instances.lock();
        while instances.files.len() <= instance.0 {
            instances.files.push(None)?;
        }
        Ok(())
    }

    /// Sets what the event is in `instance`, for which there is room; `None` once that
    /// is removed.
    pub(super) fn set_file(&self, instance: InstanceId, file: Option<Arc<EventFile>>) {
        let mut instances = self.instances.lock();
        let before = match instances.files.get_mut(instance.0) {
            Some(slot) => core::mem::replace(slot, file),
            None => file,
        };
        // Dropped with the lock released.
        drop(instances);
        drop(before);
    }

    /// Returns whether it is enabled in an instance.
    pub(crate) fn is_enabled(&self) -> bool {
        let enabled = self.find_file(|_, file| file.is_enabled().then_some(()));
        enabled.is_some()
    }

    /// Returns whether its hits are recorded in `instance`. Triggers may have enabled one that
    /// `hit_limit` has disarmed.
    pub(crate) fn is_enabled_in(&self, instance: InstanceId) -> bool {
        !self.is_limited() && self.file(instance).is_some_and(|file| file.is_enabled())
    }

    /// Returns whether `hit_limit` has disarmed it.
    pub(crate) fn is_limited(&self) -> bool {
        self.limited.load(Ordering::Relaxed)
    }

    /// Notes whether `hit_limit` has disarmed it.
    pub(super) fn set_limited(&self, limited: bool) {
        self.limited.store(limited, Ordering::Relaxed);
    }

    /// Returns whether the probes are to be armed, because of any instance.
    pub(crate) fn is_needed(&self) -> bool {
        let needed = self.find_file(|_, file| file.is_needed().then_some(()));
        needed.is_some()
    }

    /// Returns whether the probes are to be armed because of another instance than `instance`.
    pub(super) fn is_needed_besides(&self, instance: InstanceId) -> bool {
        let needed =
            self.find_file(|other, file| (other != instance && file.is_needed()).then_some(()));
        needed.is_some()
    }

    /// Counts one event probe more that is attached to it, or one less.
    pub(super) fn count_attached(&self, more: bool) {
        if more {
            self.attached.fetch_add(1, Ordering::Relaxed);
        } else {
            self.attached.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Returns whether event probes are attached to it.
    pub(super) fn is_attached(&self) -> bool {
        self.attached.load(Ordering::Relaxed) != 0
    }

    /// Returns what the probes do on a hit.
    pub(super) fn active(&self) -> InstancePlan {
        self.instances.lock().active.clone()
    }

    /// Sets what the probes do on a hit.
    pub(super) fn set_active(&self, active: InstancePlan) {
        let before = core::mem::replace(&mut self.instances.lock().active, active);
        // Dropped with the lock released.
        drop(before);
    }

    /// Returns who owns it; `None` if it is everybody's.
    pub(crate) fn owner(&self) -> Option<&Arc<Owner>> {
        self.owner.as_ref().filter(|owner| owner.is_here())
    }

    /// Returns whether it is ready-made: nobody has defined it.
    pub(crate) fn is_ready_made(&self) -> bool {
        self.owner().is_some_and(|owner| owner.is_builtin())
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

    /// Notes that it is defined no more.
    pub(super) fn set_gone(&self) {
        self.gone.store(true, Ordering::Relaxed);
    }

    /// Returns whether it is defined no more. Files that are still open know it.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    /// Notes that it is enabled, or has a filter or a trigger.
    pub(super) fn set_used(&self) {
        self.used.store(true, Ordering::Relaxed);
    }

    /// Returns whether it is among those that are meant where all events are: each that somebody
    /// has defined, and each ready-made one that somebody uses or has used. A look at a ready-made
    /// event makes it, and what is refused does; that is no use.
    pub(crate) fn is_used(&self) -> bool {
        !self.is_ready_made() || self.is_attached() || self.used.load(Ordering::Relaxed)
    }
}
