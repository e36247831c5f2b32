// SPDX-License-Identifier: GPL-2.0

//! The user memory of a system call, and its copies.

use crate::{
    engine::{
        program::syscall::{
            make_printable, put_address, Copies, Special, Values, COPY_SIZE, EXACT_MARK, MARK,
            MAX_ADDRESS, MAX_COPIED, MAX_COPIES,
        },
        record::{MAX_SIZE, PROBE_SIZE},
        util::seq_buf::SeqBuf,
    },
    kapi::user::{self, Copy, UserCopies, UserText},
};

/// What a long copy [leaves](Limits::reserved) for each later one.
const RESERVED: usize = COPY_SIZE;
const _: () = assert!(PROBE_SIZE + 256 + MAX_COPIES * RESERVED < MAX_SIZE);

/// Returns a closure that returns the argument with a given index.
pub(super) fn argument(arguments: &[u64]) -> impl Fn(u8) -> u64 + '_ {
    // No call has an argument with a higher index. No memory is mapped at this address.
    |index| {
        let value = arguments.get(usize::from(index));
        value.copied().unwrap_or(u64::MAX)
    }
}

/// The size of the pointers in the memory of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pointers {
    /// 64 bits.
    Words,
    /// 32 bits.
    Halves,
}

impl Pointers {
    /// Reads pointer `n` of an array.
    fn read(self, array: u64, n: u64) -> Option<u64> {
        match self {
            Self::Words => user::word(array.wrapping_add(n.wrapping_mul(8))),
            Self::Halves => user::half(array.wrapping_add(n.wrapping_mul(4))).map(u64::from),
        }
    }
}

/// Copies of a call's user memory.
pub(super) type CallMemory<const COUNT: usize> = UserCopies<COUNT, COPY_SIZE>;

/// Copies the user memory that `copies` names, at most `limit` bytes of each argument; `word`
/// returns a register. Returns whether all could be read; never if some is [special](Special).
///
/// Context: process; does not sleep.
#[inline(always)]
pub(super) fn copy<const COUNT: usize>(
    copies: &Copies,
    word: impl Fn(u8) -> u64,
    limit: usize,
    to: &mut CallMemory<COUNT>,
) -> bool {
    let limit = limit.min(MAX_COPIED);
    let size = copies.size.map(&word);
    let mut are_read = true;
    let addresses = copies.registers().iter().map(|&register| word(register));
    for (from, mut room) in to.begin(addresses) {
        let is_read = copy_one(&mut room, from, (size, copies.are_exact), limit);
        room.finish(is_read);
        are_read &= is_read;
    }
    are_read
}

/// Which user memory of a call is copied, and how much of it.
#[derive(Clone, Copy)]
pub(super) struct WantedMemory<'a> {
    pub(super) copies: &'a Copies,
    /// The size of the pointers in that memory.
    pub(super) pointers: Pointers,
    pub(super) limits: Limits,
}

/// How many bytes are copied at most.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// For one argument.
    of_each: usize,
    /// For all strings of an array.
    of_strings: usize,
    /// For all arguments together.
    of_all: usize,
    /// How much an argument must leave free for each later one, which may be an address, or may not
    /// be readable yet.
    reserved: usize,
}

impl Limits {
    /// Makes the limits of short copies, each of which has a buffer of its own.
    pub(super) fn short(limit: usize) -> Self {
        Self {
            of_each: limit.min(MAX_COPIED),
            of_strings: COPY_SIZE,
            of_all: usize::MAX,
            reserved: 0,
        }
    }

    /// Makes the limits of long copies, which share the room of a record that has `fixed` other
    /// bytes.
    pub(super) fn long(limit: usize, fixed: usize) -> Self {
        Self {
            of_each: limit,
            of_strings: limit,
            of_all: MAX_SIZE.saturating_sub(fixed),
            reserved: RESERVED,
        }
    }
}

/// When [missing](UserCopies::missing) memory is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// Right after [`copy`]: only what that has left out.
    Now,
    /// Later, or without [`copy`]: everything that is missing.
    Again,
}

impl WantedMemory<'_> {
    /// Begins an empty copy of each argument's memory; all of it is missing then.
    pub(super) fn begin<const SIZE: usize>(
        &self,
        values: &Values,
        to: &mut UserCopies<MAX_COPIES, SIZE>,
    ) {
        let word = argument(values);
        let addresses = self.copies.registers().iter().map(|&at| word(at));
        for (_, room) in to.begin(addresses) {
            room.finish(false);
        }
    }

    /// Copies what `to` lacks. Returns whether nothing is missing any more.
    ///
    /// Context: process; does not sleep.
    #[inline(never)]
    pub(super) fn copy_missing<const SIZE: usize>(
        &self,
        values: &Values,
        to: &mut UserCopies<MAX_COPIES, SIZE>,
        pass: Pass,
    ) -> bool {
        let (copies, limits) = (self.copies, self.limits);
        let word = argument(values);
        let size = copies.size.map(&word);
        let mut left = limits.of_all.saturating_sub(to.view().length());
        let mut later = to.missing().count();
        for (index, from, mut room) in to.missing() {
            later = later.saturating_sub(1);
            let most = left.saturating_sub(later.saturating_mul(limits.reserved));
            let most = most.saturating_sub(EXACT_MARK.len());
            let is_read = match copies.special_at(index) {
                None if pass == Pass::Now => false,
                None => {
                    let limit = limits.of_each.min(most);
                    copy_one(&mut room, from, (size, copies.are_exact), limit)
                }
                Some(special) => {
                    let from = word(copies.special_register);
                    room.set_address(from);
                    room.truncate(0);
                    match special {
                        // CAST: The kernel takes it for a C int.
                        Special::Address(size) => copy_address(&mut room, from, word(size) as i32),
                        Special::Strings => {
                            let most = limits.of_strings.min(most);
                            copy_strings(&mut room, from, self.pointers, most)
                        }
                        Special::None => false,
                    }
                }
            };
            // What cannot be read yet is copied when the call returns.
            let taken = match is_read {
                true => room.get_mut().len(),
                false => limits.reserved,
            };
            left = left.saturating_sub(taken);
            room.finish(is_read);
        }
        to.are_read()
    }
}

