// SPDX-License-Identifier: GPL-2.0

//! An event in an instance: its switch and its plan.

use crate::{
    engine::filter::Filter,
    hit::{
        action::{Action, Switch},
        histograms::{Histograms, ReplacedLists},
        plan::{Plan, Stacks},
        tasks::Tasks,
    },
    sys::Vec,
};
use core::{
    fmt, mem,
    pin::Pin,
    sync::atomic::{AtomicUsize, Ordering},
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{Arc, Mutex},
};

/// Index of an instance. A removed instance's id may be reused.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct InstanceId(pub(super) usize);

impl InstanceId {
    /// The top directory, which always exists.
    pub(crate) const TOP: Self = Self(0);
}

/// An event in an instance: ftrace's `struct trace_event_file`. Changes with the registry lock
/// held; triggers change the switch without it.
///
/// The event needs its probes armed if it is enabled, has triggers, or triggers of other events
/// enable or disable it.
#[pin_data(PinnedDrop)]
pub(crate) struct EventFile {
    /// Whether the event is enabled in the instance.
    switch: Arc<Switch>,
    /// The histograms of the plan.
    histograms: Arc<Histograms>,
    /// The number of triggers that enable or disable the event.
    targeted: AtomicUsize,
    #[pin]
    state: Mutex<FileState>,
}

#[pinned_drop]
impl PinnedDrop for EventFile {
    fn drop(self: Pin<&mut Self>) {
        count_uses(&self.plan(), false);
    }
}

/// Counts the synthetic events that `plan` emits as used, or, if not `more`, as released.
fn count_uses(plan: &Plan, more: bool) {
    for inter_event in plan
        .actions()
        .iter()
        .filter_map(|action| action.inter_event())
    {
        inter_event.count_use(more);
    }
}

struct FileState {
    plan: Arc<Plan>,
    /// The text to show for a refused filter.
    refused: Option<Vec<u8>>,
}

/// The parts of a plan.
pub(crate) struct PlanParts {
    /// The actions, in order.
    pub(super) actions: Vec<Arc<Action>>,
    /// The filter.
    pub(super) filter: Option<Arc<Filter>>,
    /// The tasks whose hits count; `None` for all tasks.
    pub(super) tasks: Option<Arc<Tasks>>,
    /// The stacks that are recorded behind each record.
    pub(super) stacks: Stacks,
}

impl EventFile {
    /// Makes a disabled event file with `plan`, which has no actions.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(plan: Arc<Plan>) -> Result<Arc<Self>> {
        let switch = Arc::new(Switch::new(), GFP_KERNEL)?;
        let histograms = Histograms::new()?;
        let file = pin_init!(Self {
            switch,
            histograms,
            targeted: AtomicUsize::new(0),
            state <- new_mutex!(FileState { plan, refused: None }),
        });
        Arc::pin_init(file, GFP_KERNEL)
    }

    /// Returns whether the event is enabled.
    pub(crate) fn is_enabled(&self) -> bool {
        self.switch.is_on()
    }

    /// Returns whether the event must be armed even while disabled: it has triggers, or triggers
    /// change it.
    pub(crate) fn is_held(&self) -> bool {
        self.is_targeted() || !self.plan().actions().is_empty()
    }

    /// Returns whether the probes must be armed.
    pub(crate) fn is_needed(&self) -> bool {
        self.is_needed_with(self.plan().actions())
    }

    /// Returns whether the probes would have to be armed with `actions`.
    pub(super) fn is_needed_with(&self, actions: &[Arc<Action>]) -> bool {
        self.is_enabled() || self.is_targeted() || !actions.is_empty()
    }

    /// Returns the switch, which triggers may change.
    pub(super) fn switch(&self) -> &Arc<Switch> {
        &self.switch
    }

    /// Returns the histograms of the plan, which triggers use.
    pub(super) fn histograms(&self) -> &Arc<Histograms> {
        &self.histograms
    }

    /// Returns whether triggers enable or disable the event.
    pub(super) fn is_targeted(&self) -> bool {
        self.targeted.load(Ordering::Relaxed) != 0
    }

    /// Increments or decrements the number of triggers that enable or disable the event.
    pub(super) fn count_target(&self, more: bool) {
        if more {
            self.targeted.fetch_add(1, Ordering::Relaxed);
        } else {
            self.targeted.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Returns the plan.
    pub(crate) fn plan(&self) -> Arc<Plan> {
        self.state.lock().plan.clone()
    }

    /// Makes a plan like the current one, with the parts that `change` changes. The plan consults
    /// the switch if triggers change it. `stacks` are those of the instance.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn plan_with(
        &self,
        stacks: Stacks,
        change: impl FnOnce(&mut PlanParts),
    ) -> Result<Arc<Plan>> {
        let plan = self.plan();
        let mut parts = PlanParts {
            actions: self.actions(|_| true)?,
            filter: plan.filter().cloned(),
            tasks: plan.tasks().cloned(),
            stacks,
        };
        change(&mut parts);
        self.plan_of(parts)
    }

    fn plan_of(&self, parts: PlanParts) -> Result<Arc<Plan>> {
        let PlanParts {
            actions, stacks, ..
        } = parts;
        let is_targeted = self.is_targeted();
        let plan = if actions.is_empty() && !is_targeted && !stacks.are_any() {
            Plan::recording(parts.filter)
        } else {
            let switch = (self.switch.clone(), !is_targeted);
            Plan::with_triggers(actions, parts.filter, switch, stacks)
        };
        plan?.of_tasks(parts.tasks.as_ref())
    }

    /// Returns the actions that `keep` accepts, in order.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn actions(&self, keep: impl Fn(&Action) -> bool) -> Result<Vec<Arc<Action>>> {
        let mut kept = Vec::new();
        for action in self.plan().actions().iter().filter(|action| keep(action)) {
            kept.push(action.clone())?;
        }
        Ok(kept)
    }

    /// Sets the plan. If its histograms differ, call [`EventFile::replace_histograms`], too.
    pub(super) fn set_plan(&self, plan: Arc<Plan>) {
        count_uses(&plan, true);
        let before = mem::replace(&mut self.state.lock().plan, plan);
        count_uses(&before, false);
    }

    /// Updates the list of histograms that triggers use; `replaced` gets the former list.
    ///
    /// Context: process, may sleep.
    pub(super) fn replace_histograms(&self, replaced: &mut ReplacedLists) {
        self.histograms.replace(self.plan().histograms(), replaced);
    }

    /// Sets the text to show for a refused filter; `None` once a filter is accepted.
    pub(crate) fn set_refused_filter(&self, shown: Option<Vec<u8>>) {
        self.state.lock().refused = shown;
    }

    /// Calls `show` with the current filter, and with the text for a filter that was refused later.
    pub(crate) fn with_filters<R>(
        &self,
        show: impl FnOnce(Option<&Filter>, Option<&[u8]>) -> R,
    ) -> R {
        let state = self.state.lock();
        let filter = state.plan.filter().map(|filter| &**filter);
        show(filter, state.refused.as_deref())
    }

    /// Writes the triggers, in order. Returns false if there are none.
    ///
    /// # Errors
    ///
    /// The errors of `out`.
    pub(crate) fn write_triggers(&self, out: &mut dyn fmt::Write) -> Result<bool, fmt::Error> {
        let plan = self.plan();
        let all = plan.actions().iter();
        let mut shown = all.filter(|action| action.sink().is_none()).peekable();
        let is_any = shown.peek().is_some();
        shown.try_for_each(|action| action.write(out))?;
        Ok(is_any)
    }
}
