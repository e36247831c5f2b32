// SPDX-License-Identifier: GPL-2.0

//! Whole system calls, each recorded once: when it returns.
//!
//! The entry of a call notes its arguments for the task, with a copy of its user memory, which may
//! have changed when the call returns. Memory that is not present at the entry is copied at the
//! return: the call itself has faulted it in. A call without a note, because it began before the
//! recorder was armed or because there was no room, is recorded as it is at its return, without a
//! duration. A call that makes a task, such as `fork`, returns 0 in the new task, too; only the
//! return in its parent is recorded.

use crate::{
    engine::program::{
        exec,
        syscall::{compat_result, Copies, Returns, Values, MAX_COPIED, MAX_COPIES, WORDS},
    },
    hit::{
        calls::{
            long::LongCalls,
            memory::{argument, copy, CallMemory, Limits, Pass, Pointers, WantedMemory},
        },
        recorder::Recorder,
        recorder_builder::RecorderBuilder,
        source::{LongCall, Source, WholeCall},
    },
    kapi::{
        clock::{self, Clock},
        context::{self, OnCpu, Unpreempted},
        per_task::{Kept, PerTask},
        regs::Regs,
        tasks::{ExitWatch, Exits},
        tracepoint::{
            syscall::{self, CallsShared, When},
            Tracepoints,
        },
    },
};
use core::sync::atomic::{AtomicU64, Ordering};
use kernel::{prelude::*, sync::Arc};

/// The value of [`NotedCall::missing_in`] for a call with long copies.
const IS_LONG: u64 = 1;

/// Number of calls in progress for which there always is room.
const MAX_IN_PROGRESS: usize = 4096;

/// The notes of calls in progress, by task.
struct NotedCalls {
    calls: PerTask<NotedCall, MAX_IN_PROGRESS>,
    long: LongCalls,
}

/// The calls in progress, for all recorders.
pub(crate) struct InProgress {
    calls: Arc<NotedCalls>,
    /// Frees the note of a task that exits without a return from its call.
    exits: ExitWatch<NotedCalls>,
    /// The number of recorders that are armed.
    armed: AtomicU64,
    /// How often a recorder was armed.
    armings: AtomicU64,
}

/// What the entry of a call notes for its return.
struct NotedCall {
    /// The recorder's [`WholeCallRecorder::key`].
    key: u64,
    began: Instant,
    /// The address space of the memory that is missing in `memory`, or [`IS_LONG`]; 0 if none is
    /// missing.
    missing_in: u64,
    /// The size of the pointers in its memory.
    pointers: Pointers,
    /// The arguments, and room for the results.
    values: Values,
    memory: CallMemory<MAX_COPIES>,
}

impl InProgress {
    /// Makes an empty table; the first recorder that is armed allocates it.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `ENODEV` or `ENOENT` without the tracepoint of tasks that exit.
    ///
    /// Context: process, may sleep; the same for the drop.
    pub(crate) fn new(points: &Arc<Tracepoints>) -> Result<Self> {
        let calls = NotedCalls {
            calls: PerTask::new(),
            long: LongCalls::new(),
        };
        let calls = Arc::new(calls, GFP_KERNEL)?;
        Ok(Self {
            exits: ExitWatch::new(points, calls.clone())?,
            calls,
            armed: AtomicU64::new(0),
            armings: AtomicU64::new(0),
        })
    }

    /// Allocates room for strings of more than [`MAX_COPIED`] bytes, unless that has been done
    /// before.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub(crate) fn make_long_room(&self) -> Result {
        self.calls.long.make_room()
    }

    /// Returns how many calls could not be noted, and how many with [long](Self::make_long_room)
    /// strings.
    pub(crate) fn not_noted(&self) -> [u64; 2] {
        [self.calls.calls.refused(), self.calls.long.refused()]
    }
}

impl syscall::Begun for InProgress {
    fn number(&self) -> Option<u32> {
        Some(number_of(self.calls.calls.look()?.key))
    }
}

impl Exits for NotedCalls {
    fn exits(&self) {
        self.calls.forget();
        self.long.forget();
    }
}

/// Returns the key of notes about calls of `number`, for a recorder that was armed as the
/// `armings`th one.
fn key(armings: u64, number: u32) -> u64 {
    armings << 16 | u64::from(number & 0xffff)
}

/// Returns the number of the calls that `key` is for.
fn number_of(key: u64) -> u32 {
    // CAST: The low bits of the key are the number.
    key as u32 & 0xffff
}

