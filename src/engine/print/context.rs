// SPDX-License-Identifier: GPL-2.0

//! The prefix of an event text in `trace`: task, CPU, flags and time.
//!
//! The columns are those of the 7.3 kernel, which scripts parse.

use crate::engine::record::format::flag;
use crate::engine::record::{Header, COMM_LEN};
use crate::engine::ring::Note;
use crate::engine::util::memo::Memo;
use crate::engine::util::seq_buf::{Piece, SeqBuf};

/// How the time of an event is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// Nanoseconds, printed as seconds.
    Nanoseconds(u64),
    /// A count.
    Count(u64),
}

/// The prefix of an event text.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// The task.
    pub task: Note,
    /// CPU on which it was recorded.
    pub cpu: u32,
    /// The time at which it was recorded.
    pub time: Time,
    /// Whether the flags column is printed (option `irq-info`).
    pub irq_info: bool,
    /// The process, if its column is printed (option `record-tgid`); 0 if unknown.
    pub tgid: Option<u32>,
}

/// Caches parts of recent prefixes: consecutive events share most of them.
pub struct Columns {
    tasks: Memo<((Note, Option<u32>), Piece), 16>,
    places: Memo<(ContextPlace, Piece), 16>,
    /// The start of the latest second, and its text.
    second: Option<(u64, Piece)>,
}

/// CPU and flags of an event.
#[derive(PartialEq)]
struct ContextPlace {
    cpu: u32,
    flags: u8,
    preempt_count: u8,
    irq_info: bool,
}

/// Nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;

impl Columns {
    /// Creates the columns before the first event.
    pub const fn new() -> Self {
        Self {
            tasks: Memo::new(),
            places: Memo::new(),
            second: None,
        }
    }

    /// Frees what is cached, and caches nothing from now on that needs memory.
    pub fn close(&mut self) {
        self.tasks.close();
        self.places.close();
    }

    /// Adds the prefix of an event text: `COMM-PID [CPU] FLAGS TIME: `, with ` (TGID)` behind the
    /// pid if it is shown.
    pub fn put(&mut self, buf: &mut SeqBuf<'_>, context: &Context, header: Header) {
        let task = &context.task;
        let slot = self.tasks.slot(u64::from(task.pid()));
        let key = (*task, context.tgid);
        put_known(buf, slot, key, |buf| put_task(buf, task, context.tgid));
        let place = ContextPlace {
            cpu: context.cpu,
            flags: header.flags,
            preempt_count: header.preempt_count,
            irq_info: context.irq_info,
        };
        let hash = u64::from(place.cpu) ^ u64::from(place.flags);
        let slot = self.places.slot(hash);
        put_known(buf, slot, place, |buf| put_place(buf, context, header));
        match context.time {
            Time::Nanoseconds(ns) => self.put_time(buf, ns),
            Time::Count(n) => {
                buf.padded(n, 12, b' ');
                buf.text(b": ");
            }
        }
    }

    /// Adds `SECONDS.MICROSECONDS: `.
    fn put_time(&mut self, buf: &mut SeqBuf<'_>, ns: u64) {
        let rounded = ns.saturating_add(500);
        let is_in = |start: &u64| rounded.checked_sub(*start).is_some_and(|ns| ns < SECOND);
        let known = self.second.as_ref().filter(|(start, _)| is_in(start));
        let start = match known {
            Some((start, piece)) => {
                buf.piece(piece);
                *start
            }
            None => {
                let seconds = rounded / SECOND;
                let start = seconds.wrapping_mul(SECOND);
                let write = |buf: &mut SeqBuf<'_>| {
                    buf.padded(seconds, 5, b' ');
                    buf.byte(b'.');
                };
                write(buf);
                self.second = Piece::made_by(write).map(|piece| (start, piece));
                start
            }
        };
        // CAST: Less than a second.
        let rest = rounded.wrapping_sub(start) as u32;
        buf.six_digits(rest / 1_000, *b": ");
    }
}

impl Default for Columns {
    fn default() -> Self {
        Self::new()
    }
}

/// Adds the text for `key`: from `slot` if it is cached there; otherwise `write` makes it, and it
/// is stored there.
pub(in crate::engine) fn put_known<K: PartialEq, const N: usize>(
    buf: &mut SeqBuf<'_>,
    slot: Option<&mut Option<(K, Piece<N>)>>,
    key: K,
    write: impl Fn(&mut SeqBuf<'_>),
) {
    match slot {
        Some(Some((known, piece))) if *known == key => buf.piece(piece),
        slot => {
            write(buf);
            if let Some(slot) = slot {
                *slot = Piece::made_by(write).map(|piece| (key, piece));
            }
        }
    }
}

/// Adds `COMM-PID`, in columns, and ` (TGID)` if it is shown.
fn put_task(buf: &mut SeqBuf<'_>, task: &Note, tgid: Option<u32>) {
    let name = task.name();
    let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
    // The padding depends on the printed length, not on the number of bytes.
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
    match tgid {
        None => {}
        Some(0) => buf.text(b" (-------)"),
        Some(tgid) => {
            buf.text(b" (");
            buf.padded(u64::from(tgid), 7, b' ');
            buf.byte(b')');
        }
    }
}

/// Longest comm as text, if each byte becomes `\xNN`.
const LONGEST_NAME: usize = 4 * COMM_LEN;

/// Adds ` [CPU] FLAGS `.
fn put_place(buf: &mut SeqBuf<'_>, context: &Context, header: Header) {
    buf.text(b" [");
    buf.padded(u64::from(context.cpu), 3, b'0');
    buf.text(b"] ");
    if context.irq_info {
        put_flags(buf, header);
    }
    buf.byte(b' ');
}

/// Adds the five letters for interrupts, rescheduling, context, preemption and migration.
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
