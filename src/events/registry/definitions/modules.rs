// SPDX-License-Identifier: GPL-2.0

//! Probes in modules that are loaded and unloaded.
//!
//! The kernel gives up the probes in a module's init function when that has run, and all probes of
//! a module when it is unloaded. They wait until the module is loaded again. Giving up must not
//! fail, so its memory is allocated in advance.

use super::Definitions;
use crate::{
    engine::{
        definition::ast::Place,
        refusal::error::{Error as Refusal, Kind},
    },
    events::{probe::Probe, registry::arming::Arming},
    kapi::functions::SitesOwner,
    source::{self, location, machine::errno},
};
use core::iter;
use kernel::{
    prelude::*,
    sync::{Arc, UniqueArc},
};

impl Definitions {
    /// Registers the probes that wait for module `name`, which has been loaded, and arms those of
    /// enabled events.
    ///
    /// Context: process, may sleep.
    #[inline(never)]
    pub(crate) fn module_coming(&mut self, name: &[u8], arming: &Arming) {
        for index in 0..self.set.len() {
            let Some(probe) = self.set.get(index).filter(|probe| probe.is_waiting()) else {
                continue;
            };
            let probe = probe.clone();
            match probe.definition().place.symbol() {
                // The definition names another module.
                Some((Some(module), _)) if *module != *name => continue,
                Some(_) => {}
                // The address was in unloaded code.
                None => continue,
            }
            match self.place_again(&probe, name, arming) {
                Ok(Some(placed)) => {
                    drop(self.set.replace(index, placed));
                }
                Ok(None) => {}
                Err(refusal) => pr_warn!(
                    "event {} stays without its probe in module {}: {}\n",
                    probe.event.format.name(),
                    core::str::from_utf8(name).unwrap_or("?"),
                    refusal.kind.text()
                ),
            }
        }
        // Complete the removal of probes that could not be armed.
        self.spares.removal.end();
        self.functions_coming(name, arming);
    }

    /// Registers `probe` in module `name`; returns `None` if it does not belong there.
    #[inline(never)]
    fn place_again(
        &mut self,
        probe: &Probe,
        name: &[u8],
        arming: &Arming,
    ) -> Result<Option<Arc<Probe>>, Refusal> {
        let definition = probe.definition();
        let found = match location::find(
            definition,
            &mut self.names,
            &self.points,
            self.set.originals(),
        ) {
            Ok(Some(found)) if found.module() == Some(name) => found,
            Ok(_) => return Ok(None),
            // A symbol without a module name may be in any module.
            Err(_)
                if definition
                    .place
                    .symbol()
                    .is_some_and(|(module, _)| module.is_none()) =>
            {
                return Ok(None)
            }
            Err(refusal) => return Err(refusal),
        };
        found.check_returns(definition)?;
        let at = definition.place_at;
        if let Some(site) = found.open_site() {
            if source::functions::first_unknown(&[site])?.is_some() {
                return Err(location::unreported(site.function, at));
            }
        }
        // Addresses and types may have changed since the last time.
        let (program, layout) = self.compile(definition, Some(&found))?;
        if let Some(index) = layout.difference(&probe.event.format.layout) {
            let at = definition.args.get(index).map_or(at, |arg| arg.at);
            return Err(Refusal::new(Kind::DiffArgType, at));
        }
        let format = probe.event.format.replaced_by(definition, layout)?;
        // Allocate first: then a registered probe can always be removed together with others.
        let no_memory = |_| Refusal::new(Kind::NoMemory, at);
        let memory = UniqueArc::new_uninit(GFP_KERNEL).map_err(no_memory)?;
        let all = Iterator::chain(self.set.in_modules(), iter::once(definition.kind));
        let spares = self.spares.keep(all);
        spares.map_err(|_| Refusal::new(Kind::NoMemory, at))?;
        let sources = arming.sources(&self.points);
        let placed = memory.write(probe.replaced(&found, (format, program), &sources)?);
        let placed: Arc<Probe> = placed.into();
        if probe.event.is_needed() {
            if let Err(error) = placed.set_armed(true) {
                placed.remove(&mut self.spares.removal);
                return Err(Refusal::registration(errno(error), at));
            }
        }
        Ok(Some(placed))
    }

