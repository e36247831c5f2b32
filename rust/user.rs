// SPDX-License-Identifier: GPL-2.0

//! Copies of user memory that is present, without page faults.
//!
//! Probes of system calls may sleep in a page fault, and the kernel's own do. But with userfaultfd,
//! or a file system served by itself, an unprivileged user can keep a fault from ending; whoever
//! removes a probe, unloads the module or loads any other one would wait for it. So faulting is not
//! an option. Memory that the program has not touched yet is read from the page cache, which needs
//! the lock of the address space; the lock is tried, not waited for.
//!
//! C header: [`include/linux/uaccess.h`](srctree/include/linux/uaccess.h)

use super::bindings as extra;
use core::{mem::MaybeUninit, slice};

/// Up to `COUNT` copies of user memory, at most `SIZE` bytes each.
///
/// # Invariants
///
/// The first bytes of each copy, as many as its length, are initialised; a length is at most
/// `SIZE`.
pub struct UserCopies<const COUNT: usize, const SIZE: usize> {
    // Apart from the bytes, so that bytes are not written before a copy is made.
    states: [CopyState; COUNT],
    count: usize,
    bytes: [[MaybeUninit<u8>; SIZE]; COUNT],
}

/// The state of a copy.
struct CopyState {
    address: u64,
    length: usize,
    is_read: bool,
}

/// The result of copying a string.
pub enum UserText {
    /// The string could not be read.
    Fault,
    /// The whole string with its NUL; only printable ASCII characters.
    Ascii,
    /// The whole string with its NUL.
    Whole,
    /// The start of a longer string.
    Start,
}

/// Returns the word of user memory at `address`, if it can be read.
///
/// Context: process; does not sleep.
pub fn word(address: u64) -> Option<u64> {
    array(address).map(u64::from_ne_bytes)
}

/// [`word`] of 32 bits.
pub fn half(address: u64) -> Option<u32> {
    array(address).map(u32::from_ne_bytes)
}

/// Reads `out.len()` bytes of user memory at `address`. Returns false, and leaves `out`
/// unspecified, if they cannot be read.
///
/// Context: process; does not sleep.
#[cold]
#[inline(never)]
pub fn read(address: u64, out: &mut [u8]) -> bool {
    copy(address, out, false).is_some()
}

/// Copies the user string at `address` up to and including its NUL, or as much of it as fits.
/// Returns the number of bytes; `None` if it cannot be read.
///
/// Context: as above.
#[cold]
#[inline(never)]
pub fn read_string(address: u64, out: &mut [u8]) -> Option<usize> {
    copy(address, out, true)
}

fn copy(address: u64, out: &mut [u8], is_text: bool) -> Option<usize> {
    let (to, room) = (out.as_mut_ptr().cast(), out.len());
    // SAFETY: The function writes within `out` only, and survives any address.
    let result = unsafe { extra::ferroprobe_copy_user(to, address, room, is_text) };
    usize::try_from(result).ok()
}

fn array<const N: usize>(address: u64) -> Option<[u8; N]> {
    let mut copies = UserCopies::<1, N>::empty();
    let (_, mut copy) = copies.begin([address].into_iter()).next()?;
    match copy.copy_bytes(address, N) {
        true => copy.get_mut().first_chunk().copied(),
        false => None,
    }
}

/// Room for one copy.
pub struct Copy<'a, const SIZE: usize> {
    state: &'a mut CopyState,
    bytes: &'a mut [MaybeUninit<u8>; SIZE],
}

impl<const COUNT: usize, const SIZE: usize> UserCopies<COUNT, SIZE> {
    /// Makes room for copies.
    #[inline(always)]
    pub const fn empty() -> Self {
        Self {
            states: [const {
                CopyState {
                    address: 0,
                    length: 0,
                    is_read: false,
                }
            }; COUNT],
            count: 0,
            bytes: [const { [const { MaybeUninit::uninit() }; SIZE] }; COUNT],
        }
    }

    /// Clears all copies.
    #[inline(always)]
    pub fn forget(&mut self) {
        self.count = 0;
    }

