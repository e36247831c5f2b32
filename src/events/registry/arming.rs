// SPDX-License-Identifier: GPL-2.0

//! Arming and disarming probes.

use super::{definitions::Definitions, set::Set};
use crate::{
    events::{event::Event, probe::Probe},
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
pub(super) struct Arming {
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

    /// Starts the watch if a probe of `definitions` is armed.
    pub(super) fn watch(&self, definitions: &Definitions) {
        if let Some(watch) = &self.watch {
            if definitions.is_any_armed() {
                watch.start();
            }
        }
    }

    /// Arms or disarms the probes of the events that `which` selects: all of them or, if
    /// one fails, none.
    ///
    /// # Errors
    ///
    /// As for [`Probe::set_armed`].
    pub(super) fn set_armed(
        &self,
        definitions: &Definitions,
        which: &dyn Fn(&Event) -> bool,
        enabled: bool,
    ) -> Result {
        let all = definitions.all_probes();
        let changed = all.filter(|probe| which(&probe.event) && probe.is_armed() != enabled);
        self.set_all(changed, enabled)
    }

    /// Arms those of the new `probes` that are of enabled events: all of them or, if one fails,
    /// none.
    ///
    /// # Errors
    ///
    /// As for [`Probe::set_armed`].
    pub(super) fn arm_new(&self, probes: &Set) -> Result {
        let all = probes.iter();
        let new = all.filter(|probe| probe.event.is_needed() && !probe.is_armed());
        self.set_all(new, true)
    }

    fn set_all<'a>(&self, probes: impl Iterator<Item = &'a Arc<Probe>>, enabled: bool) -> Result {
        let mut changed = Vec::new();
        let mut result = Ok(());
        self.functions.hold();
        self.points.hold();
        for probe in probes {
            result = changed.push(probe).map_err(Error::from);
            if result.is_ok() {
                result = probe.set_armed(enabled);
            }
            if result.is_err() {
                break;
            }
        }
        let undo = || {
            for probe in &changed {
                // Restores the previous state.
                let _ = probe.set_armed(!enabled);
            }
        };
        let result = Functions::apply_after(&self.functions, result, undo);
        self.points.apply_after(result, undo)
    }

    /// Disarms all probes, as far as that is possible.
    pub(super) fn disarm_all(&self, definitions: &Definitions) {
        let _ = self.together(|| {
            for probe in definitions.all_probes() {
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
