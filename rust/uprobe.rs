// SPDX-License-Identifier: GPL-2.0

//! Uprobes: code that runs when a program reaches an instruction, or when a function of it returns.
//!
//! The kernel calls handlers in the context of the program, after a breakpoint. They could sleep,
//! but these do not: whoever removes a probe waits for them, and a user can keep a page fault from
//! ending. So memory is read as far as it is present, see [`super::user`].
//!
//! C header: [`include/linux/uprobes.h`](srctree/include/linux/uprobes.h)

use super::{
    batch::Batched,
    bindings as extra, calls,
    context::Unpreempted,
    handler::{Handler, Hits, Next, SHORT, SLOW},
    regs::Regs,
};
use core::{
    marker::{PhantomData, PhantomPinned},
    pin::Pin,
    ptr::{self, NonNull},
    sync::atomic::{AtomicPtr, Ordering},
};
use kernel::{
    alloc::KVVec,
    bindings,
    error::to_result,
    ffi::{c_int, c_void},
    prelude::*,
};

/// Largest errno of a pointer that the kernel returns in place of an address.
const MAX_ERRNO: usize = 4095;

/// A program or a library: a regular file.
///
/// # Invariants
///
/// The pointer comes from `ferroprobe_program_open()`, and nothing else has it.
pub struct ProgramFile(NonNull<extra::ferroprobe_program>);

// SAFETY: Any thread may use the file.
unsafe impl Send for ProgramFile {}
// SAFETY: The kernel locks what reads of the file change.
unsafe impl Sync for ProgramFile {}

impl ProgramFile {
    /// Finds the file at `path`, for the current task.
    ///
    /// # Errors
    ///
    /// `EISDIR` if it is no regular file; the errors of the search; `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub fn open(path: &CStr) -> Result<Self> {
        // SAFETY: The path ends with a NUL.
        let program = unsafe { extra::ferroprobe_program_open(path.as_char_ptr()) };
        let error = 0usize.wrapping_sub(program.addr());
        match NonNull::new(program) {
            // CAST: At most 4095.
            Some(_) if error <= MAX_ERRNO => Err(Error::from_errno(-(error as c_int))),
            // INVARIANT: Made above.
            Some(program) => Ok(Self(program)),
            None => Err(ENOMEM),
        }
    }

    /// Reads from `offset` on to `out`. Returns the number of bytes, fewer at the end of the file.
    ///
    /// # Errors
    ///
    /// `EACCES` if the file may not be read; the errors of the file system.
    ///
    /// Context: process, may sleep.
    pub fn read(&self, offset: u64, out: &mut [u8]) -> Result<usize> {
        let (to, size) = (out.as_mut_ptr().cast(), out.len());
        // SAFETY: The program is valid by the type invariant. The function writes within `out`.
        let read = unsafe { extra::ferroprobe_program_read(self.0.as_ptr(), offset, to, size) };
        // CAST: A negative errno.
        usize::try_from(read).map_err(|_| Error::from_errno(read as c_int))
    }

    /// Returns the size of the file in bytes.
    ///
    /// Context: process.
    pub fn size(&self) -> u64 {
        // SAFETY: The program is valid by the type invariant.
        unsafe { extra::ferroprobe_program_size(self.0.as_ptr()) }
    }
}

impl Drop for ProgramFile {
    fn drop(&mut self) {
        // SAFETY: By the type invariant it is valid, and nothing else has it.
        unsafe { extra::ferroprobe_program_close(self.0.as_ptr()) };
    }
}

/// A hit in a program.
#[derive(Clone, Copy)]
pub struct UserHit<'a> {
    /// The registers of the program.
    pub regs: &'a Regs,
    /// The address of the location, or of the function that returns: its lower half, then its
    /// upper half.
    pub place: &'a [u32; 2],
    /// The offset of the location in its file.
    offset: u64,
}

impl UserHit<'_> {
    /// Returns the address at which the file would begin.
    ///
    /// Context: any.
    #[inline(always)]
    pub fn file_start(&self) -> u64 {
        let [low, high] = *self.place;
        (u64::from(low) | u64::from(high) << 32).wrapping_sub(self.offset)
    }
}

/// A program reaches the location.
#[derive(Clone, Copy)]
pub struct UserReached<'a>(pub UserHit<'a>);

/// The function at the location returns.
#[derive(Clone, Copy)]
pub struct UserLeft<'a>(pub UserHit<'a>);

/// What of a location is reported.
pub trait UserSide: Hits + Send + Sync {
    /// Whether it is the return of the function there.
    const RETURNS: bool;

    /// Returns `hit` as what a handler gets.
    fn hit(hit: UserHit<'_>) -> Self::Hit<'_>;
}

/// Instructions that are reached.
pub enum ProgramCode {}

impl Hits for ProgramCode {
    type Hit<'a> = UserReached<'a>;
}

impl UserSide for ProgramCode {
    const RETURNS: bool = false;

    #[inline(always)]
    fn hit(hit: UserHit<'_>) -> UserReached<'_> {
        UserReached(hit)
    }
}

/// Functions that return.
pub enum ProgramReturns {}

impl Hits for ProgramReturns {
    type Hit<'a> = UserLeft<'a>;
}

impl UserSide for ProgramReturns {
    const RETURNS: bool = true;

