// SPDX-License-Identifier: GPL-2.0

//! The stack of the code that a probe has hit.
//!
//! C header: [`include/linux/stacktrace.h`](srctree/include/linux/stacktrace.h)

use super::{
    arch, bindings as extra, calls,
    context::EntryWay,
    functions,
    regs::Regs,
    symbol::{self, Symbol},
};
use core::{ffi::c_void, marker::PhantomData, ptr};

/// Number of bytes of a frame's address.
const FRAME_SIZE: usize = 8;

/// Largest distance of neighbouring functions, in bytes.
const MOST_BETWEEN: u64 = 1 << 12;

/// A function of the kernel or of a module.
#[derive(Clone, Copy, Default)]
pub struct StackFunction {
    address: u64,
    size: u64,
}

impl StackFunction {
    /// Returns the function that contains `address`; an empty one if there is none.
    ///
    /// Context: process.
    pub fn at(address: u64) -> Self {
        Symbol::extent(address).map_or_else(Self::default, |(address, size)| Self { address, size })
    }

    /// Returns the function that contains `address`, extended to the one that contains `other`, if
    /// that is near.
    ///
    /// Context: process.
    pub fn with_neighbour(address: u64, other: u64) -> Self {
        let (own, other) = (Self::at(address), Self::at(other));
        let end = |function: Self| function.address.wrapping_add(function.size);
        let start = own.address.min(other.address);
        let size = end(own).max(end(other)).wrapping_sub(start);
        match size {
            ..=MOST_BETWEEN => Self {
                address: start,
                size,
            },
            _ => own,
        }
    }

    /// Returns the function of a kprobe at `address`; an empty one if stacks of kprobes are
    /// followed without it.
    ///
    /// Context: process.
    pub fn of_probe(address: u64) -> Self {
        if cfg!(CONFIG_UNWINDER_ORC) {
            Self::default()
        } else {
            Self::at(address)
        }
    }
}

/// Where a stack begins. The first frame is the probed code itself.
#[derive(Clone, Copy)]
pub enum StackOrigin<'a> {
    /// A kprobe: its registers, how it was entered, and its function.
    Probe(&'a Regs, EntryWay, StackFunction),
    /// A kretprobe's registers: the first frame is the caller of the function.
    Return(&'a Regs),
    /// The entry of a function.
    Function(functions::Entry<'a>),
    /// A function's return: the first frame is the caller.
    Exit(functions::Exit<'a>),
    /// No code of the kernel.
    Nothing,
    /// The caller of this module, or of the given function, which calls the module.
    Caller(StackFunction),
}

/// The result of [`save`].
#[derive(Clone, Copy)]
pub struct SavedFrames {
    /// The number of frames.
    pub count: usize,
    /// Whether there were more frames than room.
    pub is_cut: bool,
}

/// The destination of addresses: words, or bytes of any alignment.
///
/// # Invariants
///
/// At `to` there is room for `room` words, which this value has borrowed.
pub struct FrameRoom<'a> {
    to: *mut c_void,
    room: u32,
    _borrowed: PhantomData<&'a mut [u8]>,
}

impl<'a> From<&'a mut [u8]> for FrameRoom<'a> {
    #[inline(always)]
    fn from(out: &'a mut [u8]) -> Self {
        // INVARIANT: `out` has that many words.
        Self {
            to: out.as_mut_ptr().cast(),
            // At most a page.
            room: u32::try_from(out.len() / FRAME_SIZE).unwrap_or(0),
            _borrowed: PhantomData,
        }
    }
}

impl<'a, const WORDS: usize> From<&'a mut [u64; WORDS]> for FrameRoom<'a> {
    #[inline(always)]
    fn from(out: &'a mut [u64; WORDS]) -> Self {
        // INVARIANT: As above.
        Self {
            to: out.as_mut_ptr().cast(),
            room: u32::try_from(WORDS).unwrap_or(0),
            _borrowed: PhantomData,
        }
    }
}

/// Writes the addresses of the frames to `out`, the innermost first; no more than fit.
///
/// Context: any, with preemption disabled, on the stack of the handler that was given
/// `origin`.
#[inline(always)]
pub fn save<'a>(origin: StackOrigin<'_>, out: impl Into<FrameRoom<'a>>) -> SavedFrames {
    let FrameRoom { to, room, .. } = out.into();
    // SAFETY: All functions write `room` words at most, of any alignment, for which there is room
    // by the type invariant. The registers are valid, and belong to the code that this handler has
    // interrupted.
    let count = unsafe {
        match origin {
            StackOrigin::Nothing => 0,
            StackOrigin::Probe(regs, entry, function) => extra::ferroprobe_stack_of_probe(
                to,
                room,
                ptr::from_ref(regs).cast(),
                arch::probed_address(regs.instruction_pointer(), entry),
                function.address,
                function.size,
            ),
            StackOrigin::Return(regs) => {
                extra::ferroprobe_stack_of_return(to, room, ptr::from_ref(regs).cast())
            }
            StackOrigin::Function(entry) => {
                extra::ferroprobe_stack_of_entry(to, room, entry.as_ptr(), entry.address())
            }
            StackOrigin::Exit(exit) => extra::ferroprobe_stack_of_exit(to, room, exit.as_ptr()),
            StackOrigin::Caller(function) => {
                extra::ferroprobe_stack_here(to, room, function.address, function.size)
            }
        }
    };
    SavedFrames {
        // CAST: Lossless.
        count: (count & !extra::FERROPROBE_STACK_CUT) as usize,
        is_cut: count & extra::FERROPROBE_STACK_CUT != 0,
    }
}

/// Writes the user-space frames of the current task to `out`, the innermost first: as far as frame
/// pointers lead, memory can be read without sleeping, and there is room. Kernel threads have none.
/// If the probed code is an NMI, the frames may be wrong: it may have come before the task's
/// registers were saved.
///
/// Context: any.
pub fn save_user<'a>(out: impl Into<FrameRoom<'a>>) {
    let FrameRoom { to, room, .. } = out.into();
    // SAFETY: The function writes `room` words at most, of any alignment, for which there is room
    // by the type invariant.
    unsafe { extra::ferroprobe_stack_of_user(to, room) };
}

/// Looks up what is needed to follow stacks with functions that return probes follow. Until then
/// the caller of such a function may be missing.
///
/// Context: process, may sleep.
pub fn prepare() {
    let address = |name| symbol::lookup(name).unwrap_or(0);
    let symbols = extra::ferroprobe_stack_symbols {
        trampoline: address(arch::RETURN_TRAMPOLINE),
        graph_return: address(c"return_to_handler"),
        text: address(c"_stext"),
        text_end: address(c"_etext"),
        start: address(c"_sinittext"),
        start_end: address(c"_einittext"),
        modules: address(c"modules"),
    };
    calls::ferroprobe_stack_learn(symbols);
}

/// Forgets what was learned about the code of modules. To be called when one comes or goes: before
/// its code runs, and after it has run.
///
/// Context: any.
pub fn forget_modules() {
    calls::ferroprobe_stack_forget();
}
