// SPDX-License-Identifier: GPL-2.0

//! What an event does with its hits.

use crate::{
    buffer::Buffer,
    engine::filter::{Filter, Gate},
    hit::{
        action::{Action, Sole, Switch},
        histograms::List,
        tasks::Tasks,
    },
    kapi::rcu::Replaced,
    sys::Vec,
};
use kernel::{prelude::*, sync::Arc};

/// What an event does with its hits. All probes of the event share it, and it is replaced
/// as a whole while they are hit.
pub(crate) struct Plan {
    /// Rejects hits in a few instructions: by the filter, or by that of the only action if hits are
    /// not recorded; see [`Plan::is_gated`].
    pub(super) gate: Gate,
    /// What is done with the other hits.
    pub(super) kind: PlanKind,
}

/// What a plan does with a hit that its gate does not reject.
pub(super) enum PlanKind {
    /// Record it.
    Record,
    /// Record it if the filter accepts it.
    Filter(Arc<Filter>),
    /// Do what the plan says if the hit is one of these tasks.
    OfTasks(Arc<Tasks>, Arc<Plan>),
    /// Do what the plan of each instance says.
    PerInstance(PerInstance),
    /// Run the triggers, and record it if the event is enabled.
    // The last variant: the compiler tells the others from it by values that its `sole` cannot
    // have, in fewer instructions if these are consecutive.
    Triggers(Triggers),
}

/// What an event does with its hits in an instance.
#[derive(Clone)]
pub(crate) struct InstancePlan {
    /// The buffer of the instance.
    pub(crate) buffer: Arc<Buffer>,
    /// The plan of the event there.
    pub(crate) plan: Arc<Plan>,
}

impl PlanKind {
    /// Returns the triggers, if stacks are recorded.
    #[inline(always)]
    pub(super) fn of_stacks(&self) -> Option<&Triggers> {
        match self {
            Self::Triggers(triggers) if triggers.stacks.are_any() => Some(triggers),
            _ => None,
        }
    }
}

/// What an event does with its hits in several instances. None of their plans is per instance.
pub(super) struct PerInstance {
    /// The instances, if all of them record all hits, and do nothing else.
    pub(super) recording: Vec<InstancePlan>,
    /// The instances otherwise.
    pub(super) mixed: Vec<InstancePlan>,
}

impl PerInstance {
    /// Returns what it does in each instance.
    pub(super) fn all(&self) -> &[InstancePlan] {
        match self.recording.is_empty() {
            true => &self.mixed,
            false => &self.recording,
        }
    }
}

/// The plan of an event that has triggers, or that triggers enable or disable.
pub(super) struct Triggers {
    /// In the order in which they act, which is the kernel's: the latest first, and behind them
    /// the histograms, the earliest first.
    pub(super) actions: Vec<Arc<Action>>,
    pub(super) filter: Option<Arc<Filter>>,
    /// Whether the event is enabled.
    pub(super) switch: Arc<Switch>,
    /// The sole action; `None` if there are several, or one that no fast stage runs, has a filter,
    /// or enables its own event.
    sole: Option<Sole>,
    /// Whether no action [needs a header](Action::needs_no_header), or enables the event itself.
    only_acts: bool,
    /// Whether all actions send the hits to event probes, and need no header, and records have
    /// neither filter nor stacks.
    only_forwards: bool,
    /// Whether the kernel's stack is recorded behind each hit, and nothing else is done.
    records_stack: bool,
    /// The histograms of the actions; `None` if there are none.
    histograms: Option<Arc<List>>,
    /// The stacks that hits record.
    pub(super) stacks: Stacks,
}

/// Which stacks hits record, as bits.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Stacks(u8);

impl Stacks {
    /// The kernel's stack, behind each record.
    pub(crate) const KERNEL: Self = Self(1);
    /// The user's stack, behind each record.
    pub(crate) const USER: Self = Self(2);
    /// The kernel's stack, by a trigger.
    const BY_TRIGGER: Self = Self(4);

