// SPDX-License-Identifier: GPL-2.0

//! The prefix of an event text with the option `latency-format`: the columns of the kernel's
//! latency tracers.
//!
//! The prefix contains the delay to the next event, which is unknown when an event is printed. So a
//! [`DelayGap`] is left for it. The wording is that of the 7.3 kernel
//! (`kernel/trace/trace_output.c`, `trace_print_lat_context()`).

use core::fmt::Write;

use crate::engine::print::context::{put_flags, Context, Time};
use crate::engine::record::Header;
use crate::engine::util::seq_buf::SeqBuf;

/// The contents of the columns, besides the context.
#[derive(Clone, Copy, Debug)]
pub struct LatencyColumns {
    /// Times are shown relative to this one.
    pub start: u64,
    /// The number of the event in the output.
    pub index: u64,
    /// Whether all numbers are printed (option `verbose`).
    pub is_verbose: bool,
}

/// A place in the text for the delay to the next event.
#[derive(Clone, Copy, Debug)]
pub struct DelayGap {
    /// Offset of the place.
    pub at: usize,
    time: Time,
    is_verbose: bool,
}

/// Adds the prefix of an event text. Returns the gap for the delay, if the columns have one.
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
    // The buffer notes an overflow.
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
    /// Maximum number of bytes of the delay's text.
    pub const LONGEST: usize = 32;

    /// Passes the text of the delay to `put`. `next` is the time of the next event, `None` if there
    /// is none.
    pub fn fill<R>(&self, next: Option<u64>, put: impl FnOnce(&[u8]) -> R) -> R {
        let mut room = [0; Self::LONGEST];
        let mut text = SeqBuf::new(&mut room);
        let since = |time: u64| next.unwrap_or(time).wrapping_sub(time);
        // The text fits.
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

/// Returns ftrace's letter for a delay in microseconds.
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
