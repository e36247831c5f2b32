// SPDX-License-Identifier: GPL-2.0

//! The tasks whose hits count.

use crate::engine::language::pids::PidSet;
use kernel::sync::Arc;

/// The tasks whose hits count: all on one list that are not on another.
#[derive(Clone)]
pub(crate) struct Tasks {
    /// The tasks of `set_event_pid`; `None` for all tasks.
    pub(crate) only: Option<Arc<PidSet>>,
    /// The tasks of `set_event_notrace_pid`; `None` for no task.
    pub(crate) without: Option<Arc<PidSet>>,
}

impl Tasks {
    /// All tasks.
    pub(crate) const ALL: Self = Self {
        only: None,
        without: None,
    };

    /// Returns whether the hits of all tasks count.
    pub(crate) fn are_all(&self) -> bool {
        self.only.is_none() && self.without.is_none()
    }

    /// Returns whether the hits of the task with this `pid` count.
    ///
    /// Context: any.
    #[inline(always)]
    pub(super) fn have(&self, pid: i32) -> bool {
        self.only.as_ref().is_none_or(|only| only.has(pid))
            && !self.without.as_ref().is_some_and(|not| not.has(pid))
    }

    fn lists(&self) -> impl Iterator<Item = &PidSet> {
        Iterator::chain(self.only.iter(), self.without.iter()).map(|list| &**list)
    }

    /// Adds the task `child` to the lists that its parent is on.
    ///
    /// Context: any.
    pub(crate) fn add_child(&self, parent: i32, child: i32) {
        self.lists()
            .filter(|list| list.has(parent))
            .for_each(|list| list.add(child));
    }

    /// Removes a task, which has exited, from the lists.
    ///
    /// Context: any.
    pub(crate) fn remove(&self, pid: i32) {
        self.lists()
            .filter(|list| list.has(pid))
            .for_each(|list| list.remove(pid));
    }
}