    /// Returns whether any stack is recorded.
    #[inline(always)]
    pub(crate) fn are_any(self) -> bool {
        self.0 != 0
    }

    /// Returns whether `stack` is among them.
    #[inline(always)]
    pub(crate) fn has(self, stack: Self) -> bool {
        self.0 & stack.0 != 0
    }

    /// Returns the set with `stack` added or removed.
    pub(crate) fn with(self, stack: Self, on: bool) -> Self {
        Self(if on {
            self.0 | stack.0
        } else {
            self.0 & !stack.0
        })
    }
}

impl Triggers {
    /// Returns whether each action accepts the hit, which is not recorded.
    ///
    /// Context: any.
    #[inline(always)]
    pub(super) fn only_acts(&self) -> bool {
        self.only_acts && !self.switch.is_on()
    }

    /// Returns whether all actions send hits to event probes.
    ///
    /// Context: any.
    #[inline(always)]
    pub(super) fn only_forwards(&self) -> bool {
        self.only_forwards
    }

    /// Returns whether hits are recorded with the kernel's stack behind each, and nothing else is
    /// done, while the event is enabled.
    pub(super) fn can_record_stack(&self) -> bool {
        self.records_stack
    }

    /// Returns whether a hit is recorded with the kernel's stack behind it, and nothing else.
    ///
    /// Context: any.
    #[inline(always)]
    pub(super) fn records_stack(&self) -> bool {
        self.records_stack && self.switch.is_on()
    }

    /// Returns the sole action, if the event is disabled.
    ///
    /// Context: any.
    #[inline(always)]
    pub(super) fn sole(&self) -> Option<&Sole> {
        match self.switch.is_on() {
            true => None,
            false => self.sole.as_ref(),
        }
    }
}

/// Plans that were replaced; see [`Replaced`].
pub(crate) type ReplacedPlans = Replaced<Plan>;

