// SPDX-License-Identifier: GPL-2.0

//! A handler of function returns.

use super::{
    exit::ReturnHandler,
    group::SitesOwner,
    link::Site,
    probed::ProbedFunctions,
    return_group::{ReturnGroup, ReturnServer},
};
use crate::kapi::{batch::Batched, bindings as extra, calls, serving::Serving};
use core::{
    marker::PhantomPinned,
    pin::Pin,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};
use kernel::{
    alloc::KVVec,
    ffi::c_void,
    new_mutex,
    prelude::*,
    sync::{Arc, Mutex},
};

/// Maximum number of words of data that one call of a function keeps; the kernel keeps one more.
// CAST: Lossless.
pub const MAX_RETURN_WORDS: usize = extra::FERROPROBE_FPROBE_WORDS as usize - 1;

/// Whether the kernel follows the returns of many functions (`CONFIG_FPROBE`).
pub fn are_returns_supported() -> bool {
    calls::ferroprobe_returns_supported()
}

/// A handler of the returns of some functions.
///
/// # Invariants
///
/// The groups are registered if `armed` is true.
#[pin_data(PinnedDrop)]
pub struct ReturnRegistration<H: ReturnHandler> {
    server: ReturnServer<H>,
    #[pin]
    groups: Mutex<KVec<Pin<KBox<ReturnGroup<H>>>>>,
    armed: AtomicBool,
    #[pin]
    _pinned: PhantomPinned,
}

impl<H: ReturnHandler> ReturnRegistration<H> {
    /// Makes a handler of no functions, disarmed. Each call of a function keeps `words` words of
    /// data, at most [`MAX_RETURN_WORDS`].
    ///
    /// # Errors
    ///
    /// `E2BIG` for too many words; `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub(super) fn with(
        serving: Arc<Serving>,
        words: usize,
        handler: impl Init<H>,
    ) -> Result<Pin<KBox<Self>>> {
        if words > MAX_RETURN_WORDS {
            return Err(E2BIG);
        }
        let tag = new_tag();
        KBox::pin_init(
            pin_init!(Self {
                server <- init!(ReturnServer {
                    handler <- handler,
                    serving,
                    words,
                    tag,
                    missed: AtomicU64::new(0),
                }),
                groups <- new_mutex!(KVec::new()),
                armed: AtomicBool::new(false),
                _pinned: PhantomPinned,
            }),
            GFP_KERNEL,
        )
    }

    /// Arms or disarms the handler. When it is disarmed, it does not run any more.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; those of ftrace.
    ///
    /// Context: process, may sleep.
    pub fn set_enabled(&self, enabled: bool) -> Result {
        let groups = self.groups.lock();
        if self.armed.load(Ordering::Relaxed) == enabled {
            return Ok(());
        }
        let mut result = Ok(());
        if enabled {
            result = groups
                .iter()
                .try_for_each(|group| group.as_ref().register());
        }
        if !enabled || result.is_err() {
            groups.iter().for_each(|group| group.unregister());
        }
        // INVARIANT: All are registered, or none.
        let armed = enabled && result.is_ok();
        self.armed.store(armed, Ordering::Relaxed);
        result
    }

    /// Makes hits be served by the stage that [`Handler::first`] returns now.
    ///
    /// [`Handler::first`]: crate::kapi::handler::Handler::first
    ///
    /// Context: process, may sleep.
    pub fn update_callback(&self) {
        self.groups
            .lock()
            .iter()
            .for_each(|group| group.update_callback());
    }

    /// Returns what serves the hits.
    pub fn handler(&self) -> &H {
        &self.server.handler
    }

    /// Returns the returns that the kernel could not follow, for want of room where it keeps the
    /// addresses. It does not count those in the middle of a tracer's own work.
    ///
    /// Context: process, may sleep.
    pub fn missed(&self) -> u64 {
        let groups = self.groups.lock();
        let before = self.server.missed.load(Ordering::Relaxed);
        match self.armed.load(Ordering::Relaxed) {
            true => groups
                .iter()
                .map(|group| group.missed())
                .fold(before, u64::wrapping_add),
            false => before,
        }
    }
}

impl<H: ReturnHandler> ProbedFunctions for ReturnRegistration<H> {
    fn add(&self, owner: SitesOwner<'_>, sites: &[Site]) -> Result {
        // SAFETY: It is kept in `groups`.
        let group = unsafe { ReturnGroup::new(owner, sites, &self.server) }?;
        let mut groups = self.groups.lock();
        groups.reserve(1, GFP_KERNEL)?;
        if self.armed.load(Ordering::Relaxed) {
            group.as_ref().register()?;
        }
        // There is room.
        let _ = groups.push_within_capacity(group);
        Ok(())
    }

    fn remove(&self, which: &dyn Fn(SitesOwner<'_>) -> bool) {
        let mut groups = self.groups.lock();
        // `retain` has a check that the compiler does not remove.
        let mut index = 0usize;
        while let Some(group) = groups.get(index) {
            if which(group.owner()) {
                group.unregister();
                drop(groups.remove(index));
            } else {
                index = index.saturating_add(1);
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.groups.lock().iter().all(|group| group.is_empty())
    }

    fn has(&self, which: &dyn Fn(SitesOwner<'_>) -> bool) -> bool {
        let groups = self.groups.lock();
        let mut with_functions = groups.iter().filter(|group| !group.is_empty());
        with_functions.any(|group| which(group.owner()))
    }

    fn each(&self, each: &mut dyn FnMut(u64, Option<u64>)) {
        self.groups.lock().iter().for_each(|group| group.each(each));
    }
}

/// Returns a number that no other registration has, nor, most probably, the data of others.
fn new_tag() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    calls::ktime_get_mono_fast_ns()
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(next)
}

impl<H: ReturnHandler> Batched for ReturnRegistration<H> {
    type Probe = c_void;

    fn end_all(all: &mut [Pin<KBox<Self>>], _pointers: &mut KVVec<*mut c_void>) {
        for this in all.iter() {
            // Disarming does not fail.
            let _ = this.set_enabled(false);
        }
    }
}

#[pinned_drop]
impl<H: ReturnHandler> PinnedDrop for ReturnRegistration<H> {
    fn drop(self: Pin<&mut Self>) {
        // As above.
        let _ = self.set_enabled(false);
    }
}
