// SPDX-License-Identifier: GPL-2.0

//! What stands before an event in `trace`: task, CPU, flags and time.
//!
//! The columns are those of the 7.3 kernel, which scripts parse.

use super::format::flag;
use super::record::{Header, COMM_LEN};
use super::ring::Note;
use super::seq_buf::SeqBuf;

/// How the time of an event is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// Nanoseconds, printed as seconds.
    Nanoseconds(u64),
    /// A count.
    Count(u64),
}

/// What stands before an event's own text.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// The task.
    pub task: Note,
    /// CPU on which it was recorded.
    pub cpu: u32,
    /// When it was recorded.
    pub time: Time,
    /// Whether the flags column is printed (option `irq-info`).
    pub irq_info: bool,
}

/// Adds the part of a line before the event's own text:
/// `COMM-PID [CPU] FLAGS TIME: `.
pub fn put(buf: &mut SeqBuf<'_>, context: &Context, header: Header) {
    put_task(buf, &context.task);
    put_place(buf, context, header);
    match context.time {
        Time::Nanoseconds(ns) => {
            let micros = ns.saturating_add(500) / 1_000;
            buf.padded(micros / 1_000_000, 5, b' ');
            buf.byte(b'.');
            // CAST: Below 10^6.
            buf.six_digits((micros % 1_000_000) as u32, *b": ");
        }
        Time::Count(n) => {
            buf.padded(n, 12, b' ');
            buf.text(b": ");
        }
    }
}

/// `COMM-PID `, in columns.
fn put_task(buf: &mut SeqBuf<'_>, task: &Note) {
    let name = task.name();
    let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
    // Padding needs the length of what is printed, not of the bytes.
    let mut room = [0; LONGEST_NAME];
    let mut shown = SeqBuf::new(&mut room);
    shown.one_line(name);
    let length = shown.finish().unwrap_or(0);
    let shown = room.get(..length).unwrap_or_default();
    let characters = core::str::from_utf8(shown).map_or(0, |shown| shown.chars().count());
    buf.pad(b' ', characters, 16);
    buf.bytes(shown);
    buf.byte(b'-');
    // CAST: The same bits.
    buf.signed_left(i64::from(task.pid() as i32), 7);
}

/// Bytes of a task's name of which each becomes `\xNN`.
const LONGEST_NAME: usize = 4 * COMM_LEN;

/// ` [CPU] FLAGS `.
fn put_place(buf: &mut SeqBuf<'_>, context: &Context, header: Header) {
    buf.text(b" [");
    buf.padded(u64::from(context.cpu), 3, b'0');
    buf.text(b"] ");
    if context.irq_info {
        put_flags(buf, header);
    }
    buf.byte(b' ');
}

/// Adds the five letters for interrupts, rescheduling, context, preemption and
/// migration.
pub fn put_flags(buf: &mut SeqBuf<'_>, header: Header) {
    let has = |bit: u8| header.flags & bit != 0;
    buf.byte(match (has(flag::IRQS_OFF), has(flag::BH_OFF)) {
        (true, true) => b'D',
        (true, false) => b'd',
        (false, true) => b'b',
        (false, false) => b'.',
    });
    let (now, lazy) = (has(flag::NEED_RESCHED), has(flag::NEED_RESCHED_LAZY));
    buf.byte(match (now, lazy, has(flag::PREEMPT_RESCHED)) {
        (true, true, true) => b'B',
        (true, false, true) => b'N',
        (false, true, true) => b'L',
        (true, true, false) => b'b',
        (true, false, false) => b'n',
        (false, false, true) => b'p',
        (false, true, false) => b'l',
        (false, false, false) => b'.',
    });
    buf.byte(
        match (has(flag::NMI), has(flag::HARDIRQ), has(flag::SOFTIRQ)) {
            (true, true, _) => b'Z',
            (true, false, _) => b'z',
            (false, true, true) => b'H',
            (false, true, false) => b'h',
            (false, false, true) => b's',
            (false, false, false) => b'.',
        },
    );
    for half in [header.preempt_count & 0xf, header.preempt_count >> 4] {
        buf.byte(match half {
            0 => b'.',
            1..=9 => half.wrapping_add(b'0'),
            _ => half.wrapping_add(b'a' - 10),
        });
    }
}
