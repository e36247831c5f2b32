// SPDX-License-Identifier: GPL-2.0

//! Whole system calls, each recorded once: when it returns.
//!
//! A call that begins is noted for its task, with a copy of its user memory, which may be something
//! else when it returns. What is not in memory then, is copied when the call returns, which has
//! brought it in. A call that was not noted, because it began before that or because there was no
//! room, is recorded as it is when it returns, without its duration. Where a call makes a task,
//! that returns from it too, with 0: its maker has recorded the call.

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

/// What [`NotedCall::lacks_of`] is for a call with long copies.
const IS_LONG: u64 = 1;

/// Calls in progress that are noted in any case.
const MAX_IN_PROGRESS: usize = 4096;

/// The calls that tasks have begun.
struct NotedCalls {
    calls: PerTask<NotedCall, MAX_IN_PROGRESS>,
    long: LongCalls,
}

/// The calls in progress.
pub(crate) struct InProgress {
    calls: Arc<NotedCalls>,
    /// Frees what is left of a task that has not returned from its call.
    exits: ExitWatch<NotedCalls>,
    /// The number of recorders that are armed.
    armed: AtomicU64,
    /// The number of times that one was.
    armings: AtomicU64,
}

/// What is noted of a call that begins.
struct NotedCall {
    /// The recorder's [`WholeCallRecorder::key`].
    key: u64,
    began: Instant,
    /// The address space with the memory that is missing below, or [`IS_LONG`]; 0 if none is.
    lacks_of: u64,
    /// The pointers that it has in memory.
    pointers: Pointers,
    /// The arguments, and room for the results.
    values: Values,
    memory: CallMemory<MAX_COPIES>,
}

impl InProgress {
    /// Makes a table without room, which the first recorder makes that is armed.
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

    /// Makes room for strings of more than [`MAX_COPIED`] bytes, unless there is.
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

/// Returns a key for the calls of `number` which differs from those for other `armings`.
fn key(armings: u64, number: u32) -> u64 {
    armings << 16 | u64::from(number & 0xffff)
}

/// Returns the number of the calls that `key` is for.
fn number_of(key: u64) -> u32 {
    // CAST: A part of it.
    key as u32 & 0xffff
}

/// Records the system calls of one number.
pub(crate) struct WholeCallRecorder {
    pub(crate) recorder: Recorder,
    copies: Copies,
    returns: Returns,
    /// The number of these calls.
    number: u32,
    in_progress: Arc<InProgress>,
    /// Tells apart what it and others have noted, now and when it was armed before.
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
        begun.lacks_of = 0;
        if self.copies.count() != 0 {
            return self.note_memory::<COMPAT>(begun, shared);
        }
        begun.memory.forget();
        begin(begun);
    }

    // The last that its caller calls.
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

    /// Copies the memory of a call that is left, and notes whether something is missing.
    #[cold]
    #[inline(never)]
    fn note_missing(
        &self,
        noted: &mut NotedCall,
        (limit, pointers): (usize, Pointers),
        pass: Pass,
    ) {
        let wanted = self.wanted(Limits::short(limit), pointers);
        noted.pointers = pointers;
        if !wanted.copy_missing(&noted.values, &mut noted.memory, pass) {
            noted.lacks_of = context::current().address_space();
        }
    }

    /// Records a call that returns. Returns false instead if it was not noted, unless such a call
    /// is recorded, too, if `OTHERS`; the task may be in a 32-bit call if not.
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
                if begun.lacks_of != 0 {
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

    /// Returns whether it is a task that the call has made, and not its maker, that returns.
    #[inline(always)]
    fn is_made_task(&self, result: u64) -> bool {
        self.returns == Returns::Twice && result == 0
    }

    /// Records a call of which nothing was noted.
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
            if long.note(self.wanted_long(limit, pointers), &values)
                && self.finish_long((&mut values, pointers), results, shared)
            {
                return;
            }
        }
        let mut memory = CallMemory::empty();
        let are_read = self.copy(&values, limit, &mut memory);
        let wanted = self.wanted(Limits::short(limit), pointers);
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

    /// Copies what could not be read when the call began, unless it has replaced the address
    /// space, as `execve` does. Returns false for a call with long copies, which it has recorded.
    #[cold]
    #[inline(never)]
    fn copy_missing(&self, begun: &mut NotedCall, results: [u64; 2], shared: &CallsShared) -> bool {
        if begun.lacks_of == IS_LONG {
            let values = (&mut begun.values, begun.pointers);
            if !self.finish_long(values, results, shared) {
                // All were forgotten.
                self.record_now((begun.values, begun.pointers), results, shared);
            }
            return false;
        }
        let is_there = context::current().address_space() == begun.lacks_of;
        let wanted = self.wanted(Limits::short(shared.limit()), begun.pointers);
        if !is_there || !wanted.copy_missing(&begun.values, &mut begun.memory, Pass::Again) {
            shared.count_unread();
        }
        true
    }

    /// Notes a call of which up to `limit` bytes of an argument are wanted, more than there is room
    /// for among what is noted of each call. The last that its caller calls.
    #[cold]
    #[inline(never)]
    fn note_long(&self, mut begun: Kept<'_, NotedCall>, limit: usize, pointers: Pointers) {
        let noted = &mut *begun;
        let long = &self.in_progress.calls.long;
        if long.note(self.wanted_long(limit, pointers), &noted.values) {
            noted.lacks_of = IS_LONG;
            noted.pointers = pointers;
            return begin(begun);
        }
        let wanted = self.wanted(Limits::short(limit), pointers);
        wanted.begin(&noted.values, &mut noted.memory);
        self.note_missing(noted, (limit, pointers), Pass::Again);
        begin(begun);
    }

    /// Returns what is copied of a call's memory.
    fn wanted(&self, limits: Limits, pointers: Pointers) -> WantedMemory<'_> {
        WantedMemory {
            copies: &self.copies,
            pointers,
            limits,
        }
    }

    /// Returns the memory that is wanted of a call, in copies of at most `limit` bytes.
    fn wanted_long(&self, limit: usize, pointers: Pointers) -> WantedMemory<'_> {
        let fixed = exec::length_with(&self.recorder.program, 0);
        self.wanted(Limits::long(limit, fixed), pointers)
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
        let wanted = self.wanted_long(shared.limit(), pointers);
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

/// When something happens.
#[derive(Clone, Copy, Default)]
struct Instant {
    /// In nanoseconds by [`Clock::Local`], if that takes few instructions; 0 otherwise.
    local: u64,
    /// In nanoseconds by [`Clock::Mono`] otherwise: the other one may then differ between CPUs.
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
            lacks_of: 0,
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
            // Some tasks return when nobody sees it.
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
            // What was noted has been looked for.
            When::Exit => [compat_result(regs.return_value()), 0],
        };
        let values = (self.compat_values(regs), Pointers::Halves);
        self.record_now(values, results, shared);
    }
}
