// SPDX-License-Identifier: GPL-2.0

//! A hit of which a string is recorded, and nothing else without a fixed size.
//!
//! Context: any, with preemption disabled, as for all of [`Recorder`].

use crate::{
    buffer::Pace,
    engine::{
        exec,
        record::{self, PROBE_WORDS},
        ring::Short,
    },
    hit::{
        context::Hit,
        recorder::{settled, Passed, Recorder},
    },
    kapi::{
        context::{self, Entry, OnCpu},
        nofault::ShortText,
    },
};
use core::iter;

impl Recorder {
    /// Serves a hit of a program with one string, where nothing about it is unusual and the
    /// string is short; returns false otherwise. It is read before room is reserved, as its
    /// length is not known. All instances record the hit if `SEVERAL`, else there is one.
    #[inline(always)]
    pub(super) fn serve_short_text<const SEVERAL: bool>(
        &self,
        hit: &Hit<impl Passed>,
        entry: Entry,
        here: &OnCpu,
    ) -> bool {
        let program = &self.program;
        // What is unusual is found first, as far as possible: strings are not read twice.
        if !context::is_plain(|| entry) {
            return false;
        }
        let Some((address, user)) = exec::find_text(program, hit) else {
            return false;
        };
        let mut room = ShortText::empty();
        let Some(text) = room.read(address, user) else {
            return false;
        };
        let texts = || iter::once(text);
        let Some(size) = &Short::<PROBE_WORDS>::of(exec::length_with(program, texts())) else {
            return false;
        };
        let fetch = |out: &mut [u8]| {
            if let Some(to) = hit.0.returns_to() {
                record::put_return_address(out, to);
            }
            exec::run_compact(program, hit, out);
            exec::run_chains(program, hit, out);
            exec::put_texts(program, texts(), out);
        };
        let next = match SEVERAL {
            false => settled(self.record_plain(&hit.0, (size, Pace::Fast, here), fetch)),
            true => self.record_plain_in_all(&hit.0, (size, here), fetch),
        };
        self.is_served(next, here)
    }
}
