// SPDX-License-Identifier: GPL-2.0

//! Entries and returns of functions, as ftrace reports them.
//!
//! The entries of all functions share one registration with ftrace, whose filter contains the armed
//! functions: arming a thousand of them takes one pass over the kernel's text. The callback finds
//! the handlers of a function in a hash table, read without a lock: mostly one slot. Returns are
//! reported by the kernel's fprobes, one for each handler and owner of functions.
//!
//! A fast stage reads memory after it has reserved room in the ring: a read that faults calls
//! functions that may be traced, whose hits find the ring in use and go to the slow stage. The slow
//! stage sets a flag of CPU and context ([`Serving`]): a hit while it is set is counted as missed.
//!
//! C header: [`include/linux/ftrace.h`](srctree/include/linux/ftrace.h)

mod counters;
mod entry;
mod exit;
mod group;
mod link;
mod probed;
mod registration;
mod return_group;
mod return_table;
mod returns;
mod serve;
mod table;

pub use entry::{Entry, Function};
pub use exit::{Exit, FunctionReturn, ReturnHandler};
pub use group::SitesOwner;
pub use link::Site;
pub use probed::ProbedFunctions;
pub use registration::FunctionRegistration;
pub use returns::{are_returns_supported, ReturnRegistration, MAX_RETURN_WORDS};

use super::{bindings as extra, calls, handler::Handler, rcu::RcuCell, serving::Serving};
use core::{marker::PhantomPinned, pin::Pin};
use kernel::{
    alloc::{AllocError, KVVec},
    error::to_result,
    ffi::c_ulong,
    new_mutex,
    prelude::*,
    sync::{Arc, Mutex},
};
use table::SiteTable;

/// Returns whether function entries can be probed: whether the kernel has ftrace.
pub fn are_supported() -> bool {
    calls::ferroprobe_functions_supported() == 0
}

/// Must be dropped last, after all functions were probed.
pub struct FunctionRemains(());

impl FunctionRemains {
    /// Makes the value that the module drops last.
    pub fn begin() -> Self {
        Self(())
    }
}

impl Drop for FunctionRemains {
    /// Does not return if ftrace itself has failed, because it may still call the module.
    fn drop(&mut self) {
        calls::ferroprobe_functions_end();
    }
}

/// Returns whether ftrace patches the instructions at all `sites`.
///
/// Only ftrace knows, and exports no query, but it refuses a filter with a function that it does
/// not report. A filter takes 40,000 instructions, plus some thousand for each function.
///
/// # Errors
///
/// [`AllocError`] when there is no memory.
///
/// Context: process, may sleep.
pub fn are_sites(sites: &[Site]) -> Result<bool, AllocError> {
    let mut addresses = KVVec::with_capacity(sites.len(), GFP_KERNEL)?;
    for site in sites {
        addresses.push(site.site as c_ulong, GFP_KERNEL)?;
    }
    // CAST: There are fewer functions than that.
    let count = addresses.len() as u32;
    // SAFETY: The pointer is to that many words.
    let result = unsafe { extra::ferroprobe_functions_know(addresses.as_mut_ptr(), count) };
    if result == ENOMEM.to_errno() {
        return Err(AllocError);
    }
    Ok(result == 0)
}

/// The registrations with ftrace.
#[derive(Clone, Copy)]
#[repr(u32)]
enum Ops {
    /// For function entries.
    Entries,
    /// For stubs, the functions with the types of tracepoints.
    #[cfg(CONFIG_CFI)]
    Stubs,
}

/// The functions whose entries are probed; one value for each [`Ops`].
///
/// # Invariants
///
/// If the callback is registered, it has a pointer to this pinned value, and a reference to it.
#[pin_data]
pub struct Functions<H: Handler<Function>> {
    ops: Ops,
    table: RcuCell<SiteTable<H>>,
    serving: Arc<Serving>,
    #[pin]
    state: Mutex<FilterState<H>>,
    #[pin]
    _pinned: PhantomPinned,
}

/// The state of ftrace's filter.
struct FilterState<H: Handler<Function>> {
    /// The callback's reference, if it is registered.
    registered: Option<Arc<Functions<H>>>,
    /// Number of sites that will be in the filter after the pending changes.
    sites: usize,
    /// Sites to be added.
    add: KVVec<c_ulong>,
    /// Sites to be removed.
    remove: KVVec<c_ulong>,
    /// The number of callers of [`Functions::hold`].
    held: usize,
    /// Whether a handler was disarmed, and its hits have not been waited for since.
    unsettled: bool,
}

