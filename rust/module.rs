// SPDX-License-Identifier: GPL-2.0

//! Loadable modules: whether a module is loaded, and notification of loading and
//! unloading.
//!
//! C header: [`include/linux/module.h`](srctree/include/linux/module.h)

use super::{bindings as extra, context::cond_resched, stack, symbol};
use core::{
    marker::{PhantomData, PhantomPinned},
    ops::Range,
    pin::Pin,
};
use kernel::{
    bindings, container_of,
    error::to_result,
    ffi::{c_int, c_uint, c_ulong, c_void},
    prelude::*,
    str::CString,
    types::Opaque,
};

/// Symbols of which every module has at least one, if the kernel keeps symbols of modules.
const OF_EVERY_MODULE: [&str; 3] = ["__this_module", "cleanup_module", "init_module"];

/// Returns whether the module `name` is loaded; also true while it is being loaded or
/// unloaded.
///
/// # Errors
///
/// `ENOMEM`; `EINVAL` if the name contains a NUL or is not UTF-8.
///
/// Context: process, may sleep.
pub fn is_loaded(name: &[u8]) -> Result<bool> {
    let name = core::str::from_utf8(name).map_err(|_| EINVAL)?;
    for symbol in OF_EVERY_MODULE {
        let symbol = CString::try_from_fmt(fmt!("{name}:{symbol}"))?;
        if symbol::lookup(&symbol).is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A function of a loaded module.
pub struct ModuleFunction<'a> {
    /// The module.
    pub module: &'a CStr,
    /// The name of the function.
    pub name: &'a CStr,
    /// Its address.
    pub address: u64,
    /// Whether it is in the module's init code.
    pub is_init: bool,
}

/// Number of symbols between two checks for rescheduling.
const MANY: c_uint = 512;

type ModuleName = extra::ferroprobe_module_name;

/// Calls `each` with every function of the loaded modules, or of the module `only`, including
/// modules that are being loaded but not this module, until it returns false. `modules` is the
/// address of the kernel's list of modules.
///
/// # Errors
///
/// `ENOENT` if the address is wrong, or if the kernel has no symbols of modules; `ENOMEM`.
///
/// Context: process, may sleep; `each` must not sleep. RCU waits for at most [`MANY`] calls of it.
pub fn each_function(
    modules: u64,
    only: Option<&[u8]>,
    mut each: impl FnMut(ModuleFunction<'_>) -> bool,
) -> Result {
    let mut each: &mut dyn FnMut(ModuleFunction<'_>) -> bool = &mut each;
    let names = match only {
        Some(name) => one(name)?,
        None => loaded(modules)?,
    };
    for name in &names {
        let mut from = 0;
        loop {
            // SAFETY: `visit` is called during the call only, with a pointer to `each`; the name
            // ends with a NUL.
            let done = unsafe {
                extra::ferroprobe_each_module_function(
                    modules as c_ulong,
                    name.text.as_ptr().cast(),
                    from,
                    MANY,
                    (&raw mut each).cast(),
                    Some(visit),
                )
            };
            to_result(done)?;
            cond_resched();
            match done {
                0 => break,
                1 => from = from.saturating_add(MANY),
                _ => return Ok(()),
            }
        }
    }
    Ok(())
}

/// Returns `name` as a list, if it can be the name of a module.
fn one(name: &[u8]) -> Result<KVVec<ModuleName>> {
    let mut names = KVVec::new();
    let mut only = ModuleName { text: [0; _] };
    let room = only.text.split_last_mut().map(|(_, room)| room);
    if let Some(room) = room.and_then(|room| room.get_mut(..name.len())) {
        for (to, from) in room.iter_mut().zip(name) {
            *to = *from;
        }
        names.push(only, GFP_KERNEL)?;
    }
    Ok(names)
}

/// Returns the names of the loaded modules.
fn loaded(modules: u64) -> Result<KVVec<ModuleName>> {
    let mut names = KVVec::new();
    loop {
        let room = names.len();
        // SAFETY: `names` has that room.
        let count = unsafe {
            extra::ferroprobe_module_names(modules as c_ulong, names.as_mut_ptr(), room as c_ulong)
        };
        // CAST: An errno, which is negative.
        let count = usize::try_from(count).map_err(|_| Error::from_errno(count as c_int))?;
        if count <= room {
            names.truncate(count);
            return Ok(names);
        }
        // Some more, because modules may be loaded meanwhile.
        let empty = ModuleName { text: [0; _] };
        names = KVVec::from_elem(empty, count.saturating_add(8), GFP_KERNEL)?;
    }
}

/// # Safety
///
/// Called by [`each_function`] only, which passes a pointer to its closure.
unsafe extern "C" fn visit(
    data: *mut c_void,
    function: *const extra::ferroprobe_module_function,
) -> bool {
    // SAFETY: By the function's contract; the module and its strings exist during the call.
    unsafe {
        let each = &mut *data.cast::<&mut dyn FnMut(ModuleFunction<'_>) -> bool>();
        let function = &*function;
        each(ModuleFunction {
            module: CStr::from_char_ptr(function.module.cast()),
            name: CStr::from_char_ptr(function.name.cast()),
            address: function.address as u64,
            is_init: function.is_init,
        })
    }
}

/// The memory of a module, valid for the lifetime.
///
/// # Invariants
///
/// The pointer is to a module that is in memory.
pub struct ModuleMemory<'a>(*mut bindings::module, PhantomData<&'a ()>);

impl ModuleMemory<'_> {
    /// Returns whether `address` is in the init code.
    pub fn is_init(&self, address: u64) -> bool {
        // SAFETY: By the type invariant.
        unsafe { extra::ferroprobe_in_init(self.0.cast(), address as c_ulong) }
    }

    /// Calls `each` with the address ranges of code and data. Init code and data are freed after
    /// the module's init function, and are included as long as they exist. All other ranges are
    /// included unless `only_init`.
    pub fn each(&self, only_init: bool, each: &mut dyn FnMut(Range<u64>)) {
        let mut memory = extra::ferroprobe_module_memory {
            start: 0,
            size: 0,
            is_init: false,
        };
        for nth in 0.. {
            // SAFETY: By the type invariant.
            if !unsafe { extra::ferroprobe_module_memory(self.0.cast(), nth, &raw mut memory) } {
                return;
            }
            if memory.size > 0 && (memory.is_init || !only_init) {
                let start = memory.start as u64;
                each(start..start.saturating_add(memory.size as u64));
            }
        }
    }
}

/// Callbacks for loading and unloading of modules.
pub trait OnModules: Send + Sync {
    /// Called when module `name` is in memory, before any of its code has run.
    ///
    /// Context: process, may sleep.
    fn coming(&self, name: &CStr, memory: &ModuleMemory<'_>);

    /// Called after the init function of module `name`. The init code is about to be freed, and the
    /// kernel has given up the kprobes in it.
    ///
    /// Context: process, may sleep.
    fn live(&self, name: &CStr, memory: &ModuleMemory<'_>);

    /// Called when the code of module `name` no longer runs, before it is freed.
    ///
    /// Context: process, may sleep.
    fn going(&self, name: &CStr, memory: &ModuleMemory<'_>);
}

/// A handler that the kernel calls until the registration is dropped.
///
/// # Invariants
///
/// `block` is registered with the kernel, or its registration failed.
#[pin_data(PinnedDrop)]
pub struct ModuleNotifier<T: OnModules> {
    #[pin]
    block: Opaque<bindings::notifier_block>,
    handler: T,
    #[pin]
    _pinned: PhantomPinned,
}

// SAFETY: The kernel locks what it changes in the block, and `T` may be shared.
unsafe impl<T: OnModules> Sync for ModuleNotifier<T> {}
// SAFETY: A block can be unregistered by any thread, and `T` may be sent.
unsafe impl<T: OnModules> Send for ModuleNotifier<T> {}

impl<T: OnModules> ModuleNotifier<T> {
    /// Registers `handler`. It is called after the kernel has updated its own symbols, probes and
    /// types for a module.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub fn new(handler: T) -> Result<Pin<KBox<Self>>> {
        let block = bindings::notifier_block {
            notifier_call: Some(Self::notified),
            next: core::ptr::null_mut(),
            priority: -1,
        };
        let this = KBox::pin_init(
            pin_init!(Self {
                block: Opaque::new(block),
                handler,
                _pinned: PhantomPinned,
            }),
            GFP_KERNEL,
        )?;
        // SAFETY: The block is pinned, and is unregistered before it is freed.
        to_result(unsafe { bindings::register_module_notifier(this.block.get()) })?;
        // INVARIANT: Registered above.
        Ok(this)
    }

    /// # Safety
    ///
    /// Called by the kernel only, for the block of a `Registration<T>`.
    unsafe extern "C" fn notified(
        block: *mut bindings::notifier_block,
        action: c_ulong,
        data: *mut c_void,
    ) -> c_int {
        // SAFETY: The kernel calls this with the block registered in `new`, which is part
        // of a `Registration<T>` that is valid until it is unregistered.
        let this = unsafe { &*container_of!(Opaque::cast_from(block), Self, block) };
        let module: *mut bindings::module = data.cast();
        // SAFETY: The kernel calls this with a module that stays in memory during the
        // call; its name is a string.
        let name = unsafe { CStr::from_char_ptr((&raw const (*module).name).cast()) };
        // INVARIANT: As above; it is gone when the call returns.
        let memory = ModuleMemory(module, PhantomData);
        const COMING: c_ulong = bindings::module_state_MODULE_STATE_COMING as c_ulong;
        const LIVE: c_ulong = bindings::module_state_MODULE_STATE_LIVE as c_ulong;
        const GOING: c_ulong = bindings::module_state_MODULE_STATE_GOING as c_ulong;
        if matches!(action, COMING | GOING) {
            stack::forget_modules();
        }
        match action {
            COMING => this.handler.coming(name, &memory),
            LIVE => this.handler.live(name, &memory),
            GOING => this.handler.going(name, &memory),
            _ => {}
        }
        // CAST: A small constant.
        bindings::NOTIFY_DONE as c_int
    }
}

#[pinned_drop]
impl<T: OnModules> PinnedDrop for ModuleNotifier<T> {
    fn drop(self: Pin<&mut Self>) {
        // SAFETY: By the type invariant the block is registered, or unknown to the
        // kernel, which then returns an error. The call waits until no notification runs.
        unsafe { bindings::unregister_module_notifier(self.block.get()) };
    }
}
