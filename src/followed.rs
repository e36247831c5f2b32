// SPDX-License-Identifier: GPL-2.0

//! The tasks that an instance follows: `set_event_pid`, `set_event_notrace_pid` and the
//! option `event-fork`.

use crate::{
    engine::language::pids::PidSet,
    events::{event_file::InstanceId, registry::Registry},
    hit::tasks::Tasks,
    kapi::tasks::{Follower, TaskWatch},
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{Arc, Mutex},
};

/// One of the two lists of tasks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum List {
    /// The tasks whose hits count.
    Only,
    /// The tasks whose hits do not.
    Without,
}

/// The tasks that an instance follows. Its lock is taken before the registry lock.
#[pin_data]
pub(crate) struct Followed {
    #[pin]
    state: Mutex<PidState>,
}

struct PidState {
    instance: InstanceId,
    tasks: Tasks,
    /// The option `event-fork`: whether children of followed tasks are added to the lists.
    with_children: bool,
    /// Updates the lists when tasks start and exit.
    watch: Option<TaskWatch<Tasks>>,
}

impl Follower for Tasks {
    fn forked(&self, parent: i32, child: i32) {
        self.add_child(parent, child);
    }

    fn freed(&self, pid: i32) {
        self.remove(pid);
    }
}

impl Tasks {
    fn list(&self, list: List) -> Option<&Arc<PidSet>> {
        match list {
            List::Only => self.only.as_ref(),
            List::Without => self.without.as_ref(),
        }
    }

    /// Returns these tasks with `list` replaced.
    fn with(&self, list: List, set: Option<Arc<PidSet>>) -> Self {
        let mut tasks = self.clone();
        match list {
            List::Only => tasks.only = set,
            List::Without => tasks.without = set,
        }
        tasks
    }
}

impl Followed {
    /// Makes an instance follow all tasks.
    pub(crate) fn new(instance: InstanceId) -> impl PinInit<Self> {
        pin_init!(Self {
            state <- new_mutex!(PidState {
                instance,
                tasks: Tasks::ALL,
                with_children: false,
                watch: None,
            }),
        })
    }

    /// Calls `show` with the list, or `None` if there is none.
    pub(crate) fn show<R>(&self, list: List, show: impl FnOnce(Option<&PidSet>) -> R) -> R {
        let state = self.state.lock();
        show(state.tasks.list(list).map(|set| &**set))
    }

    /// Adds the pids `added` to the list, all or none; each is less than
    /// [`LIMIT`](crate::engine::language::pids::LIMIT).
    ///
    /// # Errors
    ///
    /// As for [`Registry::set_tasks`].
    ///
    /// Context: process, may sleep.
    pub(crate) fn add(&self, registry: &Mutex<Registry>, list: List, added: &[u32]) -> Result {
        let add_to = |set: &PidSet| {
            for &pid in added {
                // CAST: It is less than `LIMIT`.
                set.add(pid as i32);
            }
        };
        let mut state = self.state.lock();
        if added.is_empty() {
            return Ok(());
        }
        if let Some(set) = state.tasks.list(list) {
            add_to(set);
            return Ok(());
        }
        let set = PidSet::new()?;
        add_to(&set);
        let set = Arc::new(set, GFP_KERNEL)?;
        let tasks = state.tasks.with(list, Some(set));
        state.change(registry, tasks)
    }

    /// Removes the list.
    ///
    /// # Errors
    ///
    /// As for [`Registry::set_tasks`].
    ///
    /// Context: process, may sleep.
    pub(crate) fn clear(&self, registry: &Mutex<Registry>, list: List) -> Result {
        let mut state = self.state.lock();
        if state.tasks.list(list).is_none() {
            return Ok(());
        }
        let tasks = state.tasks.with(list, None);
        state.change(registry, tasks)
    }

    /// Sets the option `event-fork`.
    ///
    /// # Errors
    ///
    /// As for [`TaskWatch::new`].
    ///
    /// Context: process, may sleep.
    pub(crate) fn set_with_children(&self, registry: &Mutex<Registry>, on: bool) -> Result {
        let mut state = self.state.lock();
        let watch = PidState::watch(on, registry, &state.tasks)?;
        state.watch = watch;
        state.with_children = on;
        Ok(())
    }
}

impl PidState {
    /// Makes the registry count the hits of `tasks`.
    fn change(&mut self, registry: &Mutex<Registry>, tasks: Tasks) -> Result {
        let watch = Self::watch(self.with_children, registry, &tasks)?;
        let shared = if tasks.are_all() {
            None
        } else {
            Some(Arc::new(tasks.clone(), GFP_KERNEL)?)
        };
        registry.lock().set_tasks(self.instance, shared)?;
        self.tasks = tasks;
        // Both watches ran for a moment, which is harmless, and no child was missed.
        self.watch = watch;
        Ok(())
    }

    /// Starts to follow the children of `tasks`, if the option is on and there are lists.
    fn watch(
        on: bool,
        registry: &Mutex<Registry>,
        tasks: &Tasks,
    ) -> Result<Option<TaskWatch<Tasks>>> {
        if !on || tasks.are_all() {
            return Ok(None);
        }
        let points = registry.lock().definitions.points().clone();
        let tasks = Arc::new(tasks.clone(), GFP_KERNEL)?;
        TaskWatch::new(&points, tasks).map(Some)
    }
}
