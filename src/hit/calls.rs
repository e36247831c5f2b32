// SPDX-License-Identifier: GPL-2.0

//! A system call that begins or returns.
//!
//! The user memory to record is copied before preemption is disabled, but no page is brought in:
//! by userfaultfd, or a file system of its own, any user decides how long that takes, and
//! until then no probe of these tracepoints can be removed.

use crate::{
    engine::{
        program::syscall::{
            make_printable, put_address, Copies, Special, COPY_SIZE, EXACT_MARK, MARK, MAX_ADDRESS,
            MAX_COPIED, MAX_COPIES,
        },
        util::seq_buf::SeqBuf,
    },
    hit::{
        prepared::Prepared,
        recorder::Recorder,
        shape::CallWords,
        source::{Called, Source},
        stage::{Stage, To},
    },
    kapi::{
        context::{OnCpu, Unpreempted},
        handler::Next,
        regs::Regs,
        tracepoint::syscall::{self, CallsShared, When},
        user,
    },
};
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

impl syscall::CallHandler for CallRecorder {
    type Begun = ();

    #[inline(always)]
    fn serve(&self, regs: &Regs, when: When, shared: &CallsShared) {
        match self.copies.count() {
            0 => {}
            1 => return self.copy_and_serve::<1>(regs, shared),
            _ => return self.copy_and_serve::<MAX_COPIES>(regs, shared),
        }
        let on_cpu = Unpreempted::begin();
        match self.serve_quietly(regs, when, &on_cpu.here()) {
            Next::Done => on_cpu.end(),
            Next::Stage(Stage::SEVERAL) => match when {
                When::Enter => self.serve_in_each::<false>(regs, on_cpu),
                When::Exit => self.serve_in_each::<true>(regs, on_cpu),
            },
            Next::Stage(Stage::RELAY) => self.relay(regs, on_cpu),
            Next::Stage(Stage::BEGIN) => self.begin(regs, on_cpu),
            Next::Stage(Stage::SEND) => self.send(regs, on_cpu),
            Next::Stage(_) => self.serve_slowly(regs, on_cpu),
        }
    }
}

// A step that is a function of its own is the last that its caller calls.
impl CallRecorder {
    /// Serves a call without copies, where nothing about it is unusual.
    #[inline(always)]
    fn serve_quietly(&self, regs: &Regs, when: When, here: &OnCpu) -> Next {
        let recorder = &self.recorder;
        let size = &recorder.short;
        match when {
            When::Enter => recorder.serve_call(regs, CallWords::<false>, size, here),
            When::Exit => recorder.serve_call(regs, CallWords::<true>, size, here),
        }
    }

    /// As [`Self::serve_quietly`], of a call that each instance records; it returns if `RETURNS`.
    #[inline(never)]
    fn serve_in_each<const RETURNS: bool>(&self, regs: &Regs, on_cpu: Unpreempted) {
        let (recorder, here) = (&self.recorder, &on_cpu.here());
        let shape = CallWords::<RETURNS>;
        match recorder.record_in_each(regs, shape, &recorder.short, here) {
            Next::Done => on_cpu.end(),
            Next::Stage(_) => self.serve_slowly(regs, on_cpu),
        }
    }

    #[inline(never)]
    fn copy_and_serve<const COUNT: usize>(&self, regs: &Regs, shared: &CallsShared) {
        let mut copies = CallMemory::<COUNT>::empty();
        let word = |register: u8| regs.word(register.into());
        if !copy(&self.copies, word, shared.limit(), &mut copies) {
            shared.count_unread();
        }
        let on_cpu = Unpreempted::begin();
        let call = Called(regs, copies.view());
        let words = usize::from(self.copies.arguments);
        self.recorder.serve_copied(call, words, &on_cpu.here());
        on_cpu.end();
    }

    /// Serves a call that only begins a pair.
    #[inline(never)]
    fn begin(&self, regs: &Regs, on_cpu: Unpreempted) {
        self.serve_or_slowly(regs, on_cpu, |here| self.recorder.begins(regs, here));
    }

    /// Serves a call that is only sent to an event probe.
    #[inline(never)]
    fn relay(&self, regs: &Regs, on_cpu: Unpreempted) {
        self.serve_or_slowly(regs, on_cpu, |here| self.recorder.relays(regs, here));
    }

    /// Serves a call of which nothing is recorded but what it causes.
    #[inline(never)]
    fn send(&self, regs: &Regs, on_cpu: Unpreempted) {
        self.serve_or_slowly(regs, on_cpu, |here| {
            self.recorder.serves_related(regs, here)
        });
    }

    /// Serves a call by `serve`, or slowly where that returns false.
    #[inline(always)]
    fn serve_or_slowly(
        &self,
        regs: &Regs,
        on_cpu: Unpreempted,
        serve: impl FnOnce(&OnCpu) -> bool,
    ) {
        let here = &on_cpu.here();
        if !serve(here) {
            regs.serve_slow(&self.recorder, here);
        }
        on_cpu.end();
    }

    #[inline(never)]
    fn serve_slowly(&self, regs: &Regs, on_cpu: Unpreempted) {
        regs.serve_slow(&self.recorder, &on_cpu.here());
        on_cpu.end();
    }
}