impl<H: Handler<Function>> Functions<H> {
    /// Makes an empty table.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub fn new() -> Result<Arc<Self>> {
        Self::with(Ops::Entries)
    }

    /// Makes an empty table of functions that have the types of tracepoints.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    #[cfg(CONFIG_CFI)]
    pub(super) fn of_stubs() -> Result<Arc<Self>> {
        Self::with(Ops::Stubs)
    }

    fn with(ops: Ops) -> Result<Arc<Self>> {
        let table = Arc::new(SiteTable::with_room(table::LEAST)?, GFP_KERNEL)?;
        let serving = Arc::new(Serving::new()?, GFP_KERNEL)?;
        Arc::pin_init(
            pin_init!(Self {
                ops,
                table: RcuCell::new(table),
                serving,
                state <- new_mutex!(FilterState {
                    registered: None,
                    sites: 0,
                    add: KVVec::new(),
                    remove: KVVec::new(),
                    held: 0,
                    unsettled: false,
                }),
                _pinned: PhantomPinned,
            }),
            GFP_KERNEL,
        )
    }

    /// Makes a handler of function returns. On a CPU, its hits and the hits of
    /// function entries exclude each other in the same context, see [`ReturnRegistration::with`].
    ///
    /// # Errors
    ///
    /// `E2BIG` for too many words; `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub fn returns<R: ReturnHandler>(
        &self,
        words: usize,
        handler: impl Init<R>,
    ) -> Result<Pin<KBox<ReturnRegistration<R>>>> {
        ReturnRegistration::with(self.serving.clone(), words, handler)
    }

    /// Delays changes until [`Functions::apply`], which makes them in one pass.
    pub fn hold(&self) {
        let mut state = self.state.lock();
        state.held = state.held.saturating_add(1);
    }

    /// Undoes [`Functions::hold`], and makes the changes.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EBUSY` if ftrace is turned off (`kernel.ftrace_enabled`); other errors of
    /// ftrace. Then nothing was added: the caller must disarm what it has armed, and call
    /// this again.
    ///
    /// Context: process, may sleep.
    pub fn apply(this: &Arc<Self>) -> Result {
        let mut state = this.state.lock();
        state.held = state.held.saturating_sub(1);
        Self::commit(this, &mut state)
    }

    /// Undoes [`Functions::hold`], and makes the changes. If `so_far` is an error, or the changes
    /// fail, calls `undo`, which disarms and arms again.
    ///
    /// # Errors
    ///
    /// The error so far, and the errors of [`Functions::apply`].
    ///
    /// Context: process, may sleep.
    pub fn apply_after(this: &Arc<Self>, so_far: Result, undo: impl Fn()) -> Result {
        let result = match so_far {
            Ok(()) => Self::apply(this),
            Err(error) => {
                undo();
                // Functions that were armed before can be armed again.
                let _ = Self::apply(this);
                return Err(error);
            }
        };
        if result.is_err() {
            this.hold();
            undo();
            // As above.
            let _ = Self::apply(this);
        }
        result
    }

    /// Makes the changes, unless they are delayed.
    fn commit(this: &Arc<Self>, state: &mut FilterState<H>) -> Result {
        if state.held > 0 {
            return Ok(());
        }
        let mut result = Ok(());
        if !state.add.is_empty() {
            result = Self::add(this, state);
        }
        if !state.remove.is_empty() {
            Self::remove(this.ops, state);
        }
        result
    }

    fn add(this: &Arc<Self>, state: &mut FilterState<H>) -> Result {
        filter(this.ops, &mut state.add, false)?;
        if state.registered.is_none() {
            let data: *const Self = &raw const **this;
            // SAFETY: The callback has the type that ftrace expects. The value exists until it
            // is unregistered: a reference to it is kept until then.
            let registered = to_result(unsafe {
                extra::ferroprobe_functions_register(
                    this.ops as u32,
                    Some(Self::entered),
                    data.cast_mut().cast(),
                )
            });
            if let Err(error) = registered {
                calls::ferroprobe_functions_forget(this.ops as u32);
                return Err(error);
            }
            // INVARIANT: The reference is the callback's.
            state.registered = Some(this.clone());
        }
        state.add.clear();
        Ok(())
    }

    fn remove(ops: Ops, state: &mut FilterState<H>) {
        if state.sites == 0 {
            // Without a filter, ftrace would report every function. If ftrace itself fails, it may
            // still call; then it finds no handler.
            if state.registered.is_some() && calls::ferroprobe_functions_unregister(ops as u32) == 0
            {
                state.registered = None;
            }
        } else if filter(ops, &mut state.remove, true).is_err() {
            // On failure, for lack of memory or because a module is gone, the site is still
            // reported, and has no handler.
            for site in state.remove.iter_mut() {
                let _ = filter(ops, core::slice::from_mut(site), true);
            }
        }
        state.remove.clear();
    }
}

/// Adds sites to ftrace's filter, or removes them: all or none.
fn filter(ops: Ops, sites: &mut [c_ulong], remove: bool) -> Result {
    // CAST: There are fewer functions than that.
    let count = sites.len() as u32;
    // SAFETY: The pointer is to that many words.
    to_result(unsafe {
        extra::ferroprobe_functions_filter(ops as u32, sites.as_mut_ptr(), count, remove)
    })
}

impl<H: Handler<Function>> FilterState<H> {
    /// Notes that `site` has its first handler; there is room.
    fn add_site(&mut self, site: u64) {
        self.sites = self.sites.saturating_add(1);
        if !forget(&mut self.remove, site) {
            // There is room.
            let _ = self.add.push_within_capacity(site as c_ulong);
        }
    }

    /// Notes that the last handler of `site` is gone.
    fn remove_site(&mut self, site: u64) {
        self.sites = self.sites.saturating_sub(1);
        if !forget(&mut self.add, site) {
            // As above.
            let _ = self.remove.push_within_capacity(site as c_ulong);
        }
    }
}

/// Removes `site` from a list, and returns whether it was there.
fn forget(sites: &mut KVVec<c_ulong>, site: u64) -> bool {
    // Sites are usually removed in reverse order.
    match sites.iter().rposition(|&other| other as u64 == site) {
        Some(at) => sites.remove(at).is_ok(),
        None => false,
    }
}
