// SPDX-License-Identifier: GPL-2.0

//! Tracepoints: hooks that the authors of kernel code have placed there, with arguments.
//!
//! ftrace's `t:` events put an fprobe on the stub of a tracepoint. Here the probe itself is
//! registered with the tracepoint, which makes a hit nine times cheaper. The kernel calls it with
//! preemption enabled, and it disables preemption. So a hit in the middle of another one finds
//! preemption disabled, and is left to the last stage, which alone checks for nested hits.
//!
//! Probes in a module are registered only while its tracepoints are listed here, and removed before
//! it is unloaded.
//!
//! C header: [`include/linux/tracepoint.h`](srctree/include/linux/tracepoint.h)

mod handler;
mod link;
mod probes;
mod registration;
pub mod skipped;
#[cfg_attr(not(CONFIG_CFI), path = "tracepoint/no_stub.rs")]
mod stub;
pub mod syscall;

pub use handler::{Any, Listener, Only, PointArguments, Use, MAX_ARGUMENTS};
pub use registration::PointRegistration;

use super::{
    bindings as extra, calls, context::EntryWay, rcu::synchronize_hotplug, serving::Serving,
    stack::StackFunction,
};
use core::{iter, marker::PhantomPinned, pin::Pin, ptr, sync::atomic::Ordering};
use kernel::{
    alloc::KVVec,
    bindings, container_of,
    error::to_result,
    ffi::{c_char, c_int, c_ulong, c_void},
    new_mutex,
    prelude::*,
    str::CString,
    sync::{Arc, Mutex},
    types::Opaque,
};
use link::PointLink;
use stub::{IfTyped, Stubs};

/// How the CPU enters the handler of a tracepoint.
pub const WAY: EntryWay = match stub::IS_TYPED {
    true => EntryWay::Call,
    false => EntryWay::Tracepoint,
};

/// Why tracepoints cannot be probed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Unsupported {
    /// The kernel has no tracepoints.
    None,
    /// The kernel checks the type of indirectly called functions (CFI), and has no ftrace, which
    /// would report the stubs.
    Cfi,
}

/// Checks whether the kernel's tracepoints can be probed.
///
/// # Errors
///
/// Why they cannot.
pub fn support() -> Result<(), Unsupported> {
    match calls::ferroprobe_tracepoints_supported() {
        0 => Ok(()),
        error if error == ENOENT.to_errno() => Err(Unsupported::None),
        _ => Err(Unsupported::Cfi),
    }
}

/// Waits until no probe runs that was removed before: of any tracepoint if `faultable`, otherwise
/// of those whose probes cannot sleep. With `faultable` it also waits for other tracers' probes,
/// which may sleep as long as a user likes, so the caller must hold no lock.
///
/// Context: process, may sleep.
fn synchronize(faultable: bool) {
    calls::ferroprobe_tracepoints_synchronize(faultable);
    // The grace periods of SRCU do not order CPUs that RCU does not watch, either.
    synchronize_hotplug();
}

/// Waits, at most half a second, until no probe of a faultable tracepoint runs that was removed
/// before. Returns whether that is so.
///
/// Context: process, may sleep.
pub fn wait_for_syscall_probes() -> bool {
    let have_ended = calls::ferroprobe_wait_for_faultable_probes();
    if have_ended {
        synchronize_hotplug();
    }
    have_ended
}

/// A module with tracepoints.
struct Module {
    module: *mut bindings::module,
    /// The number of modules loaded before it, which distinguishes it from a later one at the same
    /// address.
    number: u64,
    name: CString,
}

/// A tracepoint of the kernel, or of a module that was loaded when it was looked up.
pub struct Tracepoint {
    point: *mut bindings::tracepoint,
    /// Number and name of its module.
    module: Option<(u64, CString)>,
    stub: u64,
    iterator: u64,
}

impl Tracepoint {
    /// Returns the address of the stub: the function, named after the tracepoint with a prefix,
    /// that has the type of its probes.
    pub fn stub(&self) -> u64 {
        self.stub
    }

    /// Returns the address of the kernel's function that calls the probes if there are several.
    pub fn iterator(&self) -> u64 {
        self.iterator
    }

    /// Returns the code between the tracepoint's caller and a probe, for stacks.
    ///
    /// Context: process.
    pub fn callers(&self) -> StackFunction {
        match stub::IS_TYPED {
            // The stub is registered; the iterator calls it if there are several probes.
            true => StackFunction::with_neighbour(self.stub, self.iterator),
            false => StackFunction::at(self.iterator),
        }
    }

