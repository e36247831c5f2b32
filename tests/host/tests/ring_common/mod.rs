// SPDX-License-Identifier: GPL-2.0

//! What the tests of the ring share: a ring, a writer, and a parser of pages
//! that was written from the description of the format alone.

#![allow(dead_code, reason = "not every test uses everything")]

use ferroprobe_engine::engine::ring::{Always, Laps, Long, Lost, Note, Ring, Short};
use ferroprobe_engine::sys::Pages;

/// A ring of `pages` sub-buffers of `bytes`.
pub fn ring(pages: u32, bytes: usize, overwrite: bool) -> Ring<Pages> {
    ring_of(pages, bytes, overwrite, Laps::ALL)
}

/// The same with the sequences of `laps`.
pub fn ring_of(pages: u32, bytes: usize, overwrite: bool, laps: Laps) -> Ring<Pages> {
    let storage = Pages::new(pages as usize, bytes).unwrap();
    Ring::with_laps(0, storage, pages, overwrite, laps).unwrap()
}

/// `name` padded with zeros, as a task has it.
pub fn comm(name: &str) -> [u8; 16] {
    let mut comm = [0; 16];
    comm[..name.len()].copy_from_slice(name.as_bytes());
    comm
}

/// The note of the task for which tests record where it does not matter.
pub fn task() -> Note {
    Note::new(1, comm("init"))
}

/// Records `payload` at time `ts`; returns the time it got.
pub fn write(ring: &Ring<Pages>, ts: u64, payload: &[u8]) -> Result<u64, Lost> {
    write_as(ring, task(), ts, payload)
}

/// Records `payload` of the task that `note` names, at time `ts`; returns the
/// time it got.
pub fn write_as(ring: &Ring<Pages>, note: Note, ts: u64, payload: &[u8]) -> Result<u64, Lost> {
    // SAFETY: the tests write from one thread, and from hooks inside it.
    let writer = unsafe { ring.writer() };
    let clock = Always(|| ts);
    let fast = match (Short::<3>::of(payload.len()), Long::of(payload.len())) {
        (Some(short), _) => writer.reserve_fast(&short, &note, clock).ok(),
        (None, Some(long)) => writer.reserve_fast::<_, 3>(&long, &note, clock).ok(),
        (None, None) => None,
    };
    if let Some(mut event) = fast {
        event.bytes()[..payload.len()].copy_from_slice(payload);
        let ts = event.ts();
        assert!(event.publish().is_none());
        return Ok(ts);
    }
    let mut event = writer.reserve(payload.len(), note, || ts)?;
    event.bytes()[..payload.len()].copy_from_slice(payload);
    let ts = event.ts();
    event.commit();
    Ok(ts)
}

/// An event of a parsed page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub ts: u64,
    pub payload: Vec<u8>,
}

/// A parsed page.
#[derive(Clone, Debug)]
pub struct Page {
    pub events: Vec<Event>,
    /// "Events were lost here."
    pub missed: bool,
    /// How many, when it says so.
    pub lost: Option<u64>,
    /// The first byte after all that means something.
    pub end: usize,
}

/// Parses a page as the format's description says: nothing of the engine is
/// used.
pub fn parse_page(page: &[u8]) -> Option<Page> {
    let long = |at: usize| Some(u64::from_le_bytes(page.get(at..at + 8)?.try_into().ok()?));
    let word = |at: usize| Some(u32::from_le_bytes(page.get(at..at + 4)?.try_into().ok()?));
    let mut ts = long(0)?;
    let commit = long(8)?;
    if commit >> 32 != 0 || commit & 0x3800_0000 != 0 {
        return None;
    }
    let data_end = 16 + (commit & 0x7ff_ffff) as usize;
    let missed = commit & (1 << 31) != 0;
    let stored = commit & (1 << 30) != 0;
    let mut end = data_end;
    let mut lost = None;
    if stored {
        lost = Some(long(end)?);
        end += 8;
    }
    let mut events = Vec::new();
    let mut at = 16;
    while at < data_end {
        let header = word(at)?;
        let delta = u64::from(header >> 5);
        match header & 31 {
            0 => {
                let len = word(at + 4)? as usize;
                ts += delta;
                let payload = page.get(at + 8..at + 4 + len)?.to_vec();
                events.push(Event { ts, payload });
                at += 4 + len;
            }
            29 => {
                // A delta of zero would end the page.
                assert_ne!(delta, 0);
                ts += delta;
                at += 4 + word(at + 4)? as usize;
            }
            30 => {
                ts += delta + (u64::from(word(at + 4)?) << 27);
                at += 8;
            }
            31 => {
                let before = ts;
                let low = delta + (u64::from(word(at + 4)?) << 27);
                // The time nearest to the one before, with these low bits.
                ts = (ts >> 59 << 59) | low;
                if ts.abs_diff(before) > 1 << 58 {
                    ts = if ts > before {
                        ts - (1 << 59)
                    } else {
                        ts + (1 << 59)
                    };
                }
                at += 8;
            }
            words => {
                let len = words as usize * 4;
                ts += delta;
                let payload = page.get(at + 4..at + 4 + len)?.to_vec();
                events.push(Event { ts, payload });
                at += 4 + len;
            }
        }
    }
    (at == data_end).then_some(Page {
        events,
        missed,
        lost,
        end,
    })
}