impl Recorder {
    /// Serves a system call with so many words and with copies of its user memory.
    #[inline(always)]
    pub(super) fn serve_copied(&self, call: impl Source, words: usize, here: &OnCpu) {
        match self.serve_copies::<{ To::ONE }>(call, words, here) {
            Next::Done => {}
            Next::Stage(Stage::SEVERAL) => self.serve_copied_in_each(call, words, here),
            Next::Stage(_) => call.serve_slow(self, here),
        }
    }

    #[inline(never)]
    fn serve_copied_in_each(&self, call: impl Source, words: usize, here: &OnCpu) {
        let next = self.serve_copies::<{ To::EACH }>(call, words, here);
        if !next.is_done() {
            call.serve_slow(self, here);
        }
    }
}

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
pub(super) type CallMemory<const COUNT: usize> = user::UserCopies<COUNT, COPY_SIZE>;

/// Copies the user memory that `copies` names, at most `limit` bytes of each argument; `word`
/// returns a register. Returns whether all could be read; never if some is [special](copy_rest).
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

/// Copies the memory that is neither text nor bytes, if there is such. Returns whether all could be
/// read.
#[inline(never)]
pub(super) fn copy_rest<const COUNT: usize>(
    (copies, pointers): (&Copies, Pointers),
    word: impl Fn(u8) -> u64,
    to: &mut CallMemory<COUNT>,
) -> bool {
    for (index, _, mut room) in to.missing() {
        if let Some(special) = copies.special_at(index) {
            let from = word(copies.special_register);
            room.set_address(from);
            let is_read = copy_special(&mut room, from, (special, pointers), &word);
            room.finish(is_read);
        }
    }
    to.are_read()
}

/// As [`copy`], for what `to` lacks, whose addresses it has.
#[inline(never)]
pub(super) fn copy_missing<const COUNT: usize>(
    (copies, pointers): (&Copies, Pointers),
    word: impl Fn(u8) -> u64,
    limit: usize,
    to: &mut CallMemory<COUNT>,
) -> bool {
    let limit = limit.min(MAX_COPIED);
    let size = copies.size.map(&word);
    let mut are_read = true;
    for (index, from, mut room) in to.missing() {
        let is_read = match copies.special_at(index) {
            None => copy_one(&mut room, from, (size, copies.are_exact), limit),
            Some(special) => copy_special(&mut room, from, (special, pointers), &word),
        };
        room.finish(is_read);
        are_read &= is_read;
    }
    are_read
}

/// Copies what is at the address `from`, and makes text of it. Returns whether it could be read.
#[inline(never)]
pub(super) fn copy_special(
    to: &mut user::Copy<'_, COPY_SIZE>,
    from: u64,
    (special, pointers): (Special, Pointers),
    word: &dyn Fn(u8) -> u64,
) -> bool {
    to.truncate(0);
    match special {
        // CAST: The kernel takes it for a C int.
        Special::Address(size) => copy_address(to, from, word(size) as i32),
        Special::Strings => copy_strings(to, from, pointers, COPY_SIZE),
        Special::None => false,
    }
}

/// Copies the address of a socket, as text.
fn copy_address(to: &mut user::Copy<'_, COPY_SIZE>, from: u64, length: i32) -> bool {
    let mut bytes = [0; MAX_ADDRESS];
    let length = usize::try_from(length).unwrap_or(0).min(MAX_ADDRESS);
    let bytes = bytes.get_mut(..length).unwrap_or_default();
    // There is none, as in `send()`.
    let bytes = if from == 0 { &mut [] } else { bytes };
    if !bytes.is_empty() {
        if !to.bytes(from, length) {
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

/// Copies the strings of an array of pointers, as many as fit into `most` bytes. Returns whether the
/// array could be read.
#[inline(never)]
pub(super) fn copy_strings<const SIZE: usize>(
    to: &mut user::Copy<'_, SIZE>,
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
            None => user::UserText::Fault,
            Some(pointer) => to.add_string(pointer, most),
        };
        match added {
            user::UserText::Start => break,
            user::UserText::Fault => to.add(b"(fault)\0"),
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
fn copy_one(
    to: &mut user::Copy<'_, COPY_SIZE>,
    from: u64,
    (size, is_exact): (Option<u64>, bool),
    limit: usize,
) -> bool {
    match size {
        // CAST: Lossless.
        Some(size) => to.bytes(from, (size as usize).min(limit)),
        None if limit == 0 => {
            match is_exact {
                true => to.push(EXACT_MARK),
                false => to.push(b"\0"),
            }
            true
        }
        None if is_exact => match to.string::<true>(from, limit) {
            user::UserText::Ascii => true,
            user::UserText::Fault => false,
            other => {
                finish_exact(to, &other);
                true
            }
        },
        None => match to.string::<false>(from, limit) {
            user::UserText::Ascii => true,
            user::UserText::Fault => false,
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
fn finish_text(copy: &mut user::Copy<'_, COPY_SIZE>, text: &user::UserText) {
    let string = copy.get_mut();
    match text {
        user::UserText::Whole => {
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
fn finish_exact(copy: &mut user::Copy<'_, COPY_SIZE>, text: &user::UserText) {
    if matches!(text, user::UserText::Start) {
        copy.push(EXACT_MARK);
    }
}