    /// Clears all copies, and returns room for a copy from each of `addresses`. Each must be
    /// [finished](Copy::finish).
    #[inline(always)]
    pub fn begin(
        &mut self,
        addresses: impl ExactSizeIterator<Item = u64>,
    ) -> impl Iterator<Item = (u64, Copy<'_, SIZE>)> {
        self.count = addresses.len();
        let all = self.states.iter_mut().zip(&mut self.bytes).zip(addresses);
        all.map(|((state, bytes), address)| {
            // INVARIANT: A length of 0 needs no bytes.
            state.address = address;
            state.length = 0;
            (address, Copy { state, bytes })
        })
    }

    /// Returns the copies that failed, with their indices and addresses.
    pub fn missing(&mut self) -> impl Iterator<Item = (u8, u64, Copy<'_, SIZE>)> {
        let all = self.states.iter_mut().zip(&mut self.bytes).take(self.count);
        let missing = (0u8..).zip(all).filter(|(_, (state, _))| !state.is_read);
        missing.map(|(index, (state, bytes))| (index, state.address, Copy { state, bytes }))
    }

    /// Returns whether no copy failed.
    pub fn are_read(&self) -> bool {
        self.states
            .iter()
            .take(self.count)
            .all(|state| state.is_read)
    }

    /// Returns the copies.
    #[inline(always)]
    pub fn view(&self) -> CopiesView<'_, SIZE> {
        let states = self.states.get(..self.count).unwrap_or_default();
        // INVARIANT: By the type invariant.
        CopiesView {
            states,
            bytes: &self.bytes,
        }
    }
}

/// A view of any number of copies.
///
/// # Invariants
///
/// As for [`UserCopies`].
#[derive(Clone, Copy)]
pub struct CopiesView<'a, const SIZE: usize> {
    states: &'a [CopyState],
    bytes: &'a [[MaybeUninit<u8>; SIZE]],
}

impl<'a, const SIZE: usize> CopiesView<'a, SIZE> {
    /// Zero copies.
    pub const NOTHING: Self = Self {
        states: &[],
        bytes: &[],
    };

    /// Returns whether there are no copies.
    #[inline(always)]
    pub fn is_empty(self) -> bool {
        self.states.is_empty()
    }

    /// Returns the total number of bytes.
    #[inline(always)]
    pub fn length(self) -> usize {
        let lengths = self.states.iter().map(|state| state.length);
        lengths.fold(0, usize::wrapping_add)
    }

    /// Returns the addresses, and the copies; `None` for those that failed.
    #[inline(always)]
    pub fn iter(self) -> impl Iterator<Item = (u64, Option<&'a [u8]>)> {
        let all = self.states.iter().zip(self.bytes);
        all.map(|(state, bytes)| {
            // SAFETY: By the type invariant these bytes are initialised.
            let copy = unsafe { slice::from_raw_parts(bytes.as_ptr().cast(), state.length) };
            (state.address, state.is_read.then_some(copy))
        })
    }
}