/// Records the system calls of one number.
pub(crate) struct WholeCallRecorder {
    pub(crate) recorder: Recorder,
    /// The arguments that point to user memory, which is copied.
    copies: Copies,
    returns: Returns,
    /// The number of the system call.
    number: u32,
    in_progress: Arc<InProgress>,
    /// Marks its own notes: other recorders, and this one when it was armed before, have other
    /// keys.
    key: AtomicU64,
}

impl WholeCallRecorder {
    /// Returns what makes a recorder; `copies` says which of the call's arguments point to user
    /// memory.
    pub(crate) fn new(
        recorder: RecorderBuilder,
        (copies, returns, number): (Copies, Returns, u32),
        in_progress: Arc<InProgress>,
    ) -> impl Init<Self> {
        init!(Self {
            recorder <- recorder.init(),
            copies,
            returns,
            number,
            in_progress,
            key: AtomicU64::new(0),
        })
    }

    /// Returns the arguments of a 32-bit call, as [`values`] does.
    fn compat_values(&self, regs: &Regs) -> Values {
        let mut values = [0; WORDS];
        let arguments = regs.compat_call_arguments();
        for ((to, register), n) in values.iter_mut().zip(arguments).zip(0u8..) {
            *to = self.copies.widened(n, register);
        }
        values
    }

    /// Notes a call that begins, of 32 bits if `COMPAT`.
    #[inline(never)]
    fn note<const COMPAT: bool>(&self, regs: &Regs, shared: &CallsShared) {
        let Some(mut begun) = self.in_progress.calls.calls.put() else {
            return;
        };
        begun.key = self.key.load(Ordering::Relaxed);
        begun.values = match COMPAT {
            true => self.compat_values(regs),
            false => values(regs),
        };
        begun.missing_in = 0;
        if self.copies.count() != 0 {
            return self.note_memory::<COMPAT>(begun, shared);
        }
        begun.memory.forget();
        begin(begun);
    }

    // The caller makes a tail call.
    #[inline(never)]
    fn note_memory<const COMPAT: bool>(
        &self,
        mut begun: Kept<'_, NotedCall>,
        shared: &CallsShared,
    ) {
        let limit = shared.limit();
        let pointers = match COMPAT {
            true => Pointers::Halves,
            false => Pointers::Words,
        };
        if limit > MAX_COPIED {
            return self.note_long(begun, limit, pointers);
        }
        let noted = &mut *begun;
        if !self.copy(&noted.values, limit, &mut noted.memory) {
            self.note_missing(noted, (limit, pointers), Pass::Now);
        }
        begin(begun);
    }

    /// Copies the memory that is still missing, and notes whether some of it cannot be read yet.
    #[cold]
    #[inline(never)]
    fn note_missing(
        &self,
        noted: &mut NotedCall,
        (limit, pointers): (usize, Pointers),
        pass: Pass,
    ) {
        let wanted = self.memory_to_copy(Limits::short(limit), pointers);
        noted.pointers = pointers;
        if !wanted.copy_missing(&noted.values, &mut noted.memory, pass) {
            noted.missing_in = context::current().address_space();
        }
    }

    /// Records a call that returns. If the call has no note, records it only if `OTHERS`, and
    /// otherwise returns false: then the task may be in a 32-bit call.
    #[inline(never)]
    fn finish<const OTHERS: bool>(&self, regs: &Regs, shared: &CallsShared) -> bool {
        if let Some(mut begun) = self.in_progress.calls.calls.take() {
            if begun.key == self.key.load(Ordering::Relaxed) {
                let mut on_cpu = Unpreempted::begin();
                let duration = Instant::now(&on_cpu.here()).since(begun.began);
                let result = match OTHERS {
                    true => regs.return_value(),
                    false => compat_result(regs.return_value()),
                };
                let results = [result, duration];
                if begun.missing_in != 0 {
                    on_cpu.end();
                    if !self.copy_missing(&mut begun, results, shared) {
                        return true;
                    }
                    on_cpu = Unpreempted::begin();
                }
                let NotedCall { values, memory, .. } = &mut *begun;
                self.record(values, results, memory, on_cpu);
                return true;
            }
        }
        if OTHERS && !self.is_made_task(regs.return_value()) {
            let values = (values(regs), Pointers::Words);
            self.record_now(values, [regs.return_value(), 0], shared);
        }
        OTHERS
    }

    /// Returns whether the returning task was made by the call.
    #[inline(always)]
    fn is_made_task(&self, result: u64) -> bool {
        self.returns == Returns::Twice && result == 0
    }

