// SPDX-License-Identifier: GPL-2.0

//! The prefix of an event text with the option `latency-format`: the columns of the kernel's
//! latency tracers.
//!
//! It tells how long it takes to the next event, which is not known yet when an event is
//! printed: so a [`DelayGap`] is left. The wording is that of the 7.3 kernel
//! (`kernel/trace/trace_output.c`, `trace_print_lat_context()`).

use core::fmt::Write;

use crate::engine::print::context::{put_flags, Context, Time};
use crate::engine::record::Header;
use crate::engine::util::seq_buf::SeqBuf;

/// What the columns need besides the context.
#[derive(Clone, Copy, Debug)]
pub struct LatencyColumns {
    /// The time from which times are counted.
    pub start: u64,
    /// The number of the event among those that are printed.
    pub index: u64,
    /// Whether all numbers are printed (option `verbose`).
    pub is_verbose: bool,
}

/// Where the delay to the next event belongs.
#[derive(Clone, Copy, Debug)]
pub struct DelayGap {
    /// How many bytes are before it.
    pub at: usize,
    time: Time,
    is_verbose: bool,
}

/// Adds the prefix of an event text. Returns the gap that is left, if the columns have a delay.
pub fn put_latency(
    buf: &mut SeqBuf<'_>,
    context: &Context,
    header: Header,
    columns: &LatencyColumns,
) -> Option<DelayGap> {
    let name = context.task.name();
    let end = name.iter().position(|&byte| byte == 0);
    let name = name.get(..end.unwrap_or(name.len())).unwrap_or_default();
    let (pid, cpu) = (header.pid, context.cpu);
    // What does not fit is noted by the buffer.
    let _ = if columns.is_verbose {
        buf.pad(b' ', name.len(), 16);
        buf.one_line(name);
        let (flags, depth) = (header.flags, header.preempt_count & 0xf);
        let index = columns.index;
        write!(buf, " {pid:7} {cpu:3} {flags} {depth:08x} {index:08x} ")
    } else {
        buf.pad(b' ', name.len(), 8);
        buf.one_line(name.get(..8).unwrap_or(name));
        let _ = write!(buf, "-{pid:<7} {cpu:3}");
        put_flags(buf, header);
        Ok(())
    };
    let _ = match (context.time, columns.is_verbose) {
        (Time::Nanoseconds(time), true) => {
            let since = microseconds(time.wrapping_sub(columns.start));
            let (ms, us) = (since / 1000, since % 1000);
            write!(buf, "[{:08x}] {ms}.{us:03}ms (+", microseconds(time))
        }
        (Time::Nanoseconds(time), false) => {
            let since = microseconds(time.wrapping_sub(columns.start));
            write!(buf, " {since:4}us")
        }
        (Time::Count(count), true) => {
            let since = count.wrapping_sub(columns.start);
            write!(buf, "[{count:016x}] {since} (+")
        }
        (Time::Count(count), false) => {
            write!(buf, " {:4}", count.wrapping_sub(columns.start))
        }
    };
    let at = buf.len();
    buf.bytes(if columns.is_verbose { b"): " } else { b": " });
    let has_delay = columns.is_verbose || matches!(context.time, Time::Nanoseconds(_));
    has_delay.then_some(DelayGap {
        at,
        time: context.time,
        is_verbose: columns.is_verbose,
    })
}

impl DelayGap {
    /// Most bytes of the text that belongs there.
    pub const LONGEST: usize = 32;

    /// Passes `put` the text that belongs there, if the next event was at `next`, or if there is
    /// none.
    pub fn fill<R>(&self, next: Option<u64>, put: impl FnOnce(&[u8]) -> R) -> R {
        let mut room = [0; Self::LONGEST];
        let mut text = SeqBuf::new(&mut room);
        let since = |time: u64| next.unwrap_or(time).wrapping_sub(time);
        // There is room for each.
        let _ = match (self.time, self.is_verbose) {
            (Time::Nanoseconds(time), true) => {
                let delay = microseconds(since(time));
                write!(text, "{}.{:03}ms", delay / 1000, delay % 1000)
            }
            (Time::Nanoseconds(time), false) => {
                text.byte(mark(microseconds(since(time))));
                Ok(())
            }
            (Time::Count(count), _) => write!(text, "{}", since(count)),
        };
        let length = text.finish().unwrap_or(0);
        put(room.get(..length).unwrap_or_default())
    }
}

/// Returns `time` in microseconds, rounded.
fn microseconds(time: u64) -> u64 {
    time.wrapping_add(500) / 1000
}

/// Returns the letter for a delay of so many microseconds.
fn mark(delay: u64) -> u8 {
    match delay {
        0..=10 => b' ',
        11..=100 => b'+',
        101..=1_000 => b'!',
        1_001..=10_000 => b'#',
        10_001..=100_000 => b'*',
        100_001..=1_000_000 => b'@',
        _ => b'$',
    }
}
