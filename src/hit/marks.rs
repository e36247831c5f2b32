// SPDX-License-Identifier: GPL-2.0

//! Texts that users write to `trace_marker`: the hits of the event `print`.
//!
//! They are recorded whether or not the event has triggers, which act once a text is recorded.
//! No trigger acts while nothing is being recorded, like in the kernel.

use crate::{
    buffer::Buffer,
    engine::program::{fetch::Program, marker},
    formats::Format,
    hit::{
        plan::{InstancePlan, Plan, PlanKind, Triggers},
        recorder::Recorder,
        recorder_builder::RecorderBuilder,
        sample::{HitArgs, Sample},
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
        // They name no place, like the kernel's records.
        let instance = InstancePlan {
            buffer: buffer.clone(),
            plan,
        };
        let recorder = RecorderBuilder::new(format, program, instance, 0)?.init();
        Ok(init!(Self { recorder <- recorder, buffer }))
    }

    /// Returns the recorder, which has the plan.
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
                if let PlanKind::Triggers(triggers) = &self.recorder.plan.get(here).kind {
                    self.act(triggers, now, here);
                    return Ok(true);
                }
                Ok(false)
            });
            // The context is that of a process, so take the snapshot here; this waits only if the
            // worker is just taking it.
            if acts? {
                buffer.take_requested_snapshot();
            }
        }
        buffer.wake();
        Ok(())
    }

    /// Runs the triggers of a text that was recorded.
    #[inline(never)]
    fn act(&self, triggers: &Triggers, text: &[u8], here: &OnCpu) {
        let seen = marker::seen(text);
        // What triggers see of a text: its address is the only argument.
        // CAST: An address has 64 bits.
        let sample = &Sample::of(HitArgs::Word(seen.as_ptr().addr() as u64));
        // The event itself cannot be enabled.
        self.recorder
            .act_with_stacks((triggers, &self.buffer), sample, here);
    }
}