    /// Unregisters the probes in the init code of module `name`, which is about to be freed. They
    /// wait until the module is loaded again.
    ///
    /// Context: process, may sleep.
    pub(crate) fn module_live(
        &mut self,
        name: &[u8],
        is_init: impl Fn(u64) -> bool,
        arming: &Arming,
    ) {
        let is_there = |probe: &Probe| probe.address().is_some_and(&is_init);
        self.take_back(|probe| probe.is_in(name) && (probe.is_gone() || is_there(probe)));
        self.functions_going(arming, |owner| {
            owner.is_init && owner.module.is_some_and(is(name))
        });
    }

    /// Unregisters the probes in module `name`, which is about to be unloaded. They wait until the
    /// module is loaded again.
    ///
    /// Context: process, may sleep.
    pub(crate) fn module_going(&mut self, name: &[u8], arming: &Arming) {
        self.types.forget(name);
        self.take_back(|probe| probe.is_in(name));
        self.functions_going(arming, |owner| owner.module.is_some_and(is(name)));
    }

    /// Unregisters the probes that `which` selects, all in modules, and replaces them by waiting
    /// ones.
    fn take_back(&mut self, which: impl Fn(&Probe) -> bool) {
        // The latest first.
        for index in (0..self.set.len()).rev() {
            let Some(probe) = self.set.get(index).filter(|probe| which(probe)) else {
                continue;
            };
            // There is a spare for each probe in a module.
            let Some(spare) = self.spares.probes.pop() else {
                continue;
            };
            let waiting = spare.write(probe.unplaced()).into();
            if let Some(probe) = self.set.replace(index, waiting) {
                probe.remove(&mut self.spares.removal);
            }
        }
        self.spares.removal.end();
    }
}

/// Returns a predicate that compares a name with `name`.
fn is(name: &[u8]) -> impl Fn(&CStr) -> bool + '_ {
    move |other| *other.to_bytes() == *name
}

impl Definitions {
    /// Adds the functions of module `name`, which has been loaded, to the events whose patterns
    /// match them.
    fn functions_coming(&mut self, name: &[u8], arming: &Arming) {
        let added = arming.together(|| {
            for index in 0..self.set.len() {
                let Some(probe) = self.set.get(index).cloned() else {
                    continue;
                };
                if let Err(refusal) = self.add_functions(&probe, name) {
                    pr_warn!(
                        "event {} stays without functions of module {}: {}\n",
                        probe.event.format.name(),
                        core::str::from_utf8(name).unwrap_or("?"),
                        refusal.kind.text()
                    );
                }
            }
        });
        if let Err(error) = added {
            pr_warn!(
                "no event gets functions of module {}: errno {}\n",
                core::str::from_utf8(name).unwrap_or("?"),
                error.to_errno()
            );
            // Remove functions that could not be added; otherwise the next change of any event
            // would add them.
            self.functions_going(arming, |owner| owner.module.is_some_and(is(name)));
        }
    }

    /// Adds the functions of module `name` that the patterns of `probe` match.
    fn add_functions(&mut self, probe: &Probe, name: &[u8]) -> Result<(), Refusal> {
        let definition = probe.definition();
        let (Place::Functions(patterns), Some(functions)) = (&definition.place, probe.functions())
        else {
            return Ok(());
        };
        if !patterns.await_module(name) {
            return Ok(());
        }
        // They may be there already, if the event was defined while the module was loading.
        functions.remove(&|owner| owner.module.is_some_and(is(name)));
        let groups = source::functions::of_module(patterns, &mut self.names, name)?;
        for group in &groups {
            self.check_parameters(probe, group)?;
            let added = functions.add(group.owner(), &group.sites);
            let at = definition.place_at;
            added.map_err(|error| Refusal::registration(errno(error), at))?;
        }
        Ok(())
    }

    /// Removes the functions of owners that `which` selects from all events.
    fn functions_going(&self, arming: &Arming, which: impl Fn(SitesOwner<'_>) -> bool) {
        // Removal cannot fail.
        let _ = arming.together(|| {
            for functions in self.set.iter().filter_map(|probe| probe.functions()) {
                functions.remove(&which);
            }
        });
    }
}
