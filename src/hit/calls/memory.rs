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

/// Returns what returns the argument with an index.
pub(super) fn argument(arguments: &[u64]) -> impl Fn(u8) -> u64 + '_ {
    // There is nothing at the address of what no call has.
    |index| {
        let value = arguments.get(usize::from(index));
        value.copied().unwrap_or(u64::MAX)
    }
}

/// The pointers in the memory of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pointers {
    /// They have 64 bits.
    Words,
    /// They have 32 bits.
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

/// What of a call's user memory is copied.
#[derive(Clone, Copy)]
pub(super) struct WantedMemory<'a> {
    pub(super) copies: &'a Copies,
    /// The pointers that are in that memory.
    pub(super) pointers: Pointers,
    pub(super) limits: Limits,
}

/// Most bytes that are copied.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// Of one argument.
    of_each: usize,
    /// Of the strings of an array.
    of_strings: usize,
    /// Of all together.
    of_all: usize,
    /// What one leaves for each later one: for one that cannot be read yet, and for an address.
    reserved: usize,
}

impl Limits {
    /// Makes the limits of copies that each have room of their own.
    pub(super) fn short(limit: usize) -> Self {
        Self {
            of_each: limit.min(MAX_COPIED),
            of_strings: COPY_SIZE,
            of_all: usize::MAX,
            reserved: 0,
        }
    }

    /// Makes the limits of copies that share a record, which has `fixed` bytes besides.
    pub(super) fn long(limit: usize, fixed: usize) -> Self {
        Self {
            of_each: limit,
            of_strings: limit,
            of_all: MAX_SIZE.saturating_sub(fixed),
            reserved: RESERVED,
        }
    }
}

/// When the memory is looked at that is [missing](UserCopies::missing).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// Right behind [`copy`]: what that leaves is copied.
    Now,
    /// Later, or without that: all is copied.
    Again,
}

impl WantedMemory<'_> {
    /// Makes room for all of it, which is missing then.
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
    // There is none, as in `send()`.
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

/// Copies the strings of an array of pointers, as many as fit into `most` bytes. Returns whether
/// the array could be read.
#[inline(never)]
fn copy_strings<const SIZE: usize>(
    to: &mut Copy<'_, SIZE>,
    from: u64,
    pointers: Pointers,
    most: usize,
) -> bool {
    // Each of them takes a byte.
    // CAST: Lossless.
    for n in 0..=most as u64 {
        // The kernel takes no array for an empty one, and makes one empty string of that.
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
    // What does not end in a NUL is not whole. There is text, unless all strings are empty.
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

/// Makes a string the text of a record.
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

/// Marks an exact string that was longer.
#[cold]
#[inline(never)]
fn finish_exact<const SIZE: usize>(copy: &mut Copy<'_, SIZE>, text: &UserText) {
    if matches!(text, UserText::Start) {
        copy.push(EXACT_MARK);
    }
}
