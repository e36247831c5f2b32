// SPDX-License-Identifier: GPL-2.0

//! Owners of private events.

use crate::{engine::util::text::Plain, kapi::context};
use core::{
    fmt,
    sync::atomic::{AtomicBool, Ordering},
};
use kernel::{prelude::*, sync::Arc};

/// An open file `private_events`: the events that are defined through it are removed when it is
/// closed, and only it can delete them.
pub(crate) struct Owner {
    pid: i32,
    comm: [u8; context::TASK_COMM_LEN],
    /// Whether the owner has released its events.
    has_left: AtomicBool,
    /// Whether this is the owner of the ready-made events.
    is_builtin: bool,
}

impl Owner {
    /// Makes an owner, named after the running task.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process.
    pub(crate) fn new() -> Result<Arc<Self>> {
        let task = context::current();
        let owner = Self {
            pid: task.pid(),
            comm: task.comm(),
            has_left: AtomicBool::new(false),
            is_builtin: false,
        };
        Ok(Arc::new(owner, GFP_KERNEL)?)
    }

    /// Makes the owner of the ready-made events.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn builtin() -> Result<Arc<Self>> {
        let owner = Self {
            pid: 0,
            comm: [0; context::TASK_COMM_LEN],
            has_left: AtomicBool::new(false),
            is_builtin: true,
        };
        Ok(Arc::new(owner, GFP_KERNEL)?)
    }

    /// Returns whether it owns the ready-made events.
    pub(super) fn is_builtin(&self) -> bool {
        self.is_builtin
    }

    /// Returns the pid of the task that made it.
    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    /// Releases the events: they have no owner from now on.
    pub(super) fn leave(&self) {
        self.has_left.store(true, Ordering::Relaxed);
    }

    /// Returns whether the owner has not released its events.
    pub(super) fn is_here(&self) -> bool {
        !self.has_left.load(Ordering::Relaxed)
    }
}

/// Displays the task: `COMM-PID`.
impl fmt::Display for Owner {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.comm.split(|&byte| byte == 0).next();
        write!(out, "{}-{}", Plain(name.unwrap_or_default()), self.pid)
    }
}

/// Returns whether both are the same owner, or both are `None`.
pub(super) fn same(one: Option<&Arc<Owner>>, other: Option<&Arc<Owner>>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        _ => false,
    }
}
