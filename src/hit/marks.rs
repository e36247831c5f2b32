// SPDX-License-Identifier: GPL-2.0

//! Texts that users write to `trace_marker`: the hits of the event `print`.
//!
//! They are recorded whether or not the event has triggers, which act once a text is recorded.
//! As in the kernel, no trigger acts while nothing is being recorded.

use crate::{
    buffer::Buffer,
    engine::program::{fetch::Program, marker},
    formats::Format,
    hit::{
        plan::{Acting, Plan, Rest, Share},
        recorder::Recorder,
        recorder_builder::RecorderBuilder,
        sample::{Report, Sample},
    },
    kapi::context::{self, OnCpu},
    sys::Box,
};
use kernel::{prelude::*, sync::Arc};

/// Records the texts of an instance.
pub(crate) struct MarkRecorder {
    recorder: Recorder,
    /// The buffer of the recorder, which has no other.
    buffer: Arc<Buffer>,
}

impl MarkRecorder {
    /// Returns what makes a recorder for the event of `format`, whose fields `program` fetches
    /// of a text.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(
        format: &Format,
        program: Box<Program>,
        buffer: Arc<Buffer>,
        plan: Arc<Plan>,
    ) -> Result<impl Init<Self>> {
        // As the kernel's records, they name no place.
        let share = Share {
            buffer: buffer.clone(),
            plan,
        };
        let recorder = RecorderBuilder::new(format, program, share, 0)?.init();
        Ok(init!(Self { recorder <- recorder, buffer }))
    }

    /// Returns what has the plan.
    pub(crate) fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Records `text`, written by the current task, in as many records as needed.
    ///
    /// # Errors
    ///
    /// `EBADF` if nothing is being recorded, or if there is no room.
    ///
    /// Context: process, may sleep.
    pub(crate) fn record(&self, text: &[u8]) -> Result {
        let buffer = &self.buffer;
        let mut rest = text;
        while !rest.is_empty() {
            let acts: Result<bool> = context::on_this_cpu(|here| {
                let (now, later) = buffer.split_mark(rest, here);
                buffer.mark(now, here).map_err(|_| EBADF)?;
                rest = later;
                if let Rest::Act(acting) = &self.recorder.plan.get(here).rest {
                    self.act(acting, now, here);
                    return Ok(true);
                }
                Ok(false)
            });
            // Here nothing has to wait for a worker, but for one that is taking the snapshot.
            if acts? {
                buffer.take_requested_snapshot();
            }
        }
        buffer.wake();
        Ok(())
    }

    /// Runs the triggers of a text that was recorded.
    #[inline(never)]
    fn act(&self, acting: &Acting, text: &[u8], here: &OnCpu) {
        let seen = marker::seen(text);
        // What triggers see of a text: its address is the only argument.
        // CAST: An address has 64 bits.
        let sample = &Sample::of(Report::Word(seen.as_ptr().addr() as u64));
        // The event itself cannot be enabled.
        self.recorder
            .act_with_stacks((acting, &self.buffer), sample, here);
    }
}
