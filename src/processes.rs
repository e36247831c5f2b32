// SPDX-License-Identifier: GPL-2.0

//! The processes of threads: the option `record-tgid`.

use crate::{
    engine::util::tgids::Tgids,
    events::registry::Registry,
    kapi::{
        context,
        tasks::{Runs, SwitchWatch},
    },
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{Arc, Mutex, SetOnce},
};

/// The processes of threads that ran while the option was on. They stay known when it is switched
/// off. Its lock is taken before the registry lock.
#[pin_data]
pub(crate) struct Processes {
    known: SetOnce<Arc<Tgids>>,
    #[pin]
    watch: Mutex<Option<SwitchWatch<Tgids>>>,
}

impl Runs for Tgids {
    fn runs(&self, pid: u32, tgid: u32) {
        self.see(pid, tgid);
    }
}

impl Processes {
    /// Makes an empty table.
    pub(crate) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            known: SetOnce::new(),
            watch <- new_mutex!(None),
        })
    }

    /// Returns the table, once there is one.
    pub(crate) fn known(&self) -> Option<&Tgids> {
        self.known.as_ref().map(|known| &**known)
    }

    /// Starts or stops recording the processes of threads that run.
    ///
    /// # Errors
    ///
    /// As for [`SwitchWatch::new`].
    ///
    /// Context: process, may sleep.
    pub(crate) fn set_on(&self, registry: &Mutex<Registry>, on: bool) -> Result {
        let mut watch = self.watch.lock();
        if !on {
            *watch = None;
            return Ok(());
        }
        if watch.is_some() {
            return Ok(());
        }
        if self.known.as_ref().is_none() {
            self.known.populate(Arc::new(Tgids::new()?, GFP_KERNEL)?);
        }
        let known = self.known.as_ref().ok_or(ENOMEM)?;
        let points = registry.lock().definitions.points().clone();
        *watch = Some(SwitchWatch::new(&points, known.clone())?);
        let (pid, tgid) = context::current().ids();
        known.see(pid, tgid);
        Ok(())
    }
}
