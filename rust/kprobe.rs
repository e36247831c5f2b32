// SPDX-License-Identifier: GPL-2.0

//! Kprobes: code that runs when the CPU reaches an instruction.
//!
//! C header: [`include/linux/kprobes.h`](srctree/include/linux/kprobes.h)

use super::{
    arch, bindings as extra,
    context::{Entry, OnCpu},
    nofault,
    regs::Regs,
    symbol, word,
};
use core::{
    arch::asm,
    marker::PhantomPinned,
    mem,
    pin::Pin,
    ptr,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};
use kernel::{
    bindings, container_of, error::to_result, prelude::*, str::CString, sync::rcu, types::Opaque,
};

/// What a probe does.
///
/// [`Handler::hit`] is to be the quick way for most hits. Where it does all that
/// there is to do, it returns to the kernel with nothing to restore: the others are
/// never inlined, and are the last thing that is called.
pub trait Handler: Send + Sync {
    /// What is to be called first; see [`Registration::follow`].
    fn first(&self) -> First;

    /// Called before the probed instruction runs, with preemption disabled, for hits
    /// that take a `REGISTER` or nothing.
    ///
    /// Contexts: any, NMI included: it must not sleep, lock, allocate or fault. So
    /// for the others.
    fn hit<const REGISTER: bool>(&self, regs: &Regs, way: Way<'_>, here: &OnCpu) -> Left;

    /// Called first, or where `hit` has left [`Left::Verdict`]: whether there is
    /// nothing more to do. Otherwise `hit_slowly` is called.
    fn is_refused(&self, regs: &Regs, here: &OnCpu) -> bool;

    /// Called first, or where `hit` has left [`Left::All`].
    fn hit_slowly(&self, regs: &Regs, way: Way<'_>, here: &OnCpu);

    /// Called next where `hit` has left [`Left::Rest`].
    fn finish(&self, here: &OnCpu);
}

/// What is called first on a hit: a function for each, in which nothing is decided that
/// is known before.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum First {
    /// The quick way of what looks at no register.
    Bare,
    /// The quick way of what takes the value of a register.
    Register,
    /// What says whether the hit is of interest.
    Verdict,
    /// What serves all hits.
    All,
}

/// What a quick way of serving a hit has left to do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// Nothing.
    Nothing,
    /// What comes after a hit was served.
    Rest,
    /// To say whether the hit is of interest, and everything.
    Verdict,
    /// Everything.
    All,
}

/// How the CPU came to the handler: known to the probe, for whom it concerns.
#[derive(Clone, Copy)]
pub struct Way<'a>(&'a Opaque<extra::kprobe>);

impl Way<'_> {
    /// By a trap or by a call.
    #[inline(always)]
    pub fn entry(self) -> Entry {
        // SAFETY: That of a registration whose handler was called, and constant
        // as long as that can be.
        let flags = unsafe { (*self.0.get()).flags };
        if flags & extra::KPROBE_FLAG_FTRACE != 0 {
            Entry::Call
        } else {
            Entry::Trap
        }
    }
}

/// Where a probe is to be placed.
#[derive(Clone, Copy)]
pub enum Place<'a> {
    /// `offset` bytes behind the symbol `name`, or `module:name`.
    Symbol {
        /// The name.
        name: &'a CStr,
        /// Bytes.
        offset: u32,
    },
    /// An address.
    Address(u64),
}

/// A function that the kernel calls.
type PreHandler =
    unsafe extern "C" fn(*mut extra::kprobe, *mut bindings::pt_regs) -> kernel::ffi::c_int;

/// A registered kprobe.
///
/// # Invariants
///
/// `probe` is registered with the kernel where `registered` says so, as it does from the
/// end of `new` to the drop; `handler` is valid until then.
#[pin_data(PinnedDrop)]
pub struct Registration<T: Handler> {
    #[pin]
    probe: Opaque<extra::kprobe>,
    handler: T,
    registered: AtomicBool,
    /// The text that `probe` points to, if any.
    name: Option<CString>,
    #[pin]
    _pinned: PhantomPinned,
}

// SAFETY: The kernel locks what it changes in the probe, and `T` may be shared.
unsafe impl<T: Handler> Sync for Registration<T> {}
// SAFETY: A probe can be unregistered by any thread, and `T` may be sent.
unsafe impl<T: Handler> Send for Registration<T> {}