    /// Records a call without a note.
    #[cold]
    #[inline(never)]
    fn record_now(
        &self,
        (mut values, pointers): (Values, Pointers),
        results: [u64; 2],
        shared: &CallsShared,
    ) {
        let limit = shared.limit();
        if limit > MAX_COPIED && self.copies.count() != 0 {
            let long = &self.in_progress.calls.long;
            if long.note(self.long_memory_to_copy(limit, pointers), &values)
                && self.finish_long((&mut values, pointers), results, shared)
            {
                return;
            }
        }
        let mut memory = CallMemory::empty();
        let are_read = self.copy(&values, limit, &mut memory);
        let wanted = self.memory_to_copy(Limits::short(limit), pointers);
        if !are_read && !wanted.copy_missing(&values, &mut memory, Pass::Now) {
            shared.count_unread();
        }
        self.record(&mut values, results, &memory, Unpreempted::begin());
    }

    /// Copies a call's memory. Returns whether all could be read, and nothing is left.
    #[inline(always)]
    fn copy(&self, values: &Values, limit: usize, to: &mut CallMemory<MAX_COPIES>) -> bool {
        copy(&self.copies, argument(values), limit, to)
    }

    /// Copies the memory that could not be read at the call's entry, unless the call has replaced
    /// the address space, as `execve` does. If the call has long copies, records it and returns
    /// false.
    #[cold]
    #[inline(never)]
    fn copy_missing(&self, begun: &mut NotedCall, results: [u64; 2], shared: &CallsShared) -> bool {
        if begun.missing_in == IS_LONG {
            let values = (&mut begun.values, begun.pointers);
            if !self.finish_long(values, results, shared) {
                // The long copies were freed.
                self.record_now((begun.values, begun.pointers), results, shared);
            }
            return false;
        }
        let is_there = context::current().address_space() == begun.missing_in;
        let wanted = self.memory_to_copy(Limits::short(shared.limit()), begun.pointers);
        if !is_there || !wanted.copy_missing(&begun.values, &mut begun.memory, Pass::Again) {
            shared.count_unread();
        }
        true
    }

    /// Notes a call with long copies, of up to `limit` bytes of an argument: more than a
    /// `NotedCall` has room for. The caller makes a tail call.
    #[cold]
    #[inline(never)]
    fn note_long(&self, mut begun: Kept<'_, NotedCall>, limit: usize, pointers: Pointers) {
        let noted = &mut *begun;
        let long = &self.in_progress.calls.long;
        if long.note(self.long_memory_to_copy(limit, pointers), &noted.values) {
            noted.missing_in = IS_LONG;
            noted.pointers = pointers;
            return begin(begun);
        }
        let wanted = self.memory_to_copy(Limits::short(limit), pointers);
        wanted.begin(&noted.values, &mut noted.memory);
        self.note_missing(noted, (limit, pointers), Pass::Again);
        begin(begun);
    }

    /// Returns which user memory of the call is to be copied.
    fn memory_to_copy(&self, limits: Limits, pointers: Pointers) -> WantedMemory<'_> {
        WantedMemory {
            copies: &self.copies,
            pointers,
            limits,
        }
    }

    /// Returns which user memory of the call is to be copied into one long copy, at most `limit`
    /// bytes of each argument.
    fn long_memory_to_copy(&self, limit: usize, pointers: Pointers) -> WantedMemory<'_> {
        let fixed = exec::length_with(&self.recorder.program, 0);
        self.memory_to_copy(Limits::long(limit, fixed), pointers)
    }

    /// Records a call that [`Self::note_long`] has noted. Returns false if the task has no long
    /// copies.
    #[inline(never)]
    fn finish_long(
        &self,
        (values, pointers): (&mut Values, Pointers),
        results: [u64; 2],
        shared: &CallsShared,
    ) -> bool {
        let long = &self.in_progress.calls.long;
        let wanted = self.long_memory_to_copy(shared.limit(), pointers);
        long.finish(wanted, values, |values, copied, is_read| {
            if !is_read {
                shared.count_unread();
            }
            self.put_results(values, results);
            let on_cpu = Unpreempted::begin();
            LongCall(values, copied).serve_slow(&self.recorder, &on_cpu.here());
            on_cpu.end();
        })
    }

    /// Records a call. The `results` are nothing to one that does not return.
    #[inline(always)]
    fn record(
        &self,
        values: &mut Values,
        results: [u64; 2],
        memory: &CallMemory<MAX_COPIES>,
        on_cpu: Unpreempted,
    ) {
        self.put_results(values, results);
        let count = usize::from(self.copies.arguments);
        let results = match self.returns {
            Returns::Never => 0,
            Returns::Once | Returns::Twice => results.len(),
        };
        let words = count.wrapping_add(results);
        let call = WholeCall(values, memory.view());
        self.recorder.serve_copied(call, words, &on_cpu.here());
        on_cpu.end();
    }

    /// Puts the results behind the arguments.
    #[inline(always)]
    fn put_results(&self, values: &mut Values, results: [u64; 2]) {
        let count = usize::from(self.copies.arguments);
        let behind = values.get_mut(count..).unwrap_or_default();
        if let Some(to) = behind.first_chunk_mut() {
            *to = results;
        }
    }
}

