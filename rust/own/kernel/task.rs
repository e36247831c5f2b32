// SPDX-License-Identifier: GPL-2.0

//! The current task.
//!
//! C header: [`include/linux/sched/signal.h`](srctree/include/linux/sched/signal.h)

use crate::bindings;

/// The task that runs.
pub struct Current(());

impl Current {
    /// Returns it. It is used by the task itself only: it is not `Send`, and borrowed from a local.
    #[doc(hidden)]
    pub fn of_here() -> Self {
        Self(())
    }

    /// Returns whether a signal waits for it.
    pub fn signal_pending(&self) -> bool {
        // SAFETY: The function looks at the current task only.
        unsafe { bindings::ferroprobe_signal_pending() }
    }
}

/// The task that runs.
#[macro_export]
macro_rules! current {
    () => {
        $crate::task::Current::of_here()
    };
}
