// SPDX-License-Identifier: GPL-2.0

//! Functions of one registration whose returns are followed, and that come and go together: an
//! fprobe of the kernel.
//!
//! Debian's kernels export `register_fprobe_ips()` to GPL modules, but not
//! `register_ftrace_graph()`, on which fprobes stand. A kretprobe for each function would take 6
//! ms of each to arm on x86-64, 24 s for 4000; an fprobe takes 36 ms for all. A return costs 623
//! instructions with an fprobe and 467 with a kretprobe, on arm64 786 and 1030. So many functions
//! are followed by an fprobe, and one that is named by a kretprobe.
//!
//! A registered fprobe cannot be changed. So the functions of the kernel, of each module, and of
//! each module's init code have one of their own, which is registered when the handler is armed.
//! The callback of the entry is registered only if something is kept until the return.
//!
//! The kernel keeps that in its shadow stack of the task, with the address of the fprobe. When
//! the function returns there may be another fprobe at that address, with more words of data. So
//! the first word is the number of the registration, and other data is not looked at.
//!
//! C header: [`include/linux/fprobe.h`](srctree/include/linux/fprobe.h)

use super::{
    counters::SiteCounters,
    entry::{Entry, FunctionRegs},
    exit::{Exit, ReturnHandler},
    group::SitesOwner,
    link::Site,
    return_table::ReturnTable,
};
use crate::kapi::{
    bindings as extra,
    context::OnCpu,
    handler::{Next, BARE, DURATION, SHORT, SLOW, STACK, WORD, WORD_AND_DURATION},
    rcu,
    serving::Serving,
    word,
};
use core::{
    marker::PhantomPinned,
    pin::Pin,
    ptr, slice,
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering},
};
use kernel::{
    alloc::KVVec,
    container_of,
    error::to_result,
    ffi::{c_int, c_ulong, c_void},
    prelude::*,
    str::CString,
    sync::Arc,
    types::Opaque,
};

/// Number of words of a `struct fprobe`.
// CAST: Lossless.
const WORDS: usize = (extra::FERROPROBE_FPROBE_SIZE as usize).div_ceil(8);

/// What the kernel calls when a function begins.
type EntryCallback = unsafe extern "C" fn(
    *mut extra::fprobe,
    c_ulong,
    c_ulong,
    *mut extra::ftrace_regs,
    *mut c_void,
) -> c_int;

/// What it calls when one returns. With CFI it checks the types of both, names of structures
/// included.
type ExitCallback = unsafe extern "C" fn(
    *mut extra::fprobe,
    c_ulong,
    c_ulong,
    *mut extra::ftrace_regs,
    *mut c_void,
);

/// A handler with what its hits need.
pub(super) struct ReturnServer<H: ReturnHandler> {
    pub(super) handler: H,
    pub(super) serving: Arc<Serving>,
    /// Number of words of data that each call keeps for the handler.
    pub(super) words: usize,
    /// The first word of the data of each call, before the handler's. It tells apart the fprobes
    /// that have had the same address: a call that one of them follows may return when another one
    /// is there.
    pub(super) tag: u64,
    /// Hits that could not be served, besides those that the handler counts.
    pub(super) missed: AtomicU64,
}

/// Functions that come and go together.
///
/// # Invariants
///
/// `fprobe` is valid, and registered with the kernel if `is_registered`. `server` is that of the
/// registration that the group is a part of.
pub(super) struct ReturnGroup<H: ReturnHandler> {
    fprobe: Opaque<[u64; WORDS]>,
    server: *const ReturnServer<H>,
    table: ReturnTable,
    /// In the order of their counters.
    sites: KVVec<Site>,
    counters: SiteCounters,
    module: Option<CString>,
    is_init: bool,
    is_registered: AtomicBool,
    _pinned: PhantomPinned,
}

// SAFETY: What changes is atomic or the kernel's, which locks it; the server may be shared.
unsafe impl<H: ReturnHandler> Sync for ReturnGroup<H> {}
// SAFETY: Any thread can unregister an fprobe.
unsafe impl<H: ReturnHandler> Send for ReturnGroup<H> {}

