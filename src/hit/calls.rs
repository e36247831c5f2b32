// SPDX-License-Identifier: GPL-2.0

//! A system call that begins or returns.
//!
//! The user memory to record is copied before preemption is disabled: a page that is not in
//! memory is brought in, as it would be by the call itself.

use crate::{
    engine::{
        exec::{self, Arguments},
        record::{PROBE_SIZE, PROBE_WORDS},
        ring::Short,
        syscall::{make_printable, Copies, COPY_SIZE, MARK, MAX_COPIED, MAX_COPIES},
    },
    hit::{
        context::{Hit, Interrupted, Registers, UserMemory},
        prepared::Prepared,
        recorder::{Passed, Recorder},
        stages::Stage,
        tier::Tier,
    },
    kapi::{
        context::{Entry, OnCpu, Unpreempted},
        registration::Next,
        regs::Regs,
        tracepoint::syscall::{self, When},
        user,
    },
};
use core::convert::Infallible;
use kernel::prelude::*;

/// Serves the system calls of one number, when they begin or when they return.
pub(crate) struct CallRecorder {
    pub(crate) recorder: Recorder,
    copies: Copies,
}

impl CallRecorder {
    /// Returns what makes a recorder that copies user memory first.
    pub(crate) fn new(recorder: Prepared, copies: Copies) -> impl Init<Self> {
        init!(Self { recorder <- recorder.init(), copies })
    }
}

impl syscall::Handler for CallRecorder {
    #[inline(always)]
    fn serve(&self, regs: &Regs, when: When, limit: impl Fn() -> usize) {
        match self.copies.count() {
            0 => {}
            1 => return self.copy_and_serve::<1>(regs, limit()),
            _ => return self.copy_and_serve::<MAX_COPIES>(regs, limit()),
        }
        let on_cpu = Unpreempted::begin();
        match self.serve_quietly(regs, when, &on_cpu.here()) {
            Next::Done => on_cpu.end(),
            Next::Finish => self.finish(on_cpu),
            Next::Stage(Stage::SEVERAL) if when == When::Enter => {
                self.serve_several::<false>(regs, on_cpu);
            }
            Next::Stage(Stage::SEVERAL) => self.serve_several::<true>(regs, on_cpu),
            Next::Stage(_) => self.serve_slowly::<1>(regs, None, on_cpu),
            Next::SettleThenStage(never, _) | Next::SettleThenFinish(never) => match never {},
        }
    }
}

// A step that is a function of its own is the last that its caller calls.
impl CallRecorder {
    /// Serves a call without copies, where nothing about it is unusual.
    #[inline(always)]
    fn serve_quietly(&self, regs: &Regs, when: When, here: &OnCpu) -> Next<Infallible> {
        let size = &self.recorder.short;
        let hit = Hit(Registers::at_entry(regs));
        // A record has room for just the arguments of its call.
        match when {
            When::Enter => self.recorder.serve_call(&hit, size, here, |out| {
                exec::put_words(regs.call_arguments(), out);
            }),
            When::Exit => self.recorder.serve_call(&hit, size, here, |out| {
                exec::put_words([regs.return_value()], out);
            }),
        }
    }

    /// As [`Self::serve_quietly`], of a call that all instances record; it returns if `RETURNS`.
    #[inline(never)]
    fn serve_several<const RETURNS: bool>(&self, regs: &Regs, on_cpu: Unpreempted) {
        let size = &self.recorder.short;
        let (entry, here) = (|| Entry::Tracepoint, &on_cpu.here());
        let fetch = |out: &mut [u8]| match RETURNS {
            false => exec::put_words(regs.call_arguments(), out),
            true => exec::put_words([regs.return_value()], out),
        };
        let next: Next<Infallible> =
            self.recorder
                .record_in_all(&Caller, entry, (size, here), fetch);
        match next {
            Next::Done => on_cpu.end(),
            Next::Finish => self.finish(on_cpu),
            Next::Stage(_) => self.serve_slowly::<1>(regs, None, on_cpu),
            Next::SettleThenStage(never, _) | Next::SettleThenFinish(never) => match never {},
        }
    }