    /// Returns whether hits can be reported. If the kernel checks the types of probes, ftrace must
    /// report the stub.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub fn is_reported(&self) -> Result<bool> {
        stub::is_reported(self.stub)
    }

    /// Returns the name of its module.
    pub fn module(&self) -> Option<&[u8]> {
        self.module.as_ref().map(|(_, name)| name.to_bytes())
    }
}

/// The tracepoints of the kernel and its modules, and their probes.
///
/// # Invariants
///
/// `block` is registered with the kernel, or its registration failed.
#[pin_data(PinnedDrop)]
pub struct Tracepoints {
    #[pin]
    block: Opaque<bindings::notifier_block>,
    #[pin]
    state: Mutex<PointsState>,
    /// The contexts in which each CPU serves a hit.
    serving: Serving,
    /// The reported stubs, if the kernel checks the types of probes.
    stubs: IfTyped<Arc<Stubs>>,
    #[pin]
    _pinned: PhantomPinned,
}

/// # Invariants
///
/// The modules are loaded, and their unload notification has not ended. The links belong to armed
/// registrations in these modules, which have not been dropped.
struct PointsState {
    modules: KVVec<Module>,
    armed: KVVec<*const PointLink>,
    /// The number of modules loaded so far.
    number: u64,
}

// SAFETY: The kernel locks what it changes in the block. The pointers of the state are used
// with its lock held only.
unsafe impl Sync for Tracepoints {}
// SAFETY: A block can be unregistered by any thread; the pointers belong to no thread.
unsafe impl Send for Tracepoints {}

/// An argument of [`Tracepoints::each_raw`]'s callback.
struct Visited<'a> {
    point: *mut bindings::tracepoint,
    name: &'a CStr,
    stub: u64,
    iterator: u64,
    module: Option<&'a Module>,
}

