// SPDX-License-Identifier: GPL-2.0

//! Kprobes: code that runs when the CPU reaches an instruction.
//!
//! C header: [`include/linux/kprobes.h`](srctree/include/linux/kprobes.h)

use super::{
    arch, bindings as extra,
    context::EntryWay,
    handler::{HandlerByStage, Hits},
    nofault,
    probe_place::fill,
    registration::{self, KernelHit, KernelProbe, ProbeBuilder},
    regs::Regs,
    symbol, word,
};
use core::{
    mem,
    pin::Pin,
    sync::atomic::{AtomicU64, Ordering},
};
use kernel::{bindings, ffi::c_int, prelude::*, sync::rcu};

/// Kprobes as a [`KernelProbe`].
pub enum Kprobe {}

pub use super::probe_place::ProbePlace;

/// A registered kprobe.
pub type Registration<H> = registration::Registration<Kprobe, H>;

/// A hit, from which the handler can learn how it was entered.
#[derive(Clone, Copy)]
pub struct Way<'a>(KernelHit<'a, Kprobe>);

impl Way<'_> {
    /// Returns how the handler, which got `regs`, was entered.
    #[inline(always)]
    pub fn entry(self, regs: &Regs) -> EntryWay {
        match self.is_called() {
            true => EntryWay::Call,
            false => regs.trap_or_jump(),
        }
    }

    /// Returns how the handler was entered, in fewer instructions: reports a jump as a trap.
    #[inline(always)]
    pub fn entry_or_trap(self) -> EntryWay {
        match self.is_called() {
            true => EntryWay::Call,
            false => EntryWay::Trap,
        }
    }

    /// Returns whether ftrace calls the handler.
    #[inline(always)]
    fn is_called(self) -> bool {
        // SAFETY: By the invariant of `KernelHit` this is the probe of a registration whose handler
        // was called; its flags are constant while handlers can be called.
        let flags = unsafe { (*self.0.as_ptr()).flags };
        flags & extra::KPROBE_FLAG_FTRACE != 0
    }
}

/// The argument of a kprobe's handler.
#[derive(Clone, Copy)]
pub struct Probed<'a> {
    /// The registers.
    pub regs: &'a Regs,
    /// How the handler was entered.
    pub way: Way<'a>,
}

impl Hits for Kprobe {
    type Hit<'a> = Probed<'a>;
}

impl registration::sealed::Sealed for Kprobe {}

// SAFETY: These are the kernel's functions for kprobes. The structure is itself the kprobe
// that is registered, and the kernel calls `pre_handler` with the kprobe that was hit.
unsafe impl KernelProbe for Kprobe {
    type Probe = extra::kprobe;
    type Argument = extra::kprobe;
    type Data = ();
    type Call<'a> = Way<'a>;

    const REGISTER: unsafe extern "C" fn(*mut extra::kprobe) -> c_int = extra::register_kprobe;
    const UNREGISTER: unsafe extern "C" fn(*mut *mut extra::kprobe, c_int) =
        extra::unregister_kprobes;
    const CALLBACK: usize = mem::offset_of!(extra::kprobe, pre_handler);
    const KPROBE: usize = 0;

    #[inline(always)]
    fn probe(hit: KernelHit<'_, Self>) -> Option<*mut extra::kprobe> {
        Some(hit.as_ptr())
    }