impl<T: Handler> Registration<T> {
    /// Registers a probe, disabled: it counts and calls nothing until
    /// [`enable`](Self::enable).
    ///
    /// # Errors
    ///
    /// What the kernel says of the place: `ENOENT` for a symbol that does not
    /// exist, `EILSEQ` for what is no instruction boundary, `EINVAL` for a place
    /// that it does not allow; `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub fn new(place: Place<'_>, handler: T) -> Result<Pin<KBox<Self>>> {
        let name = match place {
            Place::Symbol { name, .. } => Some(CString::try_from(name)?),
            Place::Address(_) => None,
        };
        let mut probe = pin_init::zeroed();
        fill(&mut probe, place, name.as_deref());
        probe.pre_handler = Some(Self::first(&handler));
        let this = KBox::pin_init(
            pin_init!(Self {
                probe: Opaque::new(probe),
                handler,
                registered: AtomicBool::new(false),
                name,
                _pinned: PhantomPinned,
            }),
            GFP_KERNEL,
        )?;
        // SAFETY: The probe is pinned, and unregistered before it is freed; on
        // failure nothing refers to it.
        to_result(unsafe { extra::register_kprobe(this.probe.get()) })?;
        // INVARIANT: Registered above.
        this.registered.store(true, Ordering::Relaxed);
        Ok(this)
    }

    /// What the kernel is to call.
    fn first(handler: &T) -> PreHandler {
        match handler.first() {
            First::Bare => Self::quick_handler::<false>,
            First::Register => Self::quick_handler::<true>,
            First::Verdict => Self::judging_handler,
            First::All => Self::slow_handler,
        }
    }

    /// Asks [`Handler::first`] again, and has the kernel call that from now on. Two must
    /// not call at the same time.
    pub fn follow(&self) {
        let first = Some(Self::first(&self.handler));
        // SAFETY: An aligned word, which the kernel reads once for each hit. Whatever
        // it finds is a function that serves any hit.
        unsafe { (&raw mut (*self.probe.get()).pre_handler).write_volatile(first) };
    }

    /// Unregisters all of `probes` and frees them, and waits only once for the
    /// handlers of all. Without memory it does so for one after the other.
    ///
    /// Context: process, may sleep.
    pub fn drop_all(probes: KVec<Pin<KBox<Self>>>) {
        let mut pointers = KVec::new();
        for probe in &probes {
            if pointers.push(probe.probe.get(), GFP_KERNEL).is_err() {
                return;
            }
        }
        let Ok(count) = i32::try_from(pointers.len()) else {
            return;
        };
        // SAFETY: By the type invariant all are registered. It waits until no
        // handler runs any more.
        unsafe { extra::unregister_kprobes(pointers.as_mut_ptr(), count) };
        for probe in &probes {
            // INVARIANT: They are not any more.
            probe.registered.store(false, Ordering::Relaxed);
        }
    }

    /// Arms the probe.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the probed code is gone.
    ///
    /// Context: process, may sleep.
    pub fn enable(&self) -> Result {
        // SAFETY: By the type invariant registered.
        to_result(unsafe { extra::enable_kprobe(self.probe.get()) })
    }

    /// Disarms the probe. A handler may still run on another CPU.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the probed code is gone.
    ///
    /// Context: process, may sleep.
    pub fn disable(&self) -> Result {
        // SAFETY: By the type invariant registered.
        to_result(unsafe { extra::disable_kprobe(self.probe.get()) })
    }

    /// The address of the probed instruction.
    pub fn address(&self) -> u64 {
        // SAFETY: Constant while registered.
        word(unsafe { (*self.probe.get()).addr }.addr())
    }

    /// Hits on which the kernel could not call the handler.
    pub fn missed(&self) -> u64 {
        // SAFETY: An aligned word that the kernel increments.
        word(unsafe { (&raw const (*self.probe.get()).nmissed).read_volatile() })
    }

    /// What is called on a hit.
    pub fn handler(&self) -> &T {
        &self.handler
    }

    /// # Safety
    ///
    /// Called by the kernel only, for the probe of a `Registration<T>`.
    unsafe extern "C" fn quick_handler<const REGISTER: bool>(
        probe: *mut extra::kprobe,
        regs: *mut bindings::pt_regs,
    ) -> kernel::ffi::c_int {
        // SAFETY: Called by the kernel.
        let (this, given, here) = unsafe { Self::called(probe, regs) };
        let left = this.handler.hit::<REGISTER>(given, Way(&this.probe), &here);
        // SAFETY: Called by the kernel.
        unsafe {
            match left {
                Left::Nothing => 0,
                Left::Verdict => Self::judging_handler(probe, regs),
                Left::All => Self::slow_handler(probe, regs),
                Left::Rest => Self::finish_handler(probe, regs),
            }
        }
    }

    /// # Safety
    ///
    /// As for `quick_handler`, by which it is called too.
    #[inline(never)]
    unsafe extern "C" fn judging_handler(
        probe: *mut extra::kprobe,
        regs: *mut bindings::pt_regs,
    ) -> kernel::ffi::c_int {
        // SAFETY: Called by the kernel.
        let (this, given, here) = unsafe { Self::called(probe, regs) };
        if this.handler.is_refused(given, &here) {
            return 0;
        }
        // SAFETY: As above.
        unsafe { Self::slow_handler(probe, regs) }
    }

    /// # Safety
    ///
    /// As for `quick_handler`; it is called by that and by `judging_handler` too.
    #[inline(never)]
    unsafe extern "C" fn slow_handler(
        probe: *mut extra::kprobe,
        regs: *mut bindings::pt_regs,
    ) -> kernel::ffi::c_int {
        // SAFETY: Called by the kernel.
        let (this, regs, here) = unsafe { Self::called(probe, regs) };
        this.handler.hit_slowly(regs, Way(&this.probe), &here);
        zero()
    }

    /// # Safety
    ///
    /// As for `quick_handler`, by which it is called.
    #[cold]
    #[inline(never)]
    unsafe extern "C" fn finish_handler(
        probe: *mut extra::kprobe,
        regs: *mut bindings::pt_regs,
    ) -> kernel::ffi::c_int {
        // SAFETY: Called by the kernel.
        let (this, _, here) = unsafe { Self::called(probe, regs) };
        this.handler.finish(&here);
        zero()
    }

    /// What the kernel hands to a handler.
    ///
    /// # Safety
    ///
    /// As for `quick_handler`; for use during its call.
    #[inline(always)]
    unsafe fn called<'a>(
        probe: *mut extra::kprobe,
        regs: *mut bindings::pt_regs,
    ) -> (&'a Self, &'a Regs, OnCpu) {
        // SAFETY: The kernel calls with the probe registered in `new`, which
        // lies in a `Registration<T>` that is valid until unregistered.
        let this = unsafe { &*container_of!(Opaque::cast_from(probe), Self, probe) };
        // SAFETY: The registers are valid, and preemption is disabled, during the
        // call.
        let (regs, here) = unsafe { (Regs::from_raw(regs), OnCpu::new()) };
        (this, regs, here)
    }
}

