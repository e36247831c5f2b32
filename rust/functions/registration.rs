// SPDX-License-Identifier: GPL-2.0

//! A handler of function entries.

use super::{
    entry::Function,
    group::{Group, SitesOwner},
    link::{Link, Server, Site, COUNTED, SEVERAL},
    probed::ProbedFunctions,
    table::SiteTable,
    FilterState, Functions,
};
use crate::kapi::{
    batch::Batched,
    handler::{Handler, BARE, EACH_BARE, EACH_SHORT, EACH_WORD, SHORT, STACK, WORD},
    rcu,
};
use core::{
    marker::PhantomPinned,
    pin::Pin,
    ptr,
    sync::atomic::{AtomicBool, Ordering},
};
use kernel::{
    alloc::KVVec,
    ffi::c_void,
    new_mutex,
    prelude::*,
    sync::{Arc, Mutex},
};

/// A handler of the entries of some functions.
///
/// # Invariants
///
/// If `armed` is true, the table has a pointer to each of the links.
#[pin_data(PinnedDrop)]
pub struct FunctionRegistration<H: Handler<Function>> {
    server: Server<H>,
    /// Locked before the state of `functions`.
    #[pin]
    groups: Mutex<KVec<Group<H>>>,
    functions: Arc<Functions<H>>,
    /// The hits of each function are counted.
    counts: bool,
    armed: AtomicBool,
    /// It was armed, and nothing has waited for its hits since.
    used: AtomicBool,
    #[pin]
    _pinned: PhantomPinned,
}

// SAFETY: What changes is atomic or locked; `H` is `Sync`.
unsafe impl<H: Handler<Function>> Sync for FunctionRegistration<H> {}
// SAFETY: Any thread can disarm a handler; `H` is `Send`.
unsafe impl<H: Handler<Function>> Send for FunctionRegistration<H> {}

impl<H: Handler<Function>> FunctionRegistration<H> {
    /// Makes a handler of no functions, disarmed, which counts the hits of each function if
    /// `counts`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub fn new(
        functions: Arc<Functions<H>>,
        counts: bool,
        handler: impl Init<H>,
    ) -> Result<Pin<KBox<Self>>> {
        let serving = functions.serving.clone();
        KBox::pin_init(
            pin_init!(Self {
                server <- init!(Server { handler <- handler, serving }),
                functions,
                groups <- new_mutex!(KVec::new()),
                counts,
                armed: AtomicBool::new(false),
                used: AtomicBool::new(false),
                _pinned: PhantomPinned,
            }),
            GFP_KERNEL,
        )
    }

    /// Arms or disarms the handler. It may still run on another CPU when it is disarmed.
    ///
    /// # Errors
    ///
    /// As for [`Functions::apply`].
    ///
    /// Context: process, may sleep.
    pub fn set_enabled(&self, enabled: bool) -> Result {
        let groups = self.groups.lock();
        let functions = &self.functions;
        let mut state = functions.state.lock();
        if self.armed.load(Ordering::Relaxed) == enabled {
            return Ok(());
        }
        if !enabled {
            self.disarm(&groups, &mut state);
            // Only additions can fail.
            return Functions::commit(functions, &mut state).or(Ok(()));
        }
        self.arm(&groups, &mut state)?;
        let result = Functions::commit(functions, &mut state);
        if result.is_err() {
            self.disarm(&groups, &mut state);
            let _ = Functions::commit(functions, &mut state);
        }
        result
    }

    /// Makes hits be served by the stage that [`Handler::first`] returns now.
    ///
    /// Context: process, may sleep.
    pub fn update_callback(&self) {
        let groups = self.groups.lock();
        let _state = self.functions.state.lock();
        // Otherwise it is done when the handler is armed.
        if self.armed.load(Ordering::Relaxed) {
            let links = groups.iter().flat_map(|group| &group.links);
            links.for_each(|link| choose_way(link));
        }
    }

    fn arm(&self, groups: &[Group<H>], state: &mut FilterState<H>) -> Result {
        let counts = groups.iter().map(|group| group.links.len());
        self.make_room(counts.fold(0, usize::saturating_add), state)?;
        if state.unsettled && self.used.load(Ordering::Relaxed) {
            // A hit may still be on its way along the links.
            rcu::synchronize();
            state.unsettled = false;
        }
        self.used.store(true, Ordering::Relaxed);
        // INVARIANT: The pointers are stored below.
        self.armed.store(true, Ordering::Relaxed);
        for group in groups {
            self.link(group, state);
        }
        Ok(())
    }

    /// Makes room for `count` links more.
    fn make_room(&self, count: usize, state: &mut FilterState<H>) -> Result {
        state.add.reserve(count, GFP_KERNEL)?;
        let all = state.sites.saturating_add(count);
        state.remove.reserve(all, GFP_KERNEL)?;
        let functions = &self.functions;
        let table = functions.table.load();
        if !table.has_room(count) {
            let larger = SiteTable::with_room(table.len().saturating_add(count))?;
            table.copy_to(&larger);
            drop(functions.table.replace(Arc::new(larger, GFP_KERNEL)?));
        }
        Ok(())
    }

    /// Puts the links of `group` into the table, which has room.
    fn link(&self, group: &Group<H>, state: &mut FilterState<H>) {
        let table = self.functions.table.load();
        for link in &group.links {
            // There is room.
            let Some(first) = table.slot(link.site) else {
                continue;
            };
            let next = first.load(Ordering::Relaxed);
            link.next.store(next, Ordering::Relaxed);
            choose_way(link);
            first.store(ptr::from_ref(link).cast_mut(), Ordering::Release);
            if next.is_null() {
                state.add_site(link.site);
            }
        }
    }

    fn disarm(&self, groups: &[Group<H>], state: &mut FilterState<H>) {
        if !self.armed.swap(false, Ordering::Relaxed) {
            return;
        }
        state.unsettled = true;
        // What was added last is found first in the list of additions.
        for group in groups.iter().rev() {
            self.unlink(group, state);
        }
    }

    /// Takes the links of `group` out of the table.
    fn unlink(&self, group: &Group<H>, state: &mut FilterState<H>) {
        let table = self.functions.table.load();
        for link in group.links.iter().rev() {
            let Some(first) = table.slot(link.site) else {
                continue;
            };
            let own = ptr::from_ref(link).cast_mut();
            let mut at = first;
            loop {
                let found = at.load(Ordering::Relaxed);
                if found == own {
                    at.store(link.next.load(Ordering::Relaxed), Ordering::Release);
                    break;
                }
                // SAFETY: By the table's invariant, and as the state is locked, the links
                // in the list are of registrations that are armed.
                match unsafe { found.as_ref() } {
                    Some(other) => at = &other.next,
                    None => break,
                }
            }
            // SAFETY: As above.
            match unsafe { first.load(Ordering::Relaxed).as_ref() } {
                None => state.remove_site(link.site),
                Some(first) => {
                    choose_way(first);
                }
            }
        }
    }

    /// Returns what serves the hits.
    pub fn handler(&self) -> &H {
        &self.server.handler
    }

    /// Disarms it. Returns whether its hits must be waited for.
    pub(in crate::kapi) fn end(&self) -> bool {
        // Disarming does not fail.
        let _ = self.set_enabled(false);
        self.used.swap(false, Ordering::Relaxed)
    }
}

