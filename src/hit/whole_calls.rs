// SPDX-License-Identifier: GPL-2.0

//! Whole system calls, each recorded once: when it returns.
//!
//! A call that begins is noted for its task, with a copy of its user memory, which may be
//! something else when it returns. A call that was not noted, because it began before that
//! or because there was no room, is recorded as it is when it returns, without its duration.

use crate::{
    engine::{
        exec,
        record::PROBE_SIZE,
        syscall::{Copies, Values, MAX_ARGUMENTS, MAX_COPIES, WORDS},
    },
    hit::{
        calls::{copy, CallArguments, Memory, Words},
        prepared::Prepared,
        recorder::{Passed, Recorder},
        stages::Stage,
    },
    kapi::{
        clock::Clock,
        context::{Entry, OnCpu, Unpreempted},
        per_task::PerTask,
        registration::Next,
        regs::Regs,
        tracepoint::syscall::{self, When},
    },
};
use core::sync::atomic::{AtomicU64, Ordering};
use kernel::{prelude::*, sync::Arc};

/// Most calls in progress that are noted.
const MAX_IN_PROGRESS: usize = 4096;

/// The calls in progress.
pub(crate) struct InProgress {
    calls: PerTask<Begun, MAX_IN_PROGRESS>,
    /// The number of recorders that are armed.
    armed: AtomicU64,
    /// The number of times that one was.
    armings: AtomicU64,
}

/// What is noted of a call that begins.
struct Begun {
    /// The recorder's [`WholeCallRecorder::key`].
    key: u64,
    /// When it began, in nanoseconds.
    time: u64,
    arguments: [u64; MAX_ARGUMENTS],
    memory: Memory<MAX_COPIES>,
}

impl InProgress {
    /// Makes a table without room, which the first recorder makes that is armed.
    pub(crate) const fn new() -> Self {
        Self {
            calls: PerTask::new(),
            armed: AtomicU64::new(0),
            armings: AtomicU64::new(0),
        }
    }

    /// Returns how many calls could not be noted.
    pub(crate) fn not_noted(&self) -> u64 {
        self.calls.refused()
    }
}

/// The words of a call, and its memory.
type Whole<'a> = CallArguments<'a, &'a Values, MAX_COPIES>;

/// Records the system calls of one number.
pub(crate) struct WholeCallRecorder {
    pub(crate) recorder: Recorder,
    copies: Copies,
    /// Whether such a call returns.
    returns: bool,
    in_progress: Arc<InProgress>,
    /// Tells apart what it and others have noted, now and when it was armed before.
    key: AtomicU64,
}

impl WholeCallRecorder {
    /// Returns what makes a recorder; `copies` says which of the call's arguments point to user
    /// memory.
    pub(crate) fn new(
        recorder: Prepared,
        (copies, returns): (Copies, bool),
        in_progress: Arc<InProgress>,
    ) -> impl Init<Self> {
        init!(Self {
            recorder <- recorder.init(),
            copies,
            returns,
            in_progress,
            key: AtomicU64::new(0),
        })
    }

    /// Notes a call that begins.
    #[inline(never)]
    fn note(&self, regs: &Regs, limit: usize) {
        self.in_progress.calls.put(|begun| {
            begun.key = self.key.load(Ordering::Relaxed);
            begun.arguments = regs.call_arguments();
            begun.memory.clear();
            self.copy(&begun.arguments, limit, &mut begun.memory);
            begun.time = Clock::Mono.now();
        });
    }

    /// Records a call that returns.
    #[inline(never)]
    fn finish(&self, regs: &Regs, limit: impl Fn() -> usize) {
        let result = regs.return_value();
        let recorded = self.in_progress.calls.take(|begun| {
            let is_ours = begun.key == self.key.load(Ordering::Relaxed);
            if is_ours {
                let duration = Clock::Mono.now().saturating_sub(begun.time).max(1);
                self.record(&begun.arguments, [result, duration], &begun.memory);
            }
            is_ours
        });
        if recorded != Some(true) {
            self.record_now(regs, [result, 0], limit());
        }
    }