impl<H: ReturnHandler> ReturnGroup<H> {
    /// Makes a group, not registered, which lets `server` serve the returns from all `sites`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// # Safety
    ///
    /// The group must be a part of the registration that has the `server`.
    pub(super) unsafe fn new(
        owner: SitesOwner<'_>,
        sites: &[Site],
        server: &ReturnServer<H>,
    ) -> Result<Pin<KBox<Self>>> {
        let counters = SiteCounters::new(sites.len())?;
        let table = ReturnTable::new(sites, &counters)?;
        let mut copy = KVVec::with_capacity(sites.len(), GFP_KERNEL)?;
        copy.extend_from_slice(sites, GFP_KERNEL)?;
        // INVARIANT: A zeroed fprobe is valid; the server is as the caller promises.
        let group = Self {
            fprobe: Opaque::new([0; WORDS]),
            server: ptr::from_ref(server),
            table,
            sites: copy,
            counters,
            module: owner.module.map(CString::try_from).transpose()?,
            is_init: owner.is_init,
            is_registered: AtomicBool::new(false),
            _pinned: PhantomPinned,
        };
        Ok(KBox::pin(group, GFP_KERNEL)?)
    }

    /// Returns whose functions they are.
    pub(super) fn owner(&self) -> SitesOwner<'_> {
        SitesOwner {
            module: self.module.as_deref(),
            is_init: self.is_init,
        }
    }

    /// Returns whether there are no functions.
    pub(super) fn is_empty(&self) -> bool {
        self.sites.is_empty()
    }

    /// Calls `each` with the address of each function and its hits.
    pub(super) fn each(&self, each: &mut dyn FnMut(u64, Option<u64>)) {
        for (index, site) in self.sites.iter().enumerate() {
            each(site.function, self.counters.hits(index));
        }
    }

    /// Returns the returns that the kernel could not follow, since it was registered.
    pub(super) fn missed(&self) -> u64 {
        // SAFETY: It is a valid fprobe by the type invariant.
        word(unsafe { extra::ferroprobe_returns_missed(self.fprobe.get().cast()) })
    }

    /// Makes the kernel report the functions. Nothing happens if there are none.
    ///
    /// # Errors
    ///
    /// Those of ftrace; `ENOMEM`.
    ///
    /// Context: process, may sleep. The caller excludes other calls.
    pub(super) fn register(self: Pin<&Self>) -> Result {
        if self.sites.is_empty() {
            return Ok(());
        }
        let mut addresses = KVVec::with_capacity(self.sites.len(), GFP_KERNEL)?;
        for site in &self.sites {
            addresses.push(site.site as c_ulong, GFP_KERNEL)?;
        }
        let words = self.server().words;
        let (entered, size) = match words {
            0 => (None, 0),
            words => (
                Some(Self::entered as EntryCallback),
                words.saturating_add(1),
            ),
        };
        // CAST: There are fewer functions than that.
        let count = addresses.len() as u32;
        // SAFETY: The fprobe is valid, pinned and not registered; it is unregistered before it is
        // freed. The callbacks have the types that the kernel expects. The other pointer is to
        // that many words.
        to_result(unsafe {
            extra::ferroprobe_returns_register(
                self.fprobe.get().cast(),
                entered,
                Some(self.callback()),
                size,
                addresses.as_mut_ptr(),
                count,
            )
        })?;
        // INVARIANT: Registered above.
        self.is_registered.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Ends the reports, and waits until no callback runs.
    ///
    /// Context: process, may sleep. The caller excludes other calls.
    pub(super) fn unregister(&self) {
        // INVARIANT: It is unregistered below.
        if !self.is_registered.swap(false, Ordering::Relaxed) {
            return;
        }
        // SAFETY: By the type invariant it is registered.
        unsafe { extra::ferroprobe_returns_unregister(self.fprobe.get().cast()) };
        rcu::synchronize_hotplug();
        let missed = self.missed();
        self.server().missed.fetch_add(missed, Ordering::Relaxed);
    }

    #[inline(always)]
    fn server(&self) -> &ReturnServer<H> {
        // SAFETY: By the type invariant it is the registration's, which exists as long as the
        // group.
        unsafe { &*self.server }
    }

    /// Returns the group that has the fprobe.
    ///
    /// # Safety
    ///
    /// `fprobe` is that of a group that exists.
    #[inline(always)]
    unsafe fn of<'a>(fprobe: *mut extra::fprobe) -> &'a Self {
        // SAFETY: By the caller's promise.
        unsafe {
            &*container_of!(
                Opaque::cast_from(fprobe.cast::<[u64; WORDS]>()),
                Self,
                fprobe
            )
        }
    }

    /// Called by the kernel when a function begins.
    ///
    /// # Safety
    ///
    /// Called by the kernel only, for the fprobe of a `ReturnGroup<H>`.
    unsafe extern "C" fn entered(
        fprobe: *mut extra::fprobe,
        _site: c_ulong,
        _caller: c_ulong,
        regs: *mut extra::ftrace_regs,
        data: *mut c_void,
    ) -> c_int {
        // SAFETY: The kernel calls for an fprobe that is registered, or was a moment ago, with
        // registers that do not change meanwhile, and with preemption disabled.
        let (this, regs, here) = unsafe {
            let regs = &*regs.cast::<FunctionRegs>();
            (Self::of(fprobe), regs, OnCpu::new())
        };
        let server = this.server();
        let data = data.cast::<u64>();
        // SAFETY: The kernel has reserved the words that were asked for, of which the first is
        // not the handler's.
        let kept = unsafe {
            data.write(server.tag);
            slice::from_raw_parts_mut(data.add(1), server.words)
        };
        let place = &[0; 2];
        server.handler.entry(Entry { regs, place }, kept, &here);
        0
    }

    /// Called by the kernel when a function returns; runs the stage `STAGE` first.
    ///
    /// # Safety
    ///
    /// As for [`entered`](Self::entered).
    unsafe extern "C" fn returned<const STAGE: u8>(
        fprobe: *mut extra::fprobe,
        site: c_ulong,
        _caller: c_ulong,
        regs: *mut extra::ftrace_regs,
        data: *mut c_void,
    ) {
        // SAFETY: As in `entered`.
        let (this, regs, here) = unsafe {
            let regs = &*regs.cast::<FunctionRegs>();
            (Self::of(fprobe), regs, OnCpu::new())
        };
        let server = this.server();
        // Neither needs to be there, if another fprobe had this address when the function began.
        let Some(slot) = this.table.find(site as u64) else {
            return;
        };
        let data = match server.words {
            0 => &[],
            words => {
                let data = data.cast::<u64>();
                // SAFETY: If there is data there is a word of it; if it is the tag, the words are
                // those that `entered` was given.
                unsafe {
                    if data.is_null() || data.read() != server.tag {
                        return;
                    }
                    slice::from_raw_parts(data.add(1), words)
                }
            }
        };
        if let Some(hits) = slot.hits {
            // SAFETY: The counters exist as long as the group.
            unsafe { hits.increment(&here) };
        }
        let place = &slot.place;
        let exit = Exit { regs, place, data };
        match server.handler.run::<STAGE>(exit, &here) {
            Next::Done => {}
            Next::Stage(_) if STAGE == SHORT => serve_guarded(server, exit, &here),
            Next::Stage(_) => serve(server, exit, &here),
        }
    }

    /// Returns the callback that begins with the stage that the handler names, or with one that
    /// serves as well.
    fn callback(&self) -> ExitCallback {
        match self.server().handler.first() {
            BARE => Self::returned::<BARE>,
            WORD => Self::returned::<WORD>,
            DURATION => Self::returned::<DURATION>,
            WORD_AND_DURATION => Self::returned::<WORD_AND_DURATION>,
            STACK => Self::returned::<STACK>,
            _ => Self::returned::<SHORT>,
        }
    }

    /// Makes the kernel call what begins with the stage that the handler names now.
    ///
    /// Context: process.
    pub(super) fn update_callback(&self) {
        let at = self.fprobe.get().cast::<c_void>();
        let at = at.wrapping_byte_add(extra::FERROPROBE_FPROBE_EXIT as usize);
        // SAFETY: It is an aligned word of the fprobe, which nothing else changes while it is
        // registered, and which the kernel reads once for each hit.
        let word = unsafe { AtomicPtr::from_ptr(at.cast::<*mut c_void>()) };
        word.store(self.callback() as *mut c_void, Ordering::Relaxed);
    }
}

/// Serves a hit that a fast stage leaves.
#[inline(never)]
fn serve<H: ReturnHandler>(server: &ReturnServer<H>, exit: Exit<'_>, here: &OnCpu) {
    match server.handler.run::<SHORT>(exit, here) {
        Next::Done => {}
        Next::Stage(_) => serve_guarded(server, exit, here),
    }
}

/// Serves a hit, whatever is unusual about it. A hit in the middle of that, in the same context,
/// is missed.
#[inline(never)]
fn serve_guarded<H: ReturnHandler>(server: &ReturnServer<H>, exit: Exit<'_>, here: &OnCpu) {
    let Some(_turn) = server.serving.begin(here) else {
        return server.handler.count_missed(here);
    };
    // The last stage: nothing comes after it.
    server.handler.run::<SLOW>(exit, here);
}