impl<H: Handler<Function>> ProbedFunctions for FunctionRegistration<H> {
    fn add(&self, owner: SitesOwner<'_>, sites: &[Site]) -> Result {
        // SAFETY: It is kept in `groups`.
        let group = unsafe { Group::new(owner, sites, self.counts, &self.server) }?;
        let mut groups = self.groups.lock();
        groups.reserve(1, GFP_KERNEL)?;
        if self.armed.load(Ordering::Relaxed) {
            let functions = &self.functions;
            let mut state = functions.state.lock();
            self.make_room(group.links.len(), &mut state)?;
            self.link(&group, &mut state);
            if let Err(error) = Functions::commit(functions, &mut state) {
                self.unlink(&group, &mut state);
                let _ = Functions::commit(functions, &mut state);
                drop(state);
                rcu::synchronize();
                return Err(error);
            }
        }
        // There is room.
        let _ = groups.push_within_capacity(group);
        Ok(())
    }

    fn remove(&self, which: &dyn Fn(SitesOwner<'_>) -> bool) {
        let mut groups = self.groups.lock();
        let is_used = self.used.load(Ordering::Relaxed);
        let mut state = self.functions.state.lock();
        let mut found = false;
        for group in groups.iter().filter(|group| which(group.owner())) {
            found = true;
            if self.armed.load(Ordering::Relaxed) {
                self.unlink(group, &mut state);
            }
        }
        // Only additions can fail.
        let _ = Functions::commit(&self.functions, &mut state);
        drop(state);
        if found && is_used {
            rcu::synchronize();
        }
        // `retain` has a check that the compiler does not remove.
        let mut index = 0usize;
        while let Some(group) = groups.get(index) {
            if which(group.owner()) {
                drop(groups.remove(index));
            } else {
                index = index.saturating_add(1);
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.groups
            .lock()
            .iter()
            .all(|group| group.links.is_empty())
    }

    fn has(&self, which: &dyn Fn(SitesOwner<'_>) -> bool) -> bool {
        let groups = self.groups.lock();
        let mut with_functions = groups.iter().filter(|group| !group.links.is_empty());
        with_functions.any(|group| which(group.owner()))
    }

    fn each(&self, each: &mut dyn FnMut(u64, Option<u64>)) {
        self.groups.lock().iter().for_each(|group| group.each(each));
    }
}

/// Sets the way of a link for when it is the first of its list.
fn choose_way<H: Handler<Function>>(link: &Link<H>) {
    let counted = if link.hits.is_some() { COUNTED } else { 0 };
    let way = match link.server().handler.first() {
        _ if !link.next.load(Ordering::Relaxed).is_null() => SEVERAL,
        first @ (BARE | STACK | WORD) => first | counted,
        // Whether hits are counted is looked at in each.
        first @ (EACH_BARE | EACH_WORD | EACH_SHORT) => first,
        _ => SHORT | counted,
    };
    link.way.store(way, Ordering::Relaxed);
}

impl<H: Handler<Function>> Batched for FunctionRegistration<H> {
    type Probe = c_void;

    fn end_all(all: &mut [Pin<KBox<Self>>], _pointers: &mut KVVec<*mut c_void>) {
        let Some(first) = all.first() else { return };
        let functions = first.functions.clone();
        functions.hold();
        let mut used = false;
        for this in all.iter() {
            used |= this.end();
        }
        // As above.
        let _ = Functions::apply(&functions);
        if used {
            rcu::synchronize();
        }
    }
}

#[pinned_drop]
impl<H: Handler<Function>> PinnedDrop for FunctionRegistration<H> {
    fn drop(self: Pin<&mut Self>) {
        if self.end() {
            rcu::synchronize();
        }
    }
}