/// A point in time, by one of two clocks.
#[derive(Clone, Copy, Default)]
struct Instant {
    /// In nanoseconds by [`Clock::Local`], if that takes few instructions; 0 otherwise.
    local: u64,
    /// In nanoseconds by [`Clock::Mono`], where `local` is 0: there [`Clock::Local`] may differ
    /// between CPUs.
    mono: u64,
}

impl Instant {
    #[inline(always)]
    fn now(here: &OnCpu) -> Self {
        match clock::now_fast(here) {
            Some(local) => Self { local, mono: 0 },
            None => Self::slowly(),
        }
    }

    #[cold]
    #[inline(never)]
    fn slowly() -> Self {
        Self {
            local: 0,
            mono: Clock::Mono.now(),
        }
    }

    /// Returns the nanoseconds from `began` until this moment, at least 1; 0 if the clock has
    /// changed meanwhile.
    #[inline(always)]
    fn since(self, began: Self) -> u64 {
        match (self.mono, began.mono) {
            (0, 0) => self.local.saturating_sub(began.local).max(1),
            (0, _) | (_, 0) => 0,
            (now, began) => now.saturating_sub(began).max(1),
        }
    }
}

/// Notes the time, last.
#[inline(always)]
fn begin(mut begun: Kept<'_, NotedCall>) {
    let on_cpu = Unpreempted::begin();
    begun.began = Instant::now(&on_cpu.here());
    on_cpu.end();
}

/// Returns the arguments of a call, with room for its results.
#[inline(always)]
fn values(regs: &Regs) -> Values {
    let [a, b, c, d, e, f] = regs.call_arguments();
    [a, b, c, d, e, f, 0, 0]
}

impl syscall::CallHandler for WholeCallRecorder {
    type Begun = InProgress;

    fn prepare(&self) -> Result {
        let all = &self.in_progress;
        all.calls.calls.make_room(|| NotedCall {
            key: 0,
            began: Instant::default(),
            missing_in: 0,
            pointers: Pointers::Words,
            values: [0; WORDS],
            memory: CallMemory::empty(),
        })?;
        if all.armed.load(Ordering::Relaxed) == 0 {
            all.exits.set_enabled(true)?;
        }
        all.armed.fetch_add(1, Ordering::Relaxed);
        let armings = all.armings.fetch_add(1, Ordering::Relaxed);
        let key = key(armings.wrapping_add(1), self.number);
        self.key.store(key, Ordering::Relaxed);
        Ok(())
    }

    fn retire(&self) {
        let all = &self.in_progress;
        if all.armed.fetch_sub(1, Ordering::Relaxed) == 1 {
            // Disarming does not fail.
            let _ = all.exits.set_enabled(false);
            // Free the notes of calls in progress: their returns are not reported any more.
            all.calls.calls.clear();
            all.calls.long.clear();
        }
    }

    #[inline(always)]
    fn serve(&self, regs: &Regs, when: When, shared: &CallsShared) {
        match when {
            When::Enter if self.returns != Returns::Never => self.note::<false>(regs, shared),
            When::Enter => self.record_now((values(regs), Pointers::Words), [0, 0], shared),
            When::Exit => {
                self.finish::<true>(regs, shared);
            }
        }
    }

    fn serve_end(&self, regs: &Regs, shared: &CallsShared) -> bool {
        self.finish::<false>(regs, shared)
    }

    #[cold]
    #[inline(never)]
    fn serve_compat(&self, regs: &Regs, when: When, shared: &CallsShared) {
        let results = match when {
            When::Enter if self.returns != Returns::Never => {
                return self.note::<true>(regs, shared);
            }
            When::Enter => [0, 0],
            When::Exit if self.is_made_task(compat_result(regs.return_value())) => return,
            // [`Self::serve_end`] has found no note of the call.
            When::Exit => [compat_result(regs.return_value()), 0],
        };
        let values = (self.compat_values(regs), Pointers::Halves);
        self.record_now(values, results, shared);
    }
}