impl<const SIZE: usize> Copy<'_, SIZE> {
    /// Notes whether the copy succeeded; a failed copy must be empty.
    #[inline(always)]
    pub fn finish(self, is_read: bool) {
        self.state.is_read = is_read;
    }

    /// Copies the string at `address`, at most `limit` bytes besides its NUL. If `EXACT`,
    /// [`UserText::Ascii`] does not imply ASCII.
    ///
    /// Context: process; does not sleep.
    #[inline(always)]
    pub fn copy_string<const EXACT: bool>(&mut self, address: u64, limit: usize) -> UserText {
        // CAST: Lossless.
        const ODD: usize = extra::FERROPROBE_ODD_TEXT as usize;
        let room = limit.wrapping_add(1).min(SIZE);
        let to = self.bytes.as_mut_ptr().cast();
        // SAFETY: The functions write at most `room` bytes, and survive any address.
        let copied = unsafe {
            match EXACT {
                true => extra::ferroprobe_copy_user_string(to, address, room),
                false => extra::ferroprobe_copy_user_text(to, address, room),
            }
        };
        let Ok(copied) = usize::try_from(copied) else {
            return self.copy_any_string(address, room);
        };
        let is_odd = !EXACT && copied & ODD != 0;
        // INVARIANT: The function has written that many bytes, as there was room for.
        self.state.length = (copied & !ODD).min(SIZE);
        match is_odd {
            true => UserText::Whole,
            false => UserText::Ascii,
        }
    }

    /// [`Copy::copy_string`] in general: at most `room` bytes with the NUL.
    #[cold]
    #[inline(never)]
    fn copy_any_string(&mut self, address: u64, room: usize) -> UserText {
        if !self.read(address, room, true) {
            return UserText::Fault;
        }
        if self.get_mut().last() == Some(&0) {
            return UserText::Whole;
        }
        self.state.length = self.state.length.saturating_sub(1);
        UserText::Start
    }

    /// Copies `count` bytes at `address`, at most `SIZE`. Returns whether they could be read.
    ///
    /// Context: process; does not sleep.
    #[inline(always)]
    pub fn copy_bytes(&mut self, address: u64, count: usize) -> bool {
        self.read(address, count, false)
    }

    /// Copies `count` bytes, at most `SIZE`, or a string up to its NUL.
    fn read(&mut self, address: u64, count: usize, is_text: bool) -> bool {
        self.state.length = 0;
        self.read_behind(0, address, count, is_text)
    }

    /// [`Self::read`] behind the first `start` bytes, which are kept.
    #[inline(always)]
    fn read_behind(&mut self, start: usize, address: u64, count: usize, is_text: bool) -> bool {
        let room = self.bytes.get_mut(start..).unwrap_or_default();
        let (to, size) = (room.as_mut_ptr().cast(), room.len().min(count));
        // SAFETY: The function writes at most `size` bytes, for which there is room, and survives
        // any address.
        let result = unsafe { extra::ferroprobe_copy_user(to, address, size, is_text) };
        let Ok(length) = usize::try_from(result) else {
            return false;
        };
        // INVARIANT: The function has written the bytes that it counts, behind the others.
        self.state.length = start.wrapping_add(length).min(SIZE);
        true
    }

    /// Appends the string at `address` with its NUL, as much as fits: at most `most` bytes in
    /// total.
    ///
    /// Context: process; does not sleep.
    pub fn add_string(&mut self, address: u64, most: usize) -> UserText {
        let start = self.state.length;
        if !self.read_behind(start, address, most.saturating_sub(start), true) {
            return UserText::Fault;
        }
        match self.state.length > start && self.get_mut().last() == Some(&0) {
            true => UserText::Whole,
            false => UserText::Start,
        }
    }

    /// Sets the address that is copied.
    pub fn set_address(&mut self, address: u64) {
        self.state.address = address;
    }

    /// Truncates the copy to `length` bytes.
    pub fn truncate(&mut self, length: usize) {
        // INVARIANT: Fewer bytes than before.
        self.state.length = self.state.length.min(length);
    }

    /// Returns the copy, to be changed.
    #[inline(always)]
    pub fn get_mut(&mut self) -> &mut [u8] {
        // SAFETY: By the type invariant these bytes are initialised.
        unsafe { slice::from_raw_parts_mut(self.bytes.as_mut_ptr().cast(), self.state.length) }
    }

    /// Appends as many of `bytes` as fit.
    pub fn add(&mut self, bytes: &[u8]) {
        let start = self.state.length.min(SIZE);
        let room = self.bytes.get_mut(start..).unwrap_or_default();
        let mut added = 0usize;
        for (to, from) in room.iter_mut().zip(bytes) {
            *to = MaybeUninit::new(*from);
            added = added.wrapping_add(1);
        }
        // INVARIANT: They follow the initialised bytes.
        self.state.length = start.wrapping_add(added);
    }

    /// Appends `bytes` if they fit.
    #[inline(always)]
    pub fn push<const N: usize>(&mut self, bytes: &[u8; N]) {
        let room = self.bytes.get_mut(self.state.length..);
        if let Some(to) = room.and_then(|room| room.first_chunk_mut::<N>()) {
            *to = bytes.map(MaybeUninit::new);
            // INVARIANT: They follow the initialised bytes.
            self.state.length = self.state.length.wrapping_add(N);
        }
    }
}
