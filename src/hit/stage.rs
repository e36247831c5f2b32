// SPDX-License-Identifier: GPL-2.0

//! The table of the stages of a hit. Each stage is a function; a recorder can be at each of them
//! but the last two.
//!
//! A fast stage records a common hit or leaves no trace, and another stage takes over. The stage of
//! a recorder serves its hits in the fewest instructions. While it changes, the kernel may still
//! call another one.

use crate::kapi::handler;

/// The numbers of the stages.
pub(super) struct Stage;

/// Calls a macro with the table.
///
/// Each row has the name of a stage and its number; which stage the kernel is to `call` while the
/// recorder is at this one, as far as the mechanism leaves that open; which stage serves a hit if
/// the function of another stage gets it (`else`); and what the stage does, if it is run.
macro_rules! stages {
    ($call:ident) => {
        $call! {
            fn run(recorder, hit, here);

            /// Records each hit; nothing is fetched.
            BARE = handler::BARE, call BARE, else SERVE => recorder.serve_word::<false>(hit, here);
            /// Records each hit; one register is fetched.
            WORD = handler::WORD, call WORD, else SERVE => recorder.serve_word::<true>(hit, here);
            /// Records each hit, with the duration of the call.
            DURATION = handler::DURATION, call DURATION, else SERVE =>
                recorder.serve_timed::<false>(hit, here);
            /// Records each hit, with one register and the duration.
            WORD_AND_DURATION = handler::WORD_AND_DURATION, call WORD_AND_DURATION, else SERVE =>
                recorder.serve_timed::<true>(hit, here);
            /// Records each hit in a short record of fixed size.
            SHORT = handler::SHORT, call SERVE, else SERVE =>
                recorder.serve_short::<false>(hit, here);
            /// Records each hit; one string is fetched.
            TEXT = 5, call SERVE, else SERVE;
            /// Records each hit; records are long, or vary in size.
            ///
            /// It serves any hit, and does not try a fast path first.
            SLOW = handler::SLOW, call SERVE, else SERVE => {
                hit.serve_slow(recorder, here);
                Next::Done
            };
            /// Serves any hit of any plan.
            SERVE = handler::SERVE, call SERVE, else SERVE => {
                match recorder.serve_short::<false>(hit, here) {
                    Next::Done => {}
                    Next::Stage(stage) => {
                        if !(Stage::forwards(stage) && recorder.forward_or_count(hit, here)) {
                            hit.serve_slow(recorder, here);
                        }
                    }
                }
                Next::Done
            };
            /// Runs the sole action: it counts, or switches something.
            ACT = 8, call ACT, else SERVE => done_if(recorder.acts_fast(hit, here));
            /// Runs the sole action: an inter-event histogram.
            INTER_EVENT = 9, call INTER_EVENT, else FORWARD_TO_ALL =>
                done_if(recorder.counts_inter_event(hit, here));
            /// Runs the sole action: it saves the time in a variable.
            SAVE_TIMESTAMP = 10, call SAVE_TIMESTAMP, else FORWARD_TO_ALL =>
                done_if(recorder.save_timestamp(hit, here));
            /// Runs the sole action: it sends the hit to an event probe.
            FORWARD_TO_ONE = 11, call FORWARD_TO_ONE, else FORWARD_TO_ONE =>
                done_if(recorder.forward_to_one(hit, here));
            /// Runs the sole action: it notes the beginning of a pair.
            BEGIN_PAIR = 12, call BEGIN_PAIR, else BEGIN_PAIR =>
                done_if(recorder.begin_pair(hit, here));
            /// Runs the actions: all send the hit to event probes.
            FORWARD_TO_ALL = 13, call FORWARD_TO_ALL, else FORWARD_TO_ALL =>
                done_if(recorder.forward_or_count(hit, here));
            /// Records each hit in each instance; nothing is fetched.
            EACH_BARE = handler::EACH_BARE, call EACH_BARE, else EACH_SHORT =>
                recorder.serve_word_in_each::<false>(hit, here);
            /// Records each hit in each instance; one register.
            EACH_WORD = handler::EACH_WORD, call EACH_WORD, else EACH_SHORT =>
                recorder.serve_word_in_each::<true>(hit, here);
            /// Records each hit in each instance, in a short record.
            EACH_SHORT = handler::EACH_SHORT, call EACH_SHORT, else EACH_SHORT =>
                recorder.step_in_each(hit, ByProgram::<false>, &recorder.short, here);
            /// Records each hit in each instance; one string is fetched.
            EACH_TEXT = 17, call EACH_TEXT, else SERVE =>
                done_if(recorder.serve_text_in_each(hit, here));
            /// Records each hit in each instance; any records.
            EACH_SLOW = 18, call SERVE, else SERVE;
            /// Rejects a hit by the gate of the filter.
            FILTER = handler::FILTER, call FILTER, else FILTER =>
                done_if(recorder.is_rejected(hit, here) == Some(true));
            /// Rejects a hit by the gate of the sole action's filter.
            GATED = 20, call FILTER, else FILTER;
            /// Rejects a hit of a task whose hits do not count.
            TASK = 21, call TASK, else FILTER => done_if(recorder.rejects_task(here));
            /// Records the stack of each hit, or counts by it.
            ///
            /// The stack is recorded behind the hit, or alone.
            STACK = handler::STACK, call STACK, else STACK => recorder.serve_stack(hit, here);
            // No recorder is at the following stages.

            /// Does what `SHORT` does; nothing reads memory.
            NO_MEMORY = handler::NO_MEMORY, call SERVE, else SERVE =>
                recorder.serve_short::<true>(hit, here);
            /// Does what `EACH_SHORT` does; nothing reads memory.
            EACH_NO_MEMORY = handler::EACH_NO_MEMORY, call SERVE, else SERVE =>
                recorder.step_in_each(hit, ByProgram::<true>, &recorder.short, here);
        }
    };
}
pub(super) use stages;

/// Defines the numbers.
macro_rules! numbers {
    (
        fn run($recorder:ident, $hit:ident, $here:ident);
        $(
            $(#[$doc:meta])*
            $name:ident = $number:expr, call $called:ident, else $other:ident $(=> $run:expr)?;
        )*
    ) => {
        impl Stage {
            $($(#[$doc])* pub(super) const $name: u8 = $number;)*

            /// Returns the stage that serves a hit where the function of another one finds the
            /// recorder at `stage`.
            #[inline(always)]
            pub(super) const fn other(stage: u8) -> u8 {
                match stage {
                    $(Self::$name => Self::$other,)*
                    _ => Self::SERVE,
                }
            }

            /// Returns whether `stage` only sends hits, which cause other events.
            #[inline(always)]
            pub(super) const fn forwards(stage: u8) -> bool {
                matches!(
                    stage,
                    Self::FORWARD_TO_ALL | Self::FORWARD_TO_ONE | Self::BEGIN_PAIR
                )
            }

            /// Whether a recorder at `stage` records each hit, and does nothing else.
            #[inline(always)]
            pub(super) const fn records(stage: u8) -> bool {
                Self::records_short(stage) || matches!(stage, Self::TEXT | Self::SLOW)
            }

            /// Returns whether such a recorder makes short records of fixed size.
            #[inline(always)]
            pub(super) const fn records_short(stage: u8) -> bool {
                matches!(
                    stage,
                    Self::BARE
                        | Self::WORD
                        | Self::DURATION
                        | Self::WORD_AND_DURATION
                        | Self::SHORT
                )
            }
        }
    };
}
stages!(numbers);