impl Plan {
    /// Makes the plan that records the hits that `filter` accepts, all without one.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn recording(filter: Option<Arc<Filter>>) -> Result<Arc<Self>> {
        let plan = Self {
            gate: Gate::of(filter.as_deref()),
            kind: filter.map_or(PlanKind::Record, PlanKind::Filter),
        };
        Ok(Arc::new(plan, GFP_KERNEL)?)
    }

    /// Makes the plan of an event with `actions`, in their order, whose hits are recorded
    /// if `switch` is on and `filter` accepts them, with `stacks` behind each. `only_ours` means
    /// that no action of another event changes the switch.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn with_triggers(
        actions: Vec<Arc<Action>>,
        filter: Option<Arc<Filter>>,
        (switch, only_ours): (Arc<Switch>, bool),
        stacks: Stacks,
    ) -> Result<Arc<Self>> {
        let gate = match &*actions {
            [action] if only_ours && !action.switches(&switch) => Gate::of(action.filter()),
            _ => Gate::UNKNOWN,
        };
        let mut histograms = List::new();
        for histogram in actions.iter().filter_map(|action| action.counts()) {
            histograms.push(histogram.clone())?;
        }
        let histograms = match histograms.is_empty() {
            true => None,
            false => Some(Arc::new(histograms, GFP_KERNEL)?),
        };
        let mut all = actions.iter();
        let only_acts = all.all(|action| action.needs_no_header() && !action.switches(&switch));
        let sole = match &*actions {
            [action] if action.acts_always() && !action.switches(&switch) => action.as_sole(),
            _ => None,
        };
        let records_stack = actions.is_empty() && filter.is_none() && stacks == Stacks::KERNEL;
        let mut only_forwards = actions.iter();
        let only_forwards = only_forwards
            .all(|action| action.sink().is_some() && action.needs_no_header())
            && !(actions.is_empty() || filter.is_some() || stacks.are_any());
        let triggers = Triggers {
            histograms,
            sole,
            only_acts,
            only_forwards,
            records_stack,
            stacks: stacks.with(
                Stacks::BY_TRIGGER,
                actions.iter().any(|action| action.is_stack()),
            ),
            actions,
            filter,
            switch,
        };
        let plan = Self {
            gate,
            kind: PlanKind::Triggers(triggers),
        };
        Ok(Arc::new(plan, GFP_KERNEL)?)
    }

    /// Returns a plan that does with the hits of `tasks` what this one does with all hits; returns
    /// this one if `tasks` is `None`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn of_tasks(self: Arc<Self>, tasks: Option<&Arc<Tasks>>) -> Result<Arc<Self>> {
        let Some(tasks) = tasks else {
            return Ok(self);
        };
        let plan = Self {
            gate: Gate::UNKNOWN,
            kind: PlanKind::OfTasks(tasks.clone(), self),
        };
        Ok(Arc::new(plan, GFP_KERNEL)?)
    }

    /// Makes the plan that does in each instance of `all` what its plan says.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn per_instance(all: Vec<InstancePlan>) -> Result<Arc<Self>> {
        let records = |instance: &InstancePlan| matches!(instance.plan.kind, PlanKind::Record);
        let (recording, mixed) = match all.iter().all(records) {
            true => (all, Vec::new()),
            false => (Vec::new(), all),
        };
        let instances = PerInstance { recording, mixed };
        let plan = Self {
            gate: Gate::UNKNOWN,
            kind: PlanKind::PerInstance(instances),
        };
        Ok(Arc::new(plan, GFP_KERNEL)?)
    }

    /// Returns whether it has a plan for each instance.
    pub(crate) fn is_per_instance(&self) -> bool {
        matches!(self.kind, PlanKind::PerInstance(_))
    }

    /// Returns the tasks whose hits count, and what the plan does with these hits.
    fn tasks_and_kind(&self) -> (Option<&Arc<Tasks>>, &PlanKind) {
        match &self.kind {
            PlanKind::OfTasks(tasks, plan) => (Some(tasks), &plan.kind),
            kind => (None, kind),
        }
    }

    /// Returns the tasks whose hits count; `None` for all tasks.
    pub(crate) fn tasks(&self) -> Option<&Arc<Tasks>> {
        self.tasks_and_kind().0
    }

    /// Returns whether hits that the gate rejects are not recorded. Only a change of `enable`
    /// changes this.
    pub(super) fn is_gated(&self) -> bool {
        match &self.kind {
            PlanKind::Record | PlanKind::OfTasks(..) | PlanKind::PerInstance(_) => false,
            PlanKind::Filter(_) => true,
            PlanKind::Triggers(triggers) => self.gate.can_reject() && !triggers.switch.is_on(),
        }
    }

    /// Returns the filter of the records.
    pub(crate) fn filter(&self) -> Option<&Arc<Filter>> {
        match self.tasks_and_kind().1 {
            PlanKind::Record | PlanKind::OfTasks(..) | PlanKind::PerInstance(_) => None,
            PlanKind::Filter(filter) => Some(filter),
            PlanKind::Triggers(triggers) => triggers.filter.as_ref(),
        }
    }

    /// Returns the histograms of the actions; `None` if there are none.
    pub(crate) fn histograms(&self) -> Option<&Arc<List>> {
        match self.tasks_and_kind().1 {
            PlanKind::Triggers(triggers) => triggers.histograms.as_ref(),
            PlanKind::Record
            | PlanKind::Filter(_)
            | PlanKind::OfTasks(..)
            | PlanKind::PerInstance(_) => None,
        }
    }

    /// Returns whether hits are sent to event probes or pairs.
    pub(super) fn forwards_any(&self) -> bool {
        self.actions().iter().any(|action| action.sink().is_some())
    }

    /// Returns the actions, in their order.
    pub(crate) fn actions(&self) -> &[Arc<Action>] {
        match self.tasks_and_kind().1 {
            PlanKind::Triggers(triggers) => &triggers.actions,
            PlanKind::Record
            | PlanKind::Filter(_)
            | PlanKind::OfTasks(..)
            | PlanKind::PerInstance(_) => &[],
        }
    }
}
