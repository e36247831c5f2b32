// SPDX-License-Identifier: GPL-2.0

//! A handler of function entries.

use super::{
    handler::{Fetches, Handler},
    link::{Link, Server, NOTHING, OTHER, REGISTER, SEVERAL},
    table::Table,
    Functions, State,
};
use crate::kapi::{batch::Registered, percpu::PerCpu, rcu};
use core::{
    marker::PhantomPinned,
    pin::Pin,
    ptr,
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, Ordering},
};
use kernel::{alloc::KVVec, ffi::c_void, prelude::*, sync::Arc};

/// A function to be probed.
#[derive(Clone, Copy)]
pub struct Site {
    /// The address of the function.
    pub function: u64,
    /// The address that ftrace patches for it.
    pub site: u64,
}

/// A handler of the entries of some functions.
///
/// # Invariants
///
/// If `armed` is true, the table has a pointer to each of the links.
#[pin_data(PinnedDrop)]
pub struct Registration<H: Handler> {
    server: Server<H>,
    links: KVVec<Link<H>>,
    functions: Arc<Functions<H>>,
    armed: AtomicBool,
    /// It was armed, and nothing has waited for its hits since.
    used: AtomicBool,
    #[pin]
    _pinned: PhantomPinned,
}

// SAFETY: What changes is atomic; `H` is `Sync`.
unsafe impl<H: Handler> Sync for Registration<H> {}
// SAFETY: Any thread can disarm a handler; `H` is `Send`.
unsafe impl<H: Handler> Send for Registration<H> {}

impl<H: Handler> Registration<H> {
    /// Makes a handler of the functions at `sites`, disarmed.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub fn new(
        functions: Arc<Functions<H>>,
        sites: &[Site],
        handler: H,
    ) -> Result<Pin<KBox<Self>>> {
        let missed = PerCpu::new(|_| Ok(Default::default()))?;
        let mut links = KVVec::with_capacity(sites.len(), GFP_KERNEL)?;
        for site in sites {
            let link = Link {
                site: site.site,
                // CAST: Halves.
                place: [site.function as u32, (site.function >> 32) as u32],
                server: AtomicPtr::new(ptr::null_mut()),
                next: AtomicPtr::new(ptr::null_mut()),
                way: AtomicU8::new(SEVERAL),
            };
            links.push(link, GFP_KERNEL)?;
        }
        let this = KBox::pin_init(
            pin_init!(Self {
                server: Server { handler, missed },
                links,
                functions,
                armed: AtomicBool::new(false),
                used: AtomicBool::new(false),
                _pinned: PhantomPinned,
            }),
            GFP_KERNEL,
        )?;
        let own = ptr::from_ref(&this.server).cast_mut();
        for link in &this.links {
            link.server.store(own, Ordering::Relaxed);
        }
        Ok(this)
    }

    /// Arms or disarms the handler. It may still run on another CPU when it is disarmed.
    ///
    /// # Errors
    ///
    /// As for [`Functions::apply`].
    ///
    /// Context: process, may sleep.
    pub fn set_enabled(&self, enabled: bool) -> Result {
        let functions = &self.functions;
        let mut state = functions.state.lock();
        if self.armed.load(Ordering::Relaxed) == enabled {
            return Ok(());
        }
        if !enabled {
            self.disarm(&mut state);
            // Only additions can fail.
            return functions.commit(&mut state).or(Ok(()));
        }
        self.arm(&mut state)?;
        let result = functions.commit(&mut state);
        if result.is_err() {
            self.disarm(&mut state);
            let _ = functions.commit(&mut state);
        }
        result
    }

    fn arm(&self, state: &mut State) -> Result {
        let count = self.links.len();
        state.add.reserve(count, GFP_KERNEL)?;
        let all = state.sites.saturating_add(count);
        state.remove.reserve(all, GFP_KERNEL)?;
        let functions = &self.functions;
        let mut table = functions.table.load();
        if !table.has_room(count) {
            let larger = Table::with_room(table.len().saturating_add(count))?;
            table.copy_to(&larger);
            let larger = Arc::new(larger, GFP_KERNEL)?;
            drop(functions.table.replace(larger.clone()));
            table = larger;
        }
        if state.unsettled && self.used.load(Ordering::Relaxed) {
            // A hit may still be on its way along the links.
            rcu::synchronize();
            state.unsettled = false;
        }
        self.used.store(true, Ordering::Relaxed);
        // INVARIANT: The pointers are stored below.
        self.armed.store(true, Ordering::Relaxed);
        for link in &self.links {
            // There is room.
            let Some(first) = table.slot(link.site) else {
                continue;
            };
            let next = first.load(Ordering::Relaxed);
            link.next.store(next, Ordering::Relaxed);
            choose_way(link, &self.server);
            first.store(ptr::from_ref(link).cast_mut(), Ordering::Release);
            if next.is_null() {
                state.begins(link.site);
            }
        }
        Ok(())
    }

    fn disarm(&self, state: &mut State) {
        if !self.armed.swap(false, Ordering::Relaxed) {
            return;
        }
        state.unsettled = true;
        let table = self.functions.table.load();
        for link in &self.links {
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
                None => state.ends(link.site),
                Some(first) => {
                    // SAFETY: As above: a link is part of its registration.
                    choose_way(first, unsafe { &*first.server.load(Ordering::Relaxed) });
                }
            }
        }
    }

    /// Returns the hits that came while another was served on the same CPU in the same
    /// context.
    pub fn missed(&self) -> u64 {
        let each = self.server.missed.iter().map(|(_, [missed])| missed.get());
        each.fold(0, u64::wrapping_add)
    }

    /// Returns what serves the hits.
    pub fn handler(&self) -> &H {
        &self.server.handler
    }

    /// Disarms it. Returns whether its hits must be waited for.
    fn end(&self) -> bool {
        // Disarming does not fail.
        let _ = self.set_enabled(false);
        self.used.swap(false, Ordering::Relaxed)
    }
}

/// Sets the way of a link of `server` for when it is the first of its list.
fn choose_way<H: Handler>(link: &Link<H>, server: &Server<H>) {
    let way = match server.handler.fetches() {
        _ if !link.next.load(Ordering::Relaxed).is_null() => SEVERAL,
        Fetches::Nothing => NOTHING,
        Fetches::Register => REGISTER,
        Fetches::Other => OTHER,
    };
    link.way.store(way, Ordering::Relaxed);
}

impl<H: Handler> Registered for Registration<H> {
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
        let _ = functions.apply();
        if used {
            rcu::synchronize();
        }
    }
}

#[pinned_drop]
impl<H: Handler> PinnedDrop for Registration<H> {
    fn drop(self: Pin<&mut Self>) {
        if self.end() {
            rcu::synchronize();
        }
    }
}
