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

/// The watch: checks the rate of hits once a second.
pub(crate) trait Watch: Send {
    /// Starts the checks unless they are running.
    ///
    /// Context: process.
    fn start(&self);
}

/// Arms and disarms probes, and starts the watch.
pub(crate) struct Arming {
    functions: Arc<Functions<Recorder>>,
    points: Arc<Tracepoints>,
    watch: Option<KBox<dyn Watch>>,
}

impl Arming {
    /// Makes it with nothing armed and no watch.
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

    /// Returns what registering a probe needs.
    pub(super) fn sources<'a>(&'a self, points: &'a Arc<Tracepoints>) -> Sources<'a> {
        Sources {
            points,
            functions: &self.functions,
        }
    }

    /// Sets or removes the watch. Returns the former one.
    pub(super) fn set_watch(&mut self, watch: Option<KBox<dyn Watch>>) -> Option<KBox<dyn Watch>> {
        core::mem::replace(&mut self.watch, watch)
    }

    /// Starts the watch.
    pub(super) fn watch(&self) {
        if let Some(watch) = &self.watch {
            watch.start();
        }
    }

    /// Arms or disarms `probes`: all of them or, if one fails, none. Skips probes that are in that
    /// state already.
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
                // Restore the former state.
                let _ = probe.set_armed(!armed);
            }
        };
        let result = Functions::apply_after(&self.functions, result, undo);
        self.points.apply_after(result, undo)
    }

    /// Disarms `probes`, as far as possible.
    pub(super) fn disarm_all<'a>(&self, probes: impl Iterator<Item = &'a Arc<Probe>>) {
        let _ = self.together(|| {
            for probe in probes {
                // If this fails, the removal of the probe disarms it.
                let _ = probe.set_armed(false);
            }
        });
    }

    /// Calls `change`, and applies its changes of functions in one batch.
    ///
    /// # Errors
    ///
    pub(super) fn together(&self, change: impl FnOnce()) -> Result {
        self.functions.hold();
        self.points.hold();
        change();
        self.points.apply().and(Functions::apply(&self.functions))
    }
}