    /// Records a call of which nothing was noted.
    #[cold]
    #[inline(never)]
    fn record_now(&self, regs: &Regs, results: [u64; 2], limit: usize) {
        let arguments = regs.call_arguments();
        let mut memory = Memory::empty();
        self.copy(&arguments, limit, &mut memory);
        self.record(&arguments, results, &memory);
    }

    fn copy(&self, arguments: &[u64], limit: usize, to: &mut Memory<MAX_COPIES>) {
        let argument = |index| arguments.get(usize::from(index)).copied().unwrap_or(0);
        copy(&self.copies, argument, limit, to);
    }

    /// Records a call. The `results` are nothing to one that does not return.
    fn record(&self, arguments: &[u64], results: [u64; 2], memory: &Memory<MAX_COPIES>) {
        let mut values: Values = [0; WORDS];
        let count = usize::from(self.copies.arguments).min(MAX_ARGUMENTS);
        let (to, behind) = values.split_at_mut(count);
        for (to, value) in to.iter_mut().zip(arguments) {
            *to = *value;
        }
        for (to, value) in behind.iter_mut().zip(results) {
            *to = value;
        }
        let results = if self.returns { 2 } else { 0 };
        let end = count
            .wrapping_add(results)
            .wrapping_mul(8)
            .wrapping_add(PROBE_SIZE);
        let arguments = CallArguments {
            words: &values,
            copies: memory,
        };
        let on_cpu = Unpreempted::begin();
        let recorder = &self.recorder;
        let next = recorder.serve_copies(arguments, &on_cpu.here(), |out| {
            exec::put_words(values, out.get_mut(..end).unwrap_or_default());
        });
        match next {
            Next::Done => {}
            Next::Finish => recorder.wake(&on_cpu.here()),
            Next::Stage(Stage::SEVERAL) => self.record_in_several(arguments, end, &on_cpu.here()),
            Next::Stage(_) => {
                arguments.serve_slow(recorder, Entry::Tracepoint, &on_cpu.here());
            }
            Next::SettleThenStage(never, _) | Next::SettleThenFinish(never) => match never {},
        }
        on_cpu.end();
    }

    /// Records a call that all instances record; its words are before the offset `end`.
    #[inline(never)]
    fn record_in_several(&self, arguments: Whole<'_>, end: usize, here: &OnCpu) {
        let recorder = &self.recorder;
        let next = recorder.serve_copies_in_all(arguments.copies, here, |out| {
            exec::put_words(*arguments.words, out.get_mut(..end).unwrap_or_default());
        });
        if !recorder.is_served(next, here) {
            arguments.serve_slow(recorder, Entry::Tracepoint, here);
        }
    }
}

impl Words for &Values {
    #[inline(always)]
    fn word(&self, index: u8) -> u64 {
        self.get(usize::from(index)).copied().unwrap_or(0)
    }
}

impl syscall::Handler for WholeCallRecorder {
    fn prepare(&self) -> Result {
        let all = &self.in_progress;
        all.calls.make_room(|| Begun {
            key: 0,
            time: 0,
            arguments: [0; MAX_ARGUMENTS],
            memory: Memory::empty(),
        })?;
        all.armed.fetch_add(1, Ordering::Relaxed);
        let armings = all.armings.fetch_add(1, Ordering::Relaxed);
        self.key.store(armings.wrapping_add(1), Ordering::Relaxed);
        Ok(())
    }

    fn retire(&self) {
        let all = &self.in_progress;
        if all.armed.fetch_sub(1, Ordering::Relaxed) == 1 {
            // Some tasks are gone, without having returned.
            all.calls.clear();
        }
    }

    #[inline(always)]
    fn serve(&self, regs: &Regs, when: When, limit: impl Fn() -> usize) {
        match when {
            When::Enter if self.returns => self.note(regs, limit()),
            When::Enter => self.record_now(regs, [0, 0], limit()),
            When::Exit => self.finish(regs, limit),
        }
    }
}