#[pinned_drop]
impl<T: Handler> PinnedDrop for Registration<T> {
    fn drop(self: Pin<&mut Self>) {
        if self.registered.load(Ordering::Relaxed) {
            // SAFETY: By the type invariant registered. It waits until no
            // handler runs any more.
            unsafe { extra::unregister_kprobe(self.probe.get()) };
        }
    }
}

/// Whether the CPU comes to a probe that is armed at `address` by a breakpoint;
/// also where that cannot be found out.
///
/// Context: process.
pub fn is_breakpoint(address: u64) -> bool {
    let mut instruction = [0; 4];
    let read = nofault::read_kernel(address, &mut instruction);
    !read || arch::is_trap(instruction)
}

/// Most entries of the kernel's blacklist that are looked at.
const MAX_BLACKLIST: usize = 100_000;

/// Whether `address` is on the kernel's list of what must not be probed; `None`
/// where the list cannot be found.
///
/// The kernel does not export the question, and shows the list to user space
/// only. So this walks the list by reads that may fault: an entry that vanishes
/// meanwhile, with its module, ends the walk.
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

/// Most kprobes of one list of the kernel's table that are looked at.
const MAX_LIST: usize = 100_000;

/// Whether a kprobe of anybody may be registered at `address`: `false` is
/// certain, and much cheaper to find out than what is there.
///
/// The kernel keeps its probes in a hash table of 64 lists. Where that is not
/// found as it should be, or changes meanwhile, the answer is `true`.
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
            symbol::Symbol::at(*at).is_some_and(|symbol| symbol.size == HEAD_LEN << BITS)
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

/// Whether a kprobe at `address` is in the list at `head`; `None` if the list
/// cannot be followed to its end.
fn is_in_list(head: u64, address: u64) -> Option<bool> {
    let field = |at: u64, offset: usize| {
        let mut value = [0; 8];
        nofault::read_kernel(at.wrapping_add(word(offset)), &mut value)
            .then(|| u64::from_ne_bytes(value))
    };
    // A probe that is removed stays where it is until its list is read no more.
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
        // The next node is the first word of one.
        node = field(node, 0)?;
    }
    None
}

/// The result of a handler that is called as the last thing that another does.
///
/// The compiler must not know that it is 0: then it would not jump there, but call,
/// and return its own.
#[inline(always)]
pub(super) fn zero() -> kernel::ffi::c_int {
    let mut zero: usize = 0;
    // SAFETY: There is no instruction.
    unsafe {
        asm!("/* {0} */", inout(reg) zero, options(pure, nomem, nostack, preserves_flags));
    }
    // CAST: 0 in any type.
    zero as kernel::ffi::c_int
}

/// Sets the place of `probe` and the flag that keeps it disarmed; `name` is the
/// copy of the symbol's name that lives as long as the probe.
pub(super) fn fill(probe: &mut extra::kprobe, place: Place<'_>, name: Option<&CStr>) {
    match place {
        Place::Symbol { offset, .. } => {
            probe.symbol_name = name.map_or(ptr::null(), |name| name.as_char_ptr());
            probe.offset = offset;
        }
        Place::Address(address) => probe.addr = address as *mut extra::kprobe_opcode_t,
    }
    probe.flags = extra::KPROBE_FLAG_DISABLED;
}
