// SPDX-License-Identifier: GPL-2.0

//! A defined event: the state that its probes share.

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

/// A defined event. All fields but the format change, only with the registry lock held.
#[pin_data]
pub(crate) struct Event {
    /// The format of its records: the format of its first probe.
    pub(crate) format: Arc<Format>,
    /// The owner; `None` if anyone may change the event.
    owner: Option<Arc<Owner>>,
    #[pin]
    instances: Mutex<InInstances>,
    /// Marks of writes to `kprobe_events`.
    pub(super) in_write: WriteMarks,
    /// The last change of plans.
    pub(super) last_change: ChangeMark,
    /// Whether the event has been deleted.
    gone: AtomicBool,
    /// The number of attached event probes.
    attached: AtomicUsize,
    /// Whether the event was ever enabled, or had a filter or a trigger.
    used: AtomicBool,
    /// Whether `hit_limit` has disarmed it.
    limited: AtomicBool,
}

/// The event's state in each instance.
struct InInstances {
    /// Indexed by [`InstanceId`].
    files: Vec<Option<Arc<EventFile>>>,
    /// The active plan for all instances, with its buffer. A plan per instance ignores the
    /// buffer.
    active: InstancePlan,
}

impl InInstances {
    fn files(&self) -> impl Iterator<Item = (InstanceId, &Arc<EventFile>)> {
        let all = self.files.iter().enumerate();
        all.filter_map(|(index, file)| Some((InstanceId(index), file.as_ref()?)))
    }
}

impl Event {
    /// Returns group and name.
    pub(crate) fn names(&self) -> (&[u8], &[u8]) {
        (self.format.group.to_bytes(), self.format.name.to_bytes())
    }

    /// Makes a disabled event without probes. `files` has one element for each instance, indexed by
    /// [`InstanceId`]; `buffer` is the top directory's. Without an owner, anyone may change the
    /// event.
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
            last_change: ChangeMark::new(),
            gone: AtomicBool::new(false),
            attached: AtomicUsize::new(0),
            used: AtomicBool::new(false),
            limited: AtomicBool::new(false),
        });
        Arc::pin_init(event, GFP_KERNEL).map_err(|_| no_memory())
    }

    pub(crate) fn id(&self) -> u16 {
        self.format.id
    }

    /// Returns the event's file in `instance`; `None` if there is no such instance.
    pub(crate) fn file(&self, instance: InstanceId) -> Option<Arc<EventFile>> {
        self.instances.lock().files.get(instance.0)?.clone()
    }

    /// Returns the event's file in `instance`.
    ///
    /// # Errors
    ///
    /// `ENODEV` if there is no such instance.
    pub(crate) fn in_instance(&self, instance: InstanceId) -> Result<Arc<EventFile>> {
        self.file(instance).ok_or(ENODEV)
    }

    /// Returns the number of hits on which a filter exceeded its limit of steps, for filters that
    /// still exist.
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

    /// Calls `each` with the event's file in each instance until that returns a value.
    pub(super) fn find_file<R>(
        &self,
        mut each: impl FnMut(InstanceId, &Arc<EventFile>) -> Option<R>,
    ) -> Option<R> {
        let instances = self.instances.lock();
        let mut files = instances.files();
        files.find_map(|(instance, file)| each(instance, file))
    }

    /// Reserves memory for [`Event::set_file`].
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

    /// Sets the event's file in `instance`, for which there is room; `None` removes it.
    pub(super) fn set_file(&self, instance: InstanceId, file: Option<Arc<EventFile>>) {
        let mut instances = self.instances.lock();
        let before = match instances.files.get_mut(instance.0) {
            Some(slot) => core::mem::replace(slot, file),
            None => file,
        };
        // Drop the old file without the spin lock.
        drop(instances);
        drop(before);
    }

    /// Returns whether the event is enabled in any instance.
    pub(crate) fn is_enabled(&self) -> bool {
        let enabled = self.find_file(|_, file| file.is_enabled().then_some(()));
        enabled.is_some()
    }

    /// Returns whether hits are recorded in `instance`. This includes an event that `hit_limit` has
    /// disarmed and a trigger has enabled since.
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

    /// Returns whether any instance needs the probes armed.
    pub(crate) fn is_needed(&self) -> bool {
        let needed = self.find_file(|_, file| file.is_needed().then_some(()));
        needed.is_some()
    }

    /// Returns whether an instance other than `instance` needs the probes armed.
    pub(super) fn is_needed_besides(&self, instance: InstanceId) -> bool {
        let needed =
            self.find_file(|other, file| (other != instance && file.is_needed()).then_some(()));
        needed.is_some()
    }

    /// Increments or decrements the number of attached event probes.
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

    /// Returns the active plan and its buffer.
    pub(super) fn active(&self) -> InstancePlan {
        self.instances.lock().active.clone()
    }

    /// Sets the active plan and its buffer.
    pub(super) fn set_active(&self, active: InstancePlan) {
        let before = core::mem::replace(&mut self.instances.lock().active, active);
        // Drop the old plan without the spin lock.
        drop(before);
    }

    /// Returns the owner; `None` if anyone may change the event.
    pub(crate) fn owner(&self) -> Option<&Arc<Owner>> {
        self.owner.as_ref().filter(|owner| owner.is_here())
    }

    /// Returns whether the event is ready-made.
    pub(crate) fn is_ready_made(&self) -> bool {
        self.owner().is_some_and(|owner| owner.is_builtin())
    }

    /// Returns whether `owner` may delete it and add probes to it.
    pub(super) fn is_of(&self, owner: Option<&Arc<Owner>>) -> bool {
        owner::same(self.owner(), owner)
    }

    /// Returns the refusal of what only the owner may do, with the caret at column `at`.
    pub(super) fn belongs_to_other(&self, kind: Kind, at: usize) -> Refusal {
        let refusal = Refusal::new(kind, at);
        match self.owner() {
            Some(owner) => refusal.with_detail(format_args!("private to {}", **owner)),
            None => refusal.with_detail(format_args!("use kprobe_events")),
        }
    }

    /// Notes that the event has been deleted.
    pub(super) fn set_gone(&self) {
        self.gone.store(true, Ordering::Relaxed);
    }

    /// Returns whether the event has been deleted. Open files check it.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    /// Notes that the event is enabled, or has a filter or a trigger.
    pub(super) fn set_used(&self) {
        self.used.store(true, Ordering::Relaxed);
    }

    /// Takes [`Event::set_used`] back, unless an instance enables the event or has a filter or a
    /// trigger of it.
    pub(super) fn forget_use(&self) {
        let is_used = |file: &EventFile| file.is_needed() || file.plan().filter().is_some();
        let user = self.find_file(|_, file| is_used(file).then_some(()));
        if user.is_none() {
            self.used.store(false, Ordering::Relaxed);
        }
    }

    /// Returns whether "all events" includes this one: any defined event, and a ready-made one that
    /// was ever used. A ready-made event is made when a file of it is opened; that, and a refused
    /// write, are no use.
    pub(crate) fn is_used(&self) -> bool {
        !self.is_ready_made() || self.is_attached() || self.used.load(Ordering::Relaxed)
    }
}