    #[inline(always)]
    fn call(hit: KernelHit<'_, Self>, (): ()) -> Way<'_> {
        Way(hit)
    }

    #[inline(always)]
    fn hit<'a>(regs: &'a Regs, way: Way<'a>) -> Probed<'a> {
        Probed { regs, way }
    }
}

impl<H: HandlerByStage<Kprobe>> Registration<H> {
    /// Registers a probe, disabled: it counts and calls nothing until
    /// [`set_enabled`](Self::set_enabled).
    ///
    /// # Errors
    ///
    /// The errors of the kernel: `ENOENT` for a symbol that does not exist, `EILSEQ` for a
    /// location inside an instruction, `EINVAL` for a location that it does not allow;
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub fn new(place: ProbePlace<'_>, handler: impl Init<H>) -> Result<Pin<KBox<Self>>> {
        let name = place.name()?;
        let mut probe = pin_init::zeroed();
        fill(&mut probe, place, name.as_deref());
        // INVARIANT: Zeroed except for the location.
        let data = ();
        Self::register(ProbeBuilder { probe, data, name }, handler)
    }
}

/// Returns whether a probe armed at `address` is a breakpoint; true if that cannot be read.
///
/// Context: process.
pub fn is_breakpoint(address: u64) -> bool {
    let mut instruction = [0; 4];
    let read = nofault::read_kernel(address, &mut instruction);
    !read || arch::is_trap(instruction)
}

/// Maximum number of entries of the kernel's blacklist that are read: a limit for broken lists.
const MAX_BLACKLIST: usize = 100_000;

/// Returns whether `address` is on the kernel's blacklist of kprobes; `None` if the list cannot be
/// found.
///
/// The kernel exports no function for this, and shows the list to user space only. So the list is
/// walked by reads that may fault: an entry that disappears with its module ends the walk.
///
/// Context: process, may sleep.
pub fn is_blacklisted(address: u64) -> Option<bool> {
    let within = |from: &CStr, to: &CStr| {
        let limits = symbol::lookup(from).zip(symbol::lookup(to));
        limits.is_some_and(|(from, to)| (from..to).contains(&address))
    };
    if within(c"__entry_text_start", c"__entry_text_end") {
        return Some(true);
    }
    let head = symbol::lookup(c"kprobe_blacklist")?;
    let field = |entry: u64, offset: usize| {
        let mut value = [0; 8];
        let read = nofault::read_kernel(entry.wrapping_add(word(offset)), &mut value);
        read.then(|| u64::from_ne_bytes(value))
    };
    let next = mem::offset_of!(bindings::list_head, next);
    // The list is the first member of an entry.
    let mut entry = field(head, next)?;
    for _ in 0..MAX_BLACKLIST {
        if entry == head {
            return Some(false);
        }
        let start = field(
            entry,
            mem::offset_of!(extra::kprobe_blacklist_entry, start_addr),
        )?;
        let end = field(
            entry,
            mem::offset_of!(extra::kprobe_blacklist_entry, end_addr),
        )?;
        if (start..end).contains(&address) {
            return Some(true);
        }
        entry = field(entry, next)?;
    }
    None
}

/// Maximum number of kprobes in one list of the kernel's table: a limit for broken lists.
const MAX_LIST: usize = 100_000;

/// Returns whether any user's kprobe may be registered at `address`. `false` is certain, and much
/// cheaper than reading the text there.
///
/// The kernel keeps its probes in a hash table of 64 lists. If the table does not have the expected
/// form, or changes meanwhile, returns `true`.
///
/// Context: process, may sleep.
pub fn may_be_at(address: u64) -> bool {
    /// `KPROBE_HASH_BITS` of `kernel/kprobes.c`.
    const BITS: u32 = 6;
    /// `GOLDEN_RATIO_64` of `include/linux/hash.h`.
    const GOLDEN_RATIO: u64 = 0x61c8_8646_80b5_83eb;
    const HEAD_LEN: u64 = 8;
    /// The address of the table; 0 before it was looked up, 1 if there is none.
    static TABLE: AtomicU64 = AtomicU64::new(0);

    let mut table = TABLE.load(Ordering::Relaxed);
    if table == 0 {
        let whole = |at: &u64| {
            symbol::Symbol::extent(*at).is_some_and(|(_, size)| size == HEAD_LEN << BITS)
        };
        table = symbol::lookup(c"kprobe_table").filter(whole).unwrap_or(1);
        TABLE.store(table, Ordering::Relaxed);
    }
    if table == 1 {
        return true;
    }
    let list = address.wrapping_mul(GOLDEN_RATIO) >> (u64::BITS - BITS);
    let head = table.wrapping_add(list.wrapping_mul(HEAD_LEN));
    is_in_list(head, address) != Some(false)
}

/// Returns whether a kprobe at `address` is in the list at `head`; `None` if the list
/// cannot be read to its end.
fn is_in_list(head: u64, address: u64) -> Option<bool> {
    let field = |at: u64, offset: usize| {
        let mut value = [0; 8];
        nofault::read_kernel(at.wrapping_add(word(offset)), &mut value)
            .then(|| u64::from_ne_bytes(value))
    };
    // A probe that is removed meanwhile is not freed before the read-side critical section ends.
    let _guard = rcu::read_lock();
    let mut node = field(head, 0)?;
    for _ in 0..MAX_LIST {
        if node == 0 {
            return Some(false);
        }
        let probe = node.wrapping_sub(word(mem::offset_of!(extra::kprobe, hlist)));
        if field(probe, mem::offset_of!(extra::kprobe, addr))? == address {
            return Some(true);
        }
        // The node is the first member of its structure.
        node = field(node, 0)?;
    }
    None
}
