// SPDX-License-Identifier: GPL-2.0

//! Copies of more than [`MAX_COPIED`](crate::engine::program::syscall::MAX_COPIED) bytes, for whole
//! system calls.
//!
//! A `NotedCall` has no room for them. They are kept in a table of their own, for fewer calls.

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

/// Number of calls in progress for whose long copies there always is room.
const MAX_LONG: usize = 64;

/// The long copies of calls in progress, by task.
pub(super) struct LongCalls(PerTask<LongCopies, MAX_LONG>);

/// The copies of a call.
struct LongCopies {
    /// The address space of the memory that is missing; 0 if none is missing.
    missing_in: u64,
    memory: UserCopies<MAX_COPIES, MAX_SIZE>,
}

impl LongCalls {
    /// Makes a table without room.
    pub(super) const fn new() -> Self {
        Self(PerTask::new())
    }

    /// Allocates the table, unless that has been done before.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub(super) fn make_room(&self) -> Result {
        self.0.make_room(|| LongCopies {
            missing_in: 0,
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

    /// Copies the user memory `wanted` of a call of the current task, for [`finish`](Self::finish).
    /// Returns false if there is no room.
    #[inline(never)]
    pub(super) fn note(&self, wanted: WantedMemory<'_>, values: &Values) -> bool {
        // The task may have copies of an earlier call, whose return was not seen.
        self.forget();
        let Some(mut call) = self.0.put() else {
            return false;
        };
        let call: &mut LongCopies = &mut call;
        wanted.begin(values, &mut call.memory);
        call.missing_in = match wanted.copy_missing(values, &mut call.memory, Pass::Again) {
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
        let is_read = call.missing_in == 0
            || (context::current().address_space() == call.missing_in
                && wanted.copy_missing(values, &mut call.memory, Pass::Again));
        record(values, call.memory.view(), is_read);
        true
    }
}
