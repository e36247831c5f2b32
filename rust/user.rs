// SPDX-License-Identifier: GPL-2.0

//! Copies of user memory, from pages that may have to be brought in.
//!
//! C header: [`include/linux/uaccess.h`](srctree/include/linux/uaccess.h)

use super::bindings as extra;
use core::{mem::MaybeUninit, slice};
use kernel::{
    bindings,
    ffi::c_void,
    uaccess::{UserPtr, UserSlice},
};

/// Up to `COUNT` copies of user memory, of at most `SIZE` bytes each, and what was added to
/// them.
///
/// # Invariants
///
/// The first bytes of each copy, as many as its length, are initialised; a length is at most
/// `SIZE`.
pub struct Copies<const COUNT: usize, const SIZE: usize> {
    // Apart from the bytes, so that no byte of a copy is written before it is made.
    states: [State; COUNT],
    count: usize,
    bytes: [[MaybeUninit<u8>; SIZE]; COUNT],
}

/// What is known of a copy.
struct State {
    address: u64,
    length: usize,
    is_read: bool,
}

/// What was copied of a string.
pub enum Text {
    /// Nothing: it could not be read.
    Fault,
    /// All of it, with its NUL, and it has only printable characters of ASCII.
    Ascii,
    /// All of it, with its NUL.
    Whole,
    /// The start of a longer one.
    Start,
}

/// One of these copies.
pub struct Copy<'a, const SIZE: usize> {
    state: &'a mut State,
    bytes: &'a mut [MaybeUninit<u8>; SIZE],
}

impl<const COUNT: usize, const SIZE: usize> Copies<COUNT, SIZE> {
    /// Makes room for copies.
    #[inline(always)]
    pub const fn empty() -> Self {
        Self {
            states: [const {
                State {
                    address: 0,
                    length: 0,
                    is_read: false,
                }
            }; COUNT],
            count: 0,
            bytes: [const { [const { MaybeUninit::uninit() }; SIZE] }; COUNT],
        }
    }

    /// Forgets all copies.
    pub fn clear(&mut self) {
        // INVARIANT: A length of 0 needs no bytes.
        for state in &mut self.states {
            state.length = 0;
        }
        self.count = 0;
    }

    /// Calls `copy` with room for what is at each of `addresses`. It returns whether it could
    /// be read.
    #[inline(always)]
    pub fn fill(
        &mut self,
        addresses: impl ExactSizeIterator<Item = u64>,
        mut copy: impl FnMut(&mut Copy<'_, SIZE>, u64) -> bool,
    ) {
        self.count = addresses.len();
        for ((state, bytes), address) in self.states.iter_mut().zip(&mut self.bytes).zip(addresses)
        {
            state.address = address;
            let mut room = Copy { state, bytes };
            let is_read = copy(&mut room, address);
            room.state.is_read = is_read;
        }
    }

    /// Returns the addresses, and what was copied from there unless it could not be read.
    #[inline(always)]
    pub fn iter(&self) -> impl Iterator<Item = (u64, Option<&[u8]>)> {
        let all = self.states.iter().zip(&self.bytes).take(self.count);
        all.map(|(state, bytes)| {
            // SAFETY: By the type invariant these bytes are initialised.
            let copy = unsafe { slice::from_raw_parts(bytes.as_ptr().cast(), state.length) };
            (state.address, state.is_read.then_some(copy))
        })
    }
}

impl<const SIZE: usize> Copy<'_, SIZE> {
    /// Copies the string at `address`, at most `limit` bytes of it besides its NUL.
    ///
    /// Context: process, may sleep and fault.
    #[inline(always)]
    pub fn string(&mut self, address: u64, limit: usize) -> Text {
        let room = limit.wrapping_add(1).min(SIZE);
        let mut is_odd = false;
        // SAFETY: The function writes at most `room` bytes, and survives any address.
        let length = unsafe {
            let to = self.bytes.as_mut_ptr().cast();
            extra::ferroprobe_copy_user_text(to, address, room, &raw mut is_odd)
        };
        let Ok(length) = usize::try_from(length) else {
            return self.any_string(address, room);
        };
        // INVARIANT: The function has written that many characters and a NUL, as there was
        // room for.
        self.state.length = length.wrapping_add(1).min(SIZE);
        if is_odd {
            Text::Whole
        } else {
            Text::Ascii
        }
    }

    /// As [`Copy::string`], for any string: at most `room` bytes with its NUL.
    #[cold]
    #[inline(never)]
    fn any_string(&mut self, address: u64, room: usize) -> Text {
        let (to, from) = (self.bytes.as_mut_ptr(), address as *const c_void);
        // SAFETY: The caller passes at most `SIZE`; the function writes no more than that,
        // and survives any address.
        let result = unsafe {
            // CAST: At most `SIZE`.
            bindings::strncpy_from_user(to.cast(), from.cast(), room as isize)
        };
        // INVARIANT: The function has written the characters that it counts, and a NUL if
        // there was room for it.
        let (length, text) = match usize::try_from(result) {
            Err(_) => (0, Text::Fault),
            Ok(length) if length < room => (length.wrapping_add(1), Text::Whole),
            Ok(_) => (room.saturating_sub(1), Text::Start),
        };
        self.state.length = length;
        text
    }

    /// Copies `count` bytes at `address`, or `SIZE` if that is less. Returns whether they
    /// could be read.
    ///
    /// Context: process, may sleep and fault.
    #[inline(always)]
    pub fn bytes(&mut self, address: u64, count: usize) -> bool {
        // CAST: Lossless.
        let from = UserPtr::from_addr(address as usize);
        let mut from = UserSlice::new(from, count).reader();
        let to = self.bytes.get_mut(..count.min(SIZE)).unwrap_or_default();
        let length = to.len();
        let is_read = from.read_raw(to).is_ok();
        // INVARIANT: All bytes were written if the read has succeeded.
        self.state.length = if is_read { length } else { 0 };
        is_read
    }

    /// Returns what was copied, to be changed.
    #[inline(always)]
    pub fn get_mut(&mut self) -> &mut [u8] {
        // SAFETY: By the type invariant these bytes are initialised.
        unsafe { slice::from_raw_parts_mut(self.bytes.as_mut_ptr().cast(), self.state.length) }
    }

    /// Adds `bytes` if there is room.
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
