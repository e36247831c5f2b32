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
        recorder::{Passed, Recorder, Tier},
    },
    kapi::{
        context::{Entry, OnCpu},
        registration::Next,
        regs::Regs,
        tracepoint::syscall::{self, When},
        user,
    },
};
use core::convert::Infallible;

/// Serves the system calls of one number, when they begin or when they return.
pub(crate) struct CallRecorder {
    pub(crate) recorder: Recorder,
    copies: Copies,
}

impl CallRecorder {
    /// Makes a recorder that copies user memory first.
    pub(crate) fn new(recorder: Recorder, copies: Copies) -> Self {
        Self { recorder, copies }
    }
}

const _: () = assert!(syscall::MAX_COPIES == MAX_COPIES);

impl syscall::Handler for CallRecorder {
    type Copies<const COUNT: usize> = user::Copies<COUNT, COPY_SIZE>;

    #[inline(always)]
    fn copies(&self) -> usize {
        self.copies.count()
    }

    #[inline(always)]
    fn no_copies<const COUNT: usize>() -> Self::Copies<COUNT> {
        user::Copies::empty()
    }

    #[inline(always)]
    fn copy<const COUNT: usize>(&self, regs: &Regs, limit: usize, to: &mut Self::Copies<COUNT>) {
        let limit = limit.min(MAX_COPIED);
        let addresses = self.copies.registers().iter();
        let addresses = addresses.map(|&register| regs.word(register.into()));
        to.fill(addresses, |copy, address| match self.copies.size {
            Some(size) => {
                // CAST: Lossless.
                let size = regs.word(size.into()) as usize;
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

    #[inline(always)]
    fn serve_copies<const COUNT: usize>(
        &self,
        regs: &Regs,
        copies: &Self::Copies<COUNT>,
        here: &OnCpu,
    ) -> Next<Infallible> {
        let program = &self.recorder.program;
        let Some(size) = &Short::of(exec::length_with(program, texts(copies))) else {
            return Next::Stage(0);
        };
        let hit = Hit(CallArguments {
            registers: Registers::at_entry(regs),
            copies,
        });
        self.recorder.serve_call(&hit, size, here, |out| {
            let end = usize::from(self.copies.arguments)
                .wrapping_mul(8)
                .wrapping_add(PROBE_SIZE);
            exec::put_words(
                regs.call_arguments(),
                out.get_mut(..end).unwrap_or_default(),
            );
            exec::put_texts(program, texts(copies), out);
        })
    }

    #[inline(always)]
    fn serve<const COUNT: usize>(
        &self,
        regs: &Regs,
        copies: Option<&Self::Copies<COUNT>>,
        here: &OnCpu,
    ) {
        let registers = Registers::at_entry(regs);
        match copies {
            None => registers.serve_slow(&self.recorder, Entry::Tracepoint, here),
            Some(copies) => {
                let arguments = CallArguments { registers, copies };
                arguments.serve_slow(&self.recorder, Entry::Tracepoint, here);
            }
        }
    }

    fn finish(&self, _here: &OnCpu) {
        self.recorder.wake();
    }
}

/// Returns what was copied, empty for what could not be read.
#[inline(always)]
fn texts<const COUNT: usize>(
    copies: &user::Copies<COUNT, COPY_SIZE>,
) -> impl Iterator<Item = &[u8]> {
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
        if self.tier.get() == Tier::FILTERED {
            match self.is_rejected(hit, here) {
                Some(false) => {}
                Some(true) => return Next::Done,
                None => return Next::Stage(0),
            }
        }
        self.record_settled(&Caller, || Entry::Tracepoint, (size, here), fetch)
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

/// The arguments of a system call, and the memory that was copied for it.
#[derive(Clone, Copy)]
struct CallArguments<'a, const COUNT: usize> {
    registers: Registers<'a>,
    copies: &'a user::Copies<COUNT, COPY_SIZE>,
}

impl<const COUNT: usize> UserMemory for CallArguments<'_, COUNT> {
    #[inline]
    fn copied(&self, address: u64) -> Option<Option<&[u8]>> {
        let mut all = self.copies.iter();
        all.find_map(|(of, bytes)| (of == address).then_some(bytes))
    }
}

impl<const COUNT: usize> Interrupted for CallArguments<'_, COUNT> {
    #[inline(always)]
    fn register(&self, index: u8) -> u64 {
        Interrupted::register(&self.registers, index)
    }

    #[inline(always)]
    fn irqs_disabled(&self) -> bool {
        self.registers.irqs_disabled()
    }
}

impl<const COUNT: usize> Arguments for CallArguments<'_, COUNT> {
    #[inline(always)]
    fn reg(&self, index: u8) -> u64 {
        self.registers.reg(index)
    }

    #[inline(always)]
    fn stack(&self, _n: u16) -> u64 {
        0
    }

    #[inline(always)]
    fn return_address(&self) -> u64 {
        0
    }

    #[inline(always)]
    fn entry_data(&self, _n: u16) -> u64 {
        0
    }
}

impl<const COUNT: usize> Passed for CallArguments<'_, COUNT> {
    #[inline(always)]
    fn returns_to(&self) -> Option<u64> {
        None
    }

    #[inline(never)]
    fn run_general(self, recorder: &Recorder, out: &mut [u8]) {
        recorder.run_general(&Hit(self), out);
    }

    #[inline(never)]
    fn serve_slow(self, recorder: &Recorder, entry: Entry, here: &OnCpu) {
        recorder.serve_slow(&Hit(self), entry, here);
    }
}
