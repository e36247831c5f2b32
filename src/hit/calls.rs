// SPDX-License-Identifier: GPL-2.0

//! System calls.
//!
//! The user memory to record is copied before preemption is disabled, but pages are not faulted in:
//! with userfaultfd or FUSE, any user can prolong a page fault at will, and no probe of these
//! tracepoints could be removed meanwhile.

mod long;
mod memory;
mod one_side;
mod whole;

use crate::{
    hit::{recorder::Recorder, source::Source, stage::Stage},
    kapi::{context::OnCpu, handler::Next},
};
pub(crate) use one_side::CallRecorder;
pub(crate) use whole::{InProgress, WholeCallRecorder};

impl Recorder {
    /// Serves a system call whose record has `words` words of arguments, and copies of its user
    /// memory.
    #[inline(always)]
    fn serve_copied(&self, call: impl Source, words: usize, here: &OnCpu) {
        let other = self.other_for_call(call, here);
        match other.unwrap_or_else(|| self.record_copies(call, words, here)) {
            Next::Done => {}
            Next::Stage(Stage::EACH_SHORT) => self.serve_copied_in_each(call, words, here),
            Next::Stage(_) => call.serve_slow(self, here),
        }
    }

    #[inline(never)]
    fn serve_copied_in_each(&self, call: impl Source, words: usize, here: &OnCpu) {
        if !self.record_copies_in_each(call, words, here).is_done() {
            call.serve_slow(self, here);
        }
    }
}
