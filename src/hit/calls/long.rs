// SPDX-License-Identifier: GPL-2.0

//! Copies of more than [`MAX_COPIED`](crate::engine::program::syscall::MAX_COPIED) bytes, for whole
//! system calls.
//!
//! What is noted of each call in progress has no room for them. They have memory of their own, for
//! fewer calls.

use crate::{
    engine::{
        program::syscall::{Values, MAX_COPIES},
        record::MAX_SIZE,
    },
    hit::{
        calls::memory::{Pass, WantedMemory},
        sample::LongCopied,
    },
    kapi::{context, per_task::PerTask, user::UserCopies},
};
use kernel::prelude::*;

/// Calls in progress that have room for such copies in any case.
const MAX_LONG: usize = 64;

/// The long copies of the calls that tasks have begun.
pub(super) struct LongCalls(PerTask<LongCopies, MAX_LONG>);

/// The copies of a call.
struct LongCopies {
    /// The address space with the memory that is missing; 0 if none is.
    lacks_of: u64,
    memory: UserCopies<MAX_COPIES, MAX_SIZE>,
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
    pub(super) fn note(&self, wanted: WantedMemory<'_>, values: &Values) -> bool {
        // The return of a call with the task's last copies was not seen.
        self.forget();
        let Some(mut call) = self.0.put() else {
            return false;
        };
        let call: &mut LongCopies = &mut call;
        wanted.begin(values, &mut call.memory);
        call.lacks_of = match wanted.copy_missing(values, &mut call.memory, Pass::Again) {
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
        wanted: WantedMemory<'_>,
        values: &mut Values,
        record: impl FnOnce(&mut Values, LongCopied<'_>, bool),
    ) -> bool {
        let Some(mut call) = self.0.take() else {
            return false;
        };
        let is_read = call.lacks_of == 0
            || (context::current().address_space() == call.lacks_of
                && wanted.copy_missing(values, &mut call.memory, Pass::Again));
        record(values, call.memory.view(), is_read);
        true
    }
}