/// Copies the address of a socket, as text.
#[inline(never)]
fn copy_address<const SIZE: usize>(to: &mut Copy<'_, SIZE>, from: u64, length: i32) -> bool {
    let mut bytes = [0; MAX_ADDRESS];
    let length = usize::try_from(length).unwrap_or(0).min(MAX_ADDRESS);
    let bytes = bytes.get_mut(..length).unwrap_or_default();
    // The call has no address, as in `send()`.
    let bytes = if from == 0 { &mut [] } else { bytes };
    if !bytes.is_empty() {
        if !to.copy_bytes(from, length) {
            return false;
        }
        for (to, from) in bytes.iter_mut().zip(to.get_mut()) {
            *to = *from;
        }
    }
    let mut room = [0; COPY_SIZE];
    let mut text = SeqBuf::new(&mut room);
    put_address(&mut text, bytes);
    text.byte(0);
    let length = text.finish().unwrap_or(0);
    to.truncate(0);
    to.add(room.get(..length).unwrap_or_default());
    true
}

/// Copies the strings to which the pointers of an array point, as many as fit into `most` bytes.
/// Returns whether the array could be read.
#[inline(never)]
fn copy_strings<const SIZE: usize>(
    to: &mut Copy<'_, SIZE>,
    from: u64,
    pointers: Pointers,
    most: usize,
) -> bool {
    // Each string takes a byte at least. CAST: Lossless.
    for n in 0..=most as u64 {
        // For the kernel, a null pointer is an empty array, and an empty array has one empty
        // string.
        let pointer = match from {
            0 => Some(0),
            from => pointers.read(from, n),
        };
        let added = match pointer {
            None if n == 0 => return false,
            Some(0) if n == 0 => {
                to.add(b"\0");
                return true;
            }
            Some(0) => return true,
            None => UserText::Fault,
            Some(pointer) => to.add_string(pointer, most),
        };
        match added {
            UserText::Start => break,
            UserText::Fault => to.add(b"(fault)\0"),
            _ => {}
        }
        if pointer.is_none() {
            return true;
        }
    }
    // Only a string with its NUL is whole. Cut the NULs at the end, but leave one byte.
    to.truncate(most);
    let bytes = to.get_mut();
    let nuls = bytes.iter().rev().take_while(|&&byte| byte == 0).count();
    let length = bytes.len().saturating_sub(nuls);
    to.truncate(length.max(1));
    true
}

/// Copies what is at the address `from`: `size` bytes, or a string; `limit` bytes at most.
/// Returns whether it could be read.
#[inline(always)]
fn copy_one<const SIZE: usize>(
    to: &mut Copy<'_, SIZE>,
    from: u64,
    (size, is_exact): (Option<u64>, bool),
    limit: usize,
) -> bool {
    match size {
        // CAST: Lossless.
        Some(size) => to.copy_bytes(from, (size as usize).min(limit)),
        None if limit == 0 => {
            match is_exact {
                true => to.push(EXACT_MARK),
                false => to.push(b"\0"),
            }
            true
        }
        None if is_exact => match to.copy_string::<true>(from, limit) {
            UserText::Ascii => true,
            UserText::Fault => false,
            other => {
                finish_exact(to, &other);
                true
            }
        },
        None => match to.copy_string::<false>(from, limit) {
            UserText::Ascii => true,
            UserText::Fault => false,
            other => {
                finish_text(to, &other);
                true
            }
        },
    }
}

/// Makes a copied string printable, and marks it if it was cut.
#[cold]
#[inline(never)]
fn finish_text<const SIZE: usize>(copy: &mut Copy<'_, SIZE>, text: &UserText) {
    let string = copy.get_mut();
    match text {
        UserText::Whole => {
            let end = string.len().saturating_sub(1);
            make_printable(string.get_mut(..end).unwrap_or_default());
        }
        _ => {
            make_printable(string);
            copy.push(MARK);
        }
    }
}

/// Marks an exact string that was cut.
#[cold]
#[inline(never)]
fn finish_exact<const SIZE: usize>(copy: &mut Copy<'_, SIZE>, text: &UserText) {
    if matches!(text, UserText::Start) {
        copy.push(EXACT_MARK);
    }
}