    #[inline(never)]
    fn copy_and_serve<const COUNT: usize>(&self, regs: &Regs, limit: usize) {
        let mut copies = Memory::<COUNT>::empty();
        copy(
            &self.copies,
            |register| regs.word(register.into()),
            limit,
            &mut copies,
        );
        let on_cpu = Unpreempted::begin();
        let arguments = CallArguments {
            words: Registers::at_entry(regs),
            copies: &copies,
        };
        let next = self
            .recorder
            .serve_copies(arguments, &on_cpu.here(), |out| self.put_words(regs, out));
        match next {
            Next::Done => on_cpu.end(),
            Next::Finish => self.finish(on_cpu),
            Next::Stage(Stage::SEVERAL) => self.serve_several_copies(regs, &copies, on_cpu),
            Next::Stage(_) => self.serve_slowly(regs, Some(&copies), on_cpu),
            Next::SettleThenStage(never, _) | Next::SettleThenFinish(never) => match never {},
        }
    }

    /// Writes the arguments of a call that has copies.
    #[inline(always)]
    fn put_words(&self, regs: &Regs, out: &mut [u8]) {
        let end = usize::from(self.copies.arguments)
            .wrapping_mul(8)
            .wrapping_add(PROBE_SIZE);
        let out = out.get_mut(..end).unwrap_or_default();
        exec::put_words(regs.call_arguments(), out);
    }

    /// Serves a call with copies that all instances record.
    #[inline(never)]
    fn serve_several_copies<const COUNT: usize>(
        &self,
        regs: &Regs,
        copies: &Memory<COUNT>,
        on_cpu: Unpreempted,
    ) {
        let next = self
            .recorder
            .serve_copies_in_all(copies, &on_cpu.here(), |out| self.put_words(regs, out));
        match next {
            Next::Done => on_cpu.end(),
            Next::Finish => self.finish(on_cpu),
            Next::Stage(_) => self.serve_slowly(regs, Some(copies), on_cpu),
            Next::SettleThenStage(never, _) | Next::SettleThenFinish(never) => match never {},
        }
    }

    // What is passed fits into registers.
    #[inline(never)]
    fn serve_slowly<const COUNT: usize>(
        &self,
        regs: &Regs,
        copies: Option<&Memory<COUNT>>,
        on_cpu: Unpreempted,
    ) {
        let (recorder, here) = (&self.recorder, &on_cpu.here());
        let words = Registers::at_entry(regs);
        match copies {
            None => words.serve_slow(recorder, Entry::Tracepoint, here),
            Some(copies) => {
                CallArguments { words, copies }.serve_slow(recorder, Entry::Tracepoint, here);
            }
        }
        on_cpu.end();
    }

    #[cold]
    #[inline(never)]
    fn finish(&self, on_cpu: Unpreempted) {
        self.recorder.wake(&on_cpu.here());
        on_cpu.end();
    }
}

/// Copies of a call's user memory.
pub(super) type Memory<const COUNT: usize> = user::Copies<COUNT, COPY_SIZE>;

/// Copies the user memory that `copies` names, at most `limit` bytes of each argument;
/// `word` returns a register.
///
/// Context: process, may sleep and fault.
#[inline(always)]
pub(super) fn copy<const COUNT: usize>(
    copies: &Copies,
    word: impl Fn(u8) -> u64,
    limit: usize,
    to: &mut Memory<COUNT>,
) {
    let limit = limit.min(MAX_COPIED);
    let addresses = copies.registers().iter().map(|&register| word(register));
    to.fill(addresses, |copy, address| match copies.size {
        Some(size) => {
            // CAST: Lossless.
            let size = word(size) as usize;
            copy.bytes(address, size.min(limit))
        }
        None if limit == 0 => {
            copy.push(b"\0");
            true
        }
        None => match copy.string(address, limit) {
            user::Text::Ascii => true,
            user::Text::Fault => false,
            other => {
                finish_text(copy, &other);
                true
            }
        },
    });
}

/// Returns what was copied, empty for what could not be read.
#[inline(always)]
fn texts<const COUNT: usize>(copies: &Memory<COUNT>) -> impl Iterator<Item = &[u8]> {
    copies.iter().map(|(_, bytes)| bytes.unwrap_or_default())
}

/// Makes a string the text of a record.
#[cold]
#[inline(never)]
fn finish_text(copy: &mut user::Copy<'_, COPY_SIZE>, text: &user::Text) {
    let string = copy.get_mut();
    match text {
        user::Text::Whole => {
            let end = string.len().saturating_sub(1);
            make_printable(string.get_mut(..end).unwrap_or_default());
        }
        _ => {
            make_printable(string);
            copy.push(MARK);
        }
    }
}

