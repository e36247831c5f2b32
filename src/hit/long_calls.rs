// SPDX-License-Identifier: GPL-2.0

//! Copies of more than [`MAX_COPIED`](crate::engine::program::syscall::MAX_COPIED) bytes, for whole system
//! calls.
//!
//! What is noted of each call in progress has no room for them. They have memory of their own, for
//! fewer calls.

use crate::{
    engine::{
        program::syscall::{Copies, Special, Values, COPY_SIZE, EXACT_MARK, MAX_COPIES},
        record::{MAX_SIZE, PROBE_SIZE},
    },
    hit::{
        calls::{argument, copy_special, copy_strings, CallMemory, Pointers},
        sample::LongCopied,
    },
    kapi::{
        context,
        per_task::PerTask,
        user::{Copy, UserCopies, UserText},
    },
};
use kernel::prelude::*;

/// Calls in progress that have room for such copies in any case.
const MAX_LONG: usize = 64;

/// Bytes that a long copy leaves for each later one, for one that cannot be read yet, and for an
/// address.
const RESERVED: usize = COPY_SIZE;
const _: () = assert!(PROBE_SIZE + 256 + MAX_COPIES * RESERVED < MAX_SIZE);

/// The long copies of the calls that tasks have begun.
pub(super) struct LongCalls(PerTask<LongCopies, MAX_LONG>);

/// The copies of a call.
struct LongCopies {
    /// The address space with the memory that is missing; 0 if none is.
    lacks_of: u64,
    /// The pointers that it has in memory.
    pointers: Pointers,
    memory: UserCopies<MAX_COPIES, MAX_SIZE>,
}

/// What is copied of a call.
#[derive(Clone, Copy)]
pub(super) struct WantedCopies<'a> {
    pub(super) copies: &'a Copies,
    /// Most bytes of an argument.
    pub(super) limit: usize,
    /// The length of the call's record without the copies.
    pub(super) fixed: usize,
}

impl LongCalls {
    /// Makes a table without room.
    pub(super) const fn new() -> Self {
        Self(PerTask::new())
    }

    /// Makes room, unless there is some already.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub(super) fn make_room(&self) -> Result {
        self.0.make_room(|| LongCopies {
            lacks_of: 0,
            pointers: Pointers::Words,
            memory: UserCopies::empty(),
        })
    }

    /// Forgets the copies of the current task.
    ///
    /// Context: process; does not sleep, as for all that follow.
    #[inline(never)]
    pub(super) fn forget(&self) {
        self.0.forget();
    }

    /// Forgets all copies.
    pub(super) fn clear(&self) {
        self.0.clear();
    }

    /// Returns for how many calls there was no room.
    pub(super) fn refused(&self) -> u64 {
        self.0.refused()
    }

    /// Copies what is wanted of the call that the current task begins. Returns false if there is
    /// no room.
    #[inline(never)]
    pub(super) fn note(
        &self,
        wanted: WantedCopies<'_>,
        values: &Values,
        pointers: Pointers,
    ) -> bool {
        // The return of a call with the task's last copies was not seen.
        self.forget();
        let Some(mut call) = self.0.put() else {
            return false;
        };
        let call: &mut LongCopies = &mut call;
        let addresses = wanted.copies.registers().iter();
        for (_, room) in call.memory.begin(addresses.map(|&at| argument(values)(at))) {
            room.finish(false);
        }
        call.pointers = pointers;
        call.lacks_of = match call.copy_missing(wanted, values) {
            true => 0,
            false => context::current().address_space(),
        };
        true
    }

    /// Copies what is missing of what was [noted](Self::note), unless the address space is another
    /// one, and calls `record` with the copies, and whether all could be read. Returns false if
    /// there are none.
    #[inline(always)]
    pub(super) fn finish(
        &self,
        wanted: WantedCopies<'_>,
        values: &mut Values,
        record: impl FnOnce(&mut Values, LongCopied<'_>, bool),
    ) -> bool {
        let Some(mut call) = self.0.take() else {
            return false;
        };
        let is_read = call.lacks_of == 0
            || (context::current().address_space() == call.lacks_of
                && call.copy_missing(wanted, values));
        record(values, call.memory.view(), is_read);
        true
    }
}

impl LongCopies {
    /// Copies what is missing. Returns whether nothing is any more.
    #[inline(never)]
    fn copy_missing(&mut self, wanted: WantedCopies<'_>, values: &Values) -> bool {
        let copies = wanted.copies;
        let word = argument(values);
        let size = copies.size.map(&word);
        let used = wanted.fixed.saturating_add(self.memory.view().length());
        let mut left = MAX_SIZE.saturating_sub(used);
        let mut later = self.memory.missing().count();
        for (index, from, mut room) in self.memory.missing() {
            later = later.saturating_sub(1);
            let most = left.saturating_sub(later.saturating_mul(RESERVED));
            let limit = wanted.limit.min(most.saturating_sub(EXACT_MARK.len()));
            let is_read = match (copies.special_at(index), size) {
                (Some(Special::Strings), _) => {
                    let from = word(copies.special_register);
                    room.truncate(0);
                    room.set_address(from);
                    copy_strings(&mut room, from, self.pointers, limit)
                }
                (Some(special), _) => {
                    let from = word(copies.special_register);
                    room.set_address(from);
                    let mut short = CallMemory::<1>::empty();
                    let mut short = short.begin([from].into_iter());
                    short.next().is_some_and(|(_, mut short)| {
                        let is_read =
                            copy_special(&mut short, from, (special, self.pointers), &word);
                        room.truncate(0);
                        room.add(short.get_mut());
                        is_read
                    })
                }
                // CAST: Lossless.
                (None, Some(size)) => room.bytes(from, (size as usize).min(limit)),
                (None, None) => copy_string(&mut room, from, limit),
            };
            // What cannot be read yet is copied when the call returns.
            let taken = match is_read {
                true => room.get_mut().len(),
                false => RESERVED,
            };
            left = left.saturating_sub(taken);
            room.finish(is_read);
        }
        self.memory.are_read()
    }
}

/// Copies the string at the address `from`, at most `limit` bytes of it besides its NUL. Returns
/// whether it could be read.
fn copy_string(to: &mut Copy<'_, MAX_SIZE>, from: u64, limit: usize) -> bool {
    match to.string::<true>(from, limit) {
        UserText::Fault => return false,
        UserText::Start => to.push(EXACT_MARK),
        UserText::Ascii | UserText::Whole => {}
    }
    true
}