impl Tracepoints {
    /// Starts to track the tracepoints of modules.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub fn new() -> Result<Arc<Self>> {
        let serving = Serving::new()?;
        let stubs = IfTyped::new(Stubs::of_stubs)?;
        let block = bindings::notifier_block {
            notifier_call: Some(Self::notified),
            next: ptr::null_mut(),
            priority: 0,
        };
        let this = Arc::pin_init(
            pin_init!(Self {
                block: Opaque::new(block),
                state <- new_mutex!(PointsState {
                    modules: KVVec::new(),
                    armed: KVVec::new(),
                    number: 0,
                }),
                serving,
                stubs,
                _pinned: PhantomPinned,
            }),
            GFP_KERNEL,
        )?;
        // SAFETY: The block is pinned, and is unregistered before it is freed.
        to_result(unsafe { extra::ferroprobe_watch_tracepoints(this.block.get()) })?;
        // INVARIANT: Registered above.
        Ok(this)
    }

    /// Delays changes of ftrace's filter until [`Tracepoints::apply`] or
    /// [`Tracepoints::apply_after`], which make them together.
    pub fn hold(&self) {
        if let Some(stubs) = self.stubs.get() {
            stubs.hold();
        }
    }

    /// Undoes [`Tracepoints::hold`].
    ///
    /// # Errors
    ///
    /// As for [`Functions::apply`](super::functions::Functions::apply).
    ///
    /// Context: process, may sleep.
    pub fn apply(&self) -> Result {
        self.stubs.get().map_or(Ok(()), Stubs::apply)
    }

    /// Undoes [`Tracepoints::hold`]. If `so_far` is an error, or the changes fail, calls `undo`,
    /// which disarms and arms again.
    ///
    /// # Errors
    ///
    /// As for [`Functions::apply_after`](super::functions::Functions::apply_after).
    ///
    /// Context: process, may sleep.
    pub fn apply_after(&self, so_far: Result, undo: impl Fn()) -> Result {
        match self.stubs.get() {
            Some(stubs) => Stubs::apply_after(stubs, so_far, undo),
            None => so_far,
        }
    }

    /// Returns the tracepoint `name`; `None` if neither the kernel nor a loaded module has
    /// one.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub fn find(&self, name: &[u8]) -> Result<Option<Tracepoint>> {
        let mut found = None;
        self.each_raw(|visited| {
            if found.is_none() && visited.name.to_bytes() == name {
                let copy = |module: &Module| Ok((module.number, CString::try_from(&*module.name)?));
                let module = visited.module.map(copy).transpose();
                found = Some(module.map(|module| Tracepoint {
                    point: visited.point,
                    module,
                    stub: visited.stub,
                    iterator: visited.iterator,
                }));
            }
        });
        found.transpose()
    }

    /// Calls `visit` with the name of each tracepoint and of its module.
    ///
    /// Context: process, may sleep.
    pub fn each(&self, mut visit: impl FnMut(&CStr, Option<&CStr>)) {
        self.each_raw(|visited| visit(visited.name, visited.module.map(|module| &*module.name)));
    }

    /// Calls `visit` with each tracepoint.
    fn each_raw<F: FnMut(Visited<'_>)>(&self, visit: F) {
        /// The data of `visit_one`.
        struct Each<'a, F> {
            visit: F,
            module: Option<&'a Module>,
        }

        /// # Safety
        ///
        /// `data` must be a valid pointer to an `Each<F>`, which nothing else uses, and
        /// `name` a string.
        unsafe extern "C" fn visit_one<F: FnMut(Visited<'_>)>(
            point: *mut bindings::tracepoint,
            name: *const c_char,
            stub: u64,
            iterator: u64,
            data: *mut c_void,
        ) {
            // SAFETY: By the requirements of this function.
            let (each, name) =
                unsafe { (&mut *data.cast::<Each<'_, F>>(), CStr::from_char_ptr(name)) };
            (each.visit)(Visited {
                point,
                name,
                stub,
                iterator,
                module: each.module,
            });
        }

        let state = self.state.lock();
        let mut each = Each {
            visit,
            module: None,
        };
        let modules = state.modules.iter().map(Some);
        for module in Iterator::chain(iter::once(None), modules) {
            each.module = module;
            let pointer = module.map_or(ptr::null_mut(), |module| module.module);
            let data = (&raw mut each).cast();
            // SAFETY: The data is as `visit_one` requires. By the invariant of the state the
            // module exists while it is locked.
            unsafe { extra::ferroprobe_each_tracepoint(pointer, Some(visit_one::<F>), data) };
        }
    }

    /// # Safety
    ///
    /// Called by the kernel only, for the block of a `Tracepoints`.
    unsafe extern "C" fn notified(
        block: *mut bindings::notifier_block,
        action: c_ulong,
        data: *mut c_void,
    ) -> c_int {
        const COMING: c_ulong = bindings::module_state_MODULE_STATE_COMING as c_ulong;
        const GOING: c_ulong = bindings::module_state_MODULE_STATE_GOING as c_ulong;
        // SAFETY: The kernel calls this with the block registered in `new`, which is part
        // of a `Tracepoints` that is valid until it is unregistered, and with a notification
        // of a module, whose name is a string.
        let (this, module, name) = unsafe {
            let module = extra::ferroprobe_tracepoints_module(data);
            (
                &*container_of!(Opaque::cast_from(block), Self, block),
                module,
                CStr::from_char_ptr((&raw const (*module).name).cast()),
            )
        };
        match action {
            COMING => this.coming(module, name),
            GOING => this.going(module),
            _ => {}
        }
        // CAST: A small constant.
        bindings::NOTIFY_DONE as c_int
    }

    fn coming(&self, module: *mut bindings::module, name: &CStr) {
        let mut state = self.state.lock();
        let number = state.number;
        state.number = number.wrapping_add(1);
        // Without memory, the module's tracepoints are not known.
        if let Ok(name) = CString::try_from(name) {
            let module = Module {
                module,
                number,
                name,
            };
            // INVARIANT: The kernel has just loaded it.
            let _ = state.modules.push(module, GFP_KERNEL);
        }
    }

    /// Disarms all probes in `module`.
    fn going(&self, module: *mut bindings::module) {
        let mut state = self.state.lock();
        let PointsState { modules, armed, .. } = &mut *state;
        let Some(gone) = modules.iter().position(|known| known.module == module) else {
            return;
        };
        let number = modules.get(gone).map(|module| module.number);
        let take_back = |link: &*const PointLink| {
            // SAFETY: By the invariant of the state the link is of a registration that has
            // not been dropped.
            let link = unsafe { &**link };
            let is_there = link.module == number;
            if is_there {
                link.unregister();
                link.gone.store(true, Ordering::Relaxed);
            }
            is_there
        };
        while remove_first(armed, take_back) {}
        let _ = modules.remove(gone);
    }
}

#[pinned_drop]
impl PinnedDrop for Tracepoints {
    fn drop(self: Pin<&mut Self>) {
        // SAFETY: By the type invariant the block is registered, or unknown to the kernel,
        // which then returns an error. The call waits until no notification runs.
        unsafe { extra::ferroprobe_unwatch_tracepoints(self.block.get()) };
    }
}

/// Removes the first element that `which` selects; returns whether there was one.
fn remove_first<T>(all: &mut KVVec<T>, which: impl FnMut(&T) -> bool) -> bool {
    let first = all.iter().position(which);
    first.is_some_and(|index| all.remove(index).is_ok())
}