    #[inline(always)]
    fn hit(hit: UserHit<'_>) -> UserLeft<'_> {
        UserLeft(hit)
    }
}

/// A uprobe.
///
/// # Invariants
///
/// `uprobe` is null, or comes from `ferroprobe_uprobe_new()` with a pointer to this pinned value,
/// and is freed by the drop only, disarmed and waited for.
#[pin_data(PinnedDrop)]
pub struct UserRegistration<S: UserSide, H: Handler<S>> {
    handler: H,
    uprobe: AtomicPtr<extra::ferroprobe_uprobe>,
    offset: u64,
    _side: PhantomData<S>,
    #[pin]
    _pinned: PhantomPinned,
}

impl<S: UserSide, H: Handler<S>> UserRegistration<S, H> {
    /// Makes a disarmed probe at `offset` of `program`. The kernel counts those who trace it at
    /// `counter` of the file, if that is not 0.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub fn new(
        program: &ProgramFile,
        (offset, counter): (u64, u64),
        handler: impl Init<H>,
    ) -> Result<Pin<KBox<Self>>> {
        let this = KBox::pin_init(
            pin_init!(Self {
                handler <- handler,
                uprobe: AtomicPtr::new(ptr::null_mut()),
                offset,
                _side: PhantomData,
                _pinned: PhantomPinned,
            }),
            GFP_KERNEL,
        )?;
        let data = ptr::from_ref(&*this).cast_mut().cast();
        // SAFETY: The program is valid by its invariant. The function keeps the pointer to this
        // pinned value, which outlives the uprobe.
        let uprobe = unsafe {
            let program = program.0.as_ptr();
            let serve = Some(Self::serve as unsafe extern "C" fn(_, _, _));
            extra::ferroprobe_uprobe_new(program, offset, counter, S::RETURNS, serve, data)
        };
        if uprobe.is_null() {
            return Err(ENOMEM);
        }
        // INVARIANT: Made above.
        this.uprobe.store(uprobe, Ordering::Relaxed);
        Ok(this)
    }

    /// Arms or disarms the probe. After disarming it may still run on another CPU.
    ///
    /// # Errors
    ///
    /// The errors of the kernel: `EINVAL` if the file is too short, `EIO` if it cannot be mapped,
    /// `EOPNOTSUPP` for an instruction that it does not probe, where a program runs; `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub fn set_enabled(&self, enabled: bool) -> Result {
        let uprobe = self.uprobe.load(Ordering::Relaxed);
        if !enabled {
            self.disarm();
            return Ok(());
        }
        // SAFETY: The uprobe is valid by the type invariant.
        to_result(unsafe { extra::ferroprobe_uprobe_arm(uprobe) })
    }

    /// Disarms the probe. Returns whether it may still run.
    fn disarm(&self) -> bool {
        let uprobe = self.uprobe.load(Ordering::Relaxed);
        // SAFETY: The uprobe is valid by the type invariant.
        !uprobe.is_null() && unsafe { extra::ferroprobe_uprobe_disarm(uprobe) }
    }

    /// Frees the uprobe, which is disarmed and was waited for.
    fn free(&self) {
        let uprobe = self.uprobe.swap(ptr::null_mut(), Ordering::Relaxed);
        if !uprobe.is_null() {
            // SAFETY: The uprobe was valid by the type invariant, and nothing else has it.
            unsafe { extra::ferroprobe_uprobe_free(uprobe) };
        }
    }

    /// Returns the handler.
    pub fn handler(&self) -> &H {
        &self.handler
    }

    /// # Safety
    ///
    /// Called for the uprobe of a `UserRegistration<S, H>`, with valid registers.
    unsafe extern "C" fn serve(data: *mut c_void, regs: *mut bindings::pt_regs, address: u64) {
        // SAFETY: A uprobe is called between its arming and the end of the wait behind its
        // disarming, with the registration's pointer and the registers of the current task.
        let (this, regs) = unsafe { (&*data.cast::<Self>(), Regs::from_raw(regs)) };
        // CAST: The halves.
        let place = &[address as u32, (address >> 32) as u32];
        let offset = this.offset;
        let hit = S::hit(UserHit {
            regs,
            place,
            offset,
        });
        let on_cpu = Unpreempted::begin();
        if let Next::Stage(_) = this.handler.run::<SHORT>(hit, &on_cpu.here()) {
            this.handler.run::<SLOW>(hit, &on_cpu.here());
        }
        on_cpu.end();
    }
}

impl<S: UserSide, H: Handler<S>> Batched for UserRegistration<S, H> {
    type Probe = c_void;

    fn end_all(all: &mut [Pin<KBox<Self>>], _pointers: &mut KVVec<*mut c_void>) {
        let mut may_run = false;
        for this in all.iter() {
            may_run |= this.disarm();
        }
        if may_run {
            calls::ferroprobe_uprobes_wait();
        }
        for this in all {
            this.free();
        }
    }
}

#[pinned_drop]
impl<S: UserSide, H: Handler<S>> PinnedDrop for UserRegistration<S, H> {
    fn drop(self: Pin<&mut Self>) {
        if self.disarm() {
            calls::ferroprobe_uprobes_wait();
        }
        self.free();
    }
}
