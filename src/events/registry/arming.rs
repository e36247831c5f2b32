// SPDX-License-Identifier: GPL-2.0

//! Arming and disarming probes.

use crate::{
    events::probe::Probe,
    hit::recorder::Recorder,
    kapi::{functions::Functions, tracepoint::Tracepoints},
    source::registered::Sources,
    sys::Vec,
};
use kernel::{prelude::*, sync::Arc};

/// The watch that checks the armed probes once a second.
pub(crate) trait Watch: Send {
    /// Starts the checks unless they run.
    ///
    /// Context: process.
    fn start(&self);
}

/// What arms probes, and watches those that are armed.
pub(crate) struct Arming {
    functions: Arc<Functions<Recorder>>,
    points: Arc<Tracepoints>,
    watch: Option<KBox<dyn Watch>>,
}

impl Arming {
    /// Nothing is armed, neither functions nor any of `points`, and there is no watch.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(points: &Arc<Tracepoints>) -> Result<Self> {
        Ok(Self {
            functions: Functions::new()?,
            points: points.clone(),
            watch: None,
        })
    }

    /// Returns what registering a mechanism needs.
    pub(super) fn sources<'a>(&'a self, points: &'a Arc<Tracepoints>) -> Sources<'a> {
        Sources {
            points,
            functions: &self.functions,
        }
    }

    /// Sets the watch, or takes it away. Returns the former one.
    pub(super) fn set_watch(&mut self, watch: Option<KBox<dyn Watch>>) -> Option<KBox<dyn Watch>> {
        core::mem::replace(&mut self.watch, watch)
    }

    /// Starts the watch.
    pub(super) fn watch(&self) {
        if let Some(watch) = &self.watch {
            watch.start();
        }
    }

    /// Arms or disarms those of `probes` that are not yet: all of them or, if one fails, none.
    ///
    /// # Errors
    ///
    /// As for [`Probe::set_armed`].
    pub(super) fn set_armed<'a>(
        &self,
        probes: impl Iterator<Item = &'a Arc<Probe>>,
        armed: bool,
    ) -> Result {
        let mut changed = Vec::new();
        let mut result = Ok(());
        self.functions.hold();
        self.points.hold();
        for probe in probes.filter(|probe| probe.is_armed() != armed) {
            result = changed.push(probe).map_err(Error::from);
            if result.is_ok() {
                result = probe.set_armed(armed);
            }
            if result.is_err() {
                break;
            }
        }
        let undo = || {
            for probe in &changed {
                // Restores the previous state.
                let _ = probe.set_armed(!armed);
            }
        };
        let result = Functions::apply_after(&self.functions, result, undo);
        self.points.apply_after(result, undo)
    }

    /// Disarms `probes`, as far as that is possible.
    pub(super) fn disarm_all<'a>(&self, probes: impl Iterator<Item = &'a Arc<Probe>>) {
        let _ = self.together(|| {
            for probe in probes {
                // If this fails, the removal disarms it.
                let _ = probe.set_armed(false);
            }
        });
    }

    /// Calls `change`, and makes at once what it changes of functions.
    ///
    /// # Errors
    ///
    /// As for [`Functions::apply`]; never if it only removes some.
    pub(super) fn together(&self, change: impl FnOnce()) -> Result {
        self.functions.hold();
        self.points.hold();
        change();
        self.points.apply().and(Functions::apply(&self.functions))
    }
}
