// SPDX-License-Identifier: GPL-2.0

//! The shapes of records: what is behind header and place, and how that is fetched.

use crate::{
    engine::{
        program::exec,
        record::{self, PROBE_SIZE},
    },
    hit::{
        recorder::Recorder,
        sample::{Copied, HitArgs},
        source::Source,
    },
};
use core::iter;

/// The content of a record behind header and place.
///
/// A trait and not a closure, because the compiler does not inline every closure.
pub(super) trait Shape {
    /// Fetches the content and writes it to `out`, which is the whole record.
    fn fetch(self, recorder: &Recorder, source: impl Source, out: &mut [u8]);
}

/// Nothing, or one register.
pub(super) struct WordOrNone<const REGISTER: bool>;

impl<const REGISTER: bool> Shape for WordOrNone<REGISTER> {
    #[inline(always)]
    fn fetch(self, recorder: &Recorder, source: impl Source, out: &mut [u8]) {
        let value = || recorder.register_of(source);
        match (source.sample().returns_to(), REGISTER) {
            (None, false) => true,
            (None, true) => record::put_first(out, value()),
            (Some(to), false) => record::put_return_address(out, to),
            (Some(to), true) => record::put_return_address_and_first(out, to, value()),
        };
    }
}

/// The nanoseconds that a call took, behind one register if `REGISTER`.
pub(super) struct Timed<const REGISTER: bool>(pub(super) u64);

impl<const REGISTER: bool> Shape for Timed<REGISTER> {
    #[inline(always)]
    fn fetch(self, recorder: &Recorder, source: impl Source, out: &mut [u8]) {
        let to = source.sample().returns_to().unwrap_or(0);
        match REGISTER {
            true => {
                let value = recorder.register_of(source);
                record::put_return_address_and_two(out, to, [value, self.0])
            }
            false => record::put_return_address_and_first(out, to, self.0),
        };
    }
}

/// What the program fetches, in a record of known size; it reads no memory if `READS_NO_MEMORY`.
pub(super) struct ByProgram<const READS_NO_MEMORY: bool>;

impl<const READS_NO_MEMORY: bool> Shape for ByProgram<READS_NO_MEMORY> {
    #[inline(always)]
    fn fetch(self, recorder: &Recorder, source: impl Source, out: &mut [u8]) {
        if let Some(to) = source.sample().returns_to() {
            record::put_return_address(out, to);
        }
        let program = &recorder.program;
        if READS_NO_MEMORY {
            return exec::run_without_memory(program, &source.sample(), out);
        }
        exec::run_compact(program, &source.sample(), out);
        if !program.is_compact() {
            match program.is_only_whole() {
                true => source.run_whole(recorder, out),
                false => source.run_general(recorder, out),
            }
        }
    }
}

/// What the program fetches, which has one string; that has been read already.
///
/// Reading a string may fault and recurse into traced functions before the ring is marked busy. So
/// strings of `f` events and tracepoints go to the last stage, which has a recursion guard.
pub(super) struct WithText<'a>(pub(super) &'a [u8]);

impl Shape for WithText<'_> {
    #[inline(always)]
    fn fetch(self, recorder: &Recorder, source: impl Source, out: &mut [u8]) {
        if let Some(to) = source.sample().returns_to() {
            record::put_return_address(out, to);
        }
        let program = &recorder.program;
        exec::run_compact(program, &source.sample(), out);
        exec::run_chains(program, &source.sample(), out);
        exec::put_texts(program, iter::once(self.0), out);
    }
}

/// The arguments of a system call, or its result if it `RETURNS`. A record has room for just
/// the arguments of its call.
pub(super) struct CallWords<const RETURNS: bool>;

impl<const RETURNS: bool> Shape for CallWords<RETURNS> {
    #[inline(always)]
    fn fetch(self, _recorder: &Recorder, source: impl Source, out: &mut [u8]) {
        match source.sample().args {
            HitArgs::Registers(regs, _) if RETURNS => exec::put_words([regs.return_value()], out),
            HitArgs::Registers(regs, _) => exec::put_words(regs.call_arguments(), out),
            _ => {}
        }
    }
}

/// That many words of arguments of a system call, and copies of its user memory.
pub(super) struct CallTexts(pub(super) usize);

impl Shape for CallTexts {
    #[inline(always)]
    fn fetch(self, recorder: &Recorder, source: impl Source, out: &mut [u8]) {
        let end = self.0.wrapping_mul(8).wrapping_add(PROBE_SIZE);
        let words = out.get_mut(..end).unwrap_or_default();
        match source.sample().args {
            HitArgs::Registers(regs, _) => exec::put_words(regs.call_arguments(), words),
            HitArgs::Call(values, _) => exec::put_words(*values, words),
            _ => {}
        }
        exec::put_texts(&recorder.program, texts(source.sample().copied()), out);
    }
}

/// Returns what was copied, empty for what could not be read.
#[inline(always)]
fn texts<'a>(copied: Copied<'a>) -> impl Iterator<Item = &'a [u8]> {
    copied.iter().map(|(_, bytes)| bytes.unwrap_or_default())
}