impl Recorder {
    /// Serves a call, where nothing about it is unusual but a filter that compares a
    /// register: `fetch` writes what is behind header and number.
    #[inline(always)]
    fn serve_call(
        &self,
        hit: &Hit<impl Passed>,
        size: &Short<PROBE_WORDS>,
        here: &OnCpu,
        fetch: impl FnOnce(&mut [u8]),
    ) -> Next<Infallible> {
        let tier = self.tier.get();
        if tier >= Tier::ACTING {
            if tier < Tier::FILTERED {
                return Next::Stage(match tier {
                    Tier::SEVERAL_BARE..=Tier::SEVERAL_SLOW => Stage::SEVERAL,
                    _ => Stage::SERVE,
                });
            }
            match self.is_rejected(hit, here) {
                Some(false) if tier == Tier::FILTERED => {}
                Some(true) => return Next::Done,
                _ => return Next::Stage(Stage::SERVE),
            }
        }
        self.record_settled(&Caller, || Entry::Tracepoint, (size, here), fetch)
    }

    /// Serves a call with copies of its user memory, where nothing about it is unusual:
    /// `fetch` writes the words behind header and number.
    #[inline(always)]
    pub(super) fn serve_copies<const COUNT: usize>(
        &self,
        arguments: CallArguments<'_, impl Words, COUNT>,
        here: &OnCpu,
        fetch: impl FnOnce(&mut [u8]),
    ) -> Next<Infallible> {
        let (program, copies) = (&self.program, arguments.copies);
        let Some(size) = &Short::of(exec::length_with(program, texts(copies))) else {
            return Next::Stage(Stage::SERVE);
        };
        self.serve_call(&Hit(arguments), size, here, |out| {
            fetch(out);
            exec::put_texts(program, texts(copies), out);
        })
    }

    /// As [`Self::serve_copies`], of a call that all instances record.
    #[inline(always)]
    pub(super) fn serve_copies_in_all<const COUNT: usize>(
        &self,
        copies: &Memory<COUNT>,
        here: &OnCpu,
        fetch: impl FnOnce(&mut [u8]),
    ) -> Next<Infallible> {
        let program = &self.program;
        let Some(size) = &Short::of(exec::length_with(program, texts(copies))) else {
            return Next::Stage(Stage::SERVE);
        };
        let entry = || Entry::Tracepoint;
        self.record_in_all::<_, PROBE_WORDS>(&Caller, entry, (size, here), |out: &mut [u8]| {
            fetch(out);
            exec::put_texts(program, texts(copies), out);
        })
    }
}

/// User space: it has interrupts enabled.
struct Caller;

impl Interrupted for Caller {
    #[inline(always)]
    fn register(&self, _index: u8) -> u64 {
        0
    }

    #[inline(always)]
    fn irqs_disabled(&self) -> bool {
        false
    }
}

/// Where the words of a system call are: its arguments and what else is recorded of it.
pub(super) trait Words: Copy {
    /// Returns the word that a program calls the register with this index.
    fn word(&self, index: u8) -> u64;
}

impl Words for Registers<'_> {
    #[inline(always)]
    fn word(&self, index: u8) -> u64 {
        self.reg(index)
    }
}

/// The words of a system call, and the memory that was copied for it.
#[derive(Clone, Copy)]
pub(super) struct CallArguments<'a, W, const COUNT: usize> {
    pub(super) words: W,
    pub(super) copies: &'a Memory<COUNT>,
}

impl<W, const COUNT: usize> UserMemory for CallArguments<'_, W, COUNT> {
    #[inline]
    fn copied(&self, address: u64) -> Option<Option<&[u8]>> {
        let mut all = self.copies.iter();
        all.find_map(|(of, bytes)| (of == address).then_some(bytes))
    }
}

impl<W: Words, const COUNT: usize> Interrupted for CallArguments<'_, W, COUNT> {
    #[inline(always)]
    fn register(&self, index: u8) -> u64 {
        self.words.word(index)
    }

    #[inline(always)]
    fn irqs_disabled(&self) -> bool {
        false
    }
}

impl<W: Words, const COUNT: usize> Arguments for CallArguments<'_, W, COUNT> {
    #[inline(always)]
    fn reg(&self, index: u8) -> u64 {
        self.words.word(index)
    }
}

// Its memory is copied before, so no definition reads a string: see `Tier::TEXT`.
impl<W: Words, const COUNT: usize> Passed for CallArguments<'_, W, COUNT> {}
