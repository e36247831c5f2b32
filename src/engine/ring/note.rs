// SPDX-License-Identifier: GPL-2.0

//! Comm notes: names of tasks, recorded so that a reader always knows them.
//!
//! A record holds a task's pid. When the record is read, the task's name may have changed
//! and the task may be gone. So a comm note precedes the first record of a task on a
//! sub-buffer: pid and name, in a padding event, which readers that do not know of it skip.
//! To keep comm notes rare, writer and reader each have a small table of the notes on the
//! sub-buffer: entry `pid % SIZE` holds the last task noted there. A task that is in the
//! writer's table is in the reader's table too when the reader reaches the record.
//!
//! The first word of a note's content also holds the offset of the comm note that was linked
//! before it on the sub-buffer, see [`super::tally`].

use super::halves::low;
use crate::sys::{AtomicU32, AtomicU64};

/// Number of entries of a table.
pub(super) const SIZE: usize = 16;

/// Number of words of a note's content: a magic number with the link, the task's pid, its name.
pub(super) const CONTENT_WORDS: usize = 6;

/// Bits of the first word that hold the link: the offset of another note, in words, or 0.
const LINK_MASK: u32 = (1 << 17) - 1;

/// Distinguishes a comm note from other padding, by the other bits. A discarded event has a
/// pid in this place, which is not negative.
const MAGIC: u32 = 0xed6d_6f63 & !LINK_MASK;

/// Number of bytes of a name.
pub(super) const NAME: usize = 16;

/// A task for which an event is recorded.
///
/// The name is compared half by half, so that only one half is in registers at a time.
pub trait Task {
    /// Returns its pid.
    fn id(&self) -> i32;

    /// Returns half `n`, 0 or 1, of its name, which is padded with zeros.
    fn half(&self, n: usize) -> u64;
}

impl Task for Note {
    #[inline(always)]
    fn id(&self) -> i32 {
        // CAST: The same bits.
        self.pid as i32
    }

    #[inline(always)]
    fn half(&self, n: usize) -> u64 {
        let [first, second] = self.name;
        if n == 0 {
            first
        } else {
            second
        }
    }
}

/// The pid and name of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    pid: u32,
    name: [u64; 2],
}

impl Note {
    /// Creates the note of task `pid` with the name `name`, which is padded with zeros.
    #[inline(always)]
    pub fn new(pid: i32, name: [u8; NAME]) -> Self {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = name;
        Self {
            // CAST: The same bits.
            pid: pid as u32,
            name: [
                u64::from_ne_bytes([a, b, c, d, e, f, g, h]),
                u64::from_ne_bytes([i, j, k, l, m, n, o, p]),
            ],
        }
    }

    /// Creates the note of `task`.
    #[inline(always)]
    pub fn of(task: &impl Task) -> Self {
        Self {
            // CAST: The same bits.
            pid: task.id() as u32,
            name: [task.half(0), task.half(1)],
        }
    }

    /// Returns the task's pid.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Returns the task's name, padded with zeros.
    pub fn name(&self) -> [u8; NAME] {
        let [first, second] = self.name;
        // The same bytes, on machines that are little-endian.
        (u128::from(second) << 64 | u128::from(first)).to_le_bytes()
    }

    /// Returns the entry of its task in a table.
    #[inline(always)]
    pub(super) fn entry(&self) -> usize {
        entry(self.pid)
    }

    /// Writes the content of the note over `words`, which are [`CONTENT_WORDS`] words,
    /// without a link.
    pub(super) fn put(&self, words: &[AtomicU32]) {
        let [first, second] = self.name;
        let content = [
            MAGIC,
            self.pid,
            low(first),
            low(first >> 32),
            low(second),
            low(second >> 32),
        ];
        for (word, value) in words.iter().zip(content) {
            word.store_relaxed(value);
        }
    }

    /// Returns the note whose content is `words`, or `None` if they are not a comm note.
    pub(super) fn read(words: &[AtomicU32]) -> Option<Self> {
        let [_, pid, a, b, c, d] = words.first_chunk::<CONTENT_WORDS>()?;
        link(words)?;
        let join = |low: &AtomicU32, high: &AtomicU32| {
            u64::from(low.load_relaxed()) | (u64::from(high.load_relaxed()) << 32)
        };
        Some(Self {
            pid: pid.load_relaxed(),
            name: [join(a, b), join(c, d)],
        })
    }
}

/// Returns the entry of task `pid` in a table.
#[inline(always)]
pub(super) fn entry(pid: u32) -> usize {
    // CAST: u32 to usize widens.
    pid as usize % SIZE
}

/// Stores the link to the comm note at `offset` in the note whose content is `words`.
pub(super) fn put_link(words: &[AtomicU32], offset: usize) {
    if let Some(first) = words.first() {
        // CAST: A sub-buffer has at most 2^17 words.
        first.store_relaxed(MAGIC | (offset as u32 & LINK_MASK));
    }
}

/// Returns the link of the note whose content is `words`, 0 for none; `None` if they are not
/// a comm note.
pub(super) fn link(words: &[AtomicU32]) -> Option<usize> {
    let word = words.first()?.load_relaxed();
    // CAST: u32 to usize widens.
    (word & !LINK_MASK == MAGIC).then_some((word & LINK_MASK) as usize)
}

/// The comm notes that writers have put on their sub-buffer.
///
/// Only an outermost writer looks up or adds entries, so no writer sees a half-written
/// entry. A nested writer always writes a comm note and clears the table; the writer it
/// interrupted, if it was about to add an entry, sees from the ring's position that it has
/// to clear the table again.
///
/// The latest entry is kept apart from the table: most hits read nothing else.
pub(super) struct Noted {
    latest: NoteEntry,
    table: [NoteEntry; SIZE],
}

struct NoteEntry {
    pid: AtomicU32,
    name: [AtomicU64; 2],
}

/// A pid that no task has.
const NOBODY: u32 = u32::MAX;

impl Noted {
    /// Creates an empty table.
    pub(super) fn new() -> Self {
        Self {
            latest: NoteEntry::new(),
            table: core::array::from_fn(|_| NoteEntry::new()),
        }
    }

    /// Returns whether `task` was the last that [`Noted::has`] found, or that was added.
    #[inline(always)]
    pub(super) fn is_latest(&self, task: &impl Task) -> bool {
        self.latest.is(task)
    }

    /// Returns whether `note` is the last one stored in its entry.
    pub(super) fn has(&self, note: &Note) -> bool {
        let entry = self.table.get(note.entry());
        let has = entry.is_some_and(|entry| entry.is(note));
        if has {
            self.latest.set(note);
        }
        has
    }

    /// Records that `note` is on the sub-buffer.
    pub(super) fn add(&self, note: &Note) {
        if let Some(entry) = self.table.get(note.entry()) {
            entry.set(note);
        }
        self.latest.set(note);
    }

    /// Clears the table, for a new sub-buffer.
    pub(super) fn clear(&self) {
        self.latest.forget();
        for entry in &self.table {
            entry.forget();
        }
    }
}

impl NoteEntry {
    fn new() -> Self {
        Self {
            pid: AtomicU32::new(NOBODY),
            name: [AtomicU64::new(0), AtomicU64::new(0)],
        }
    }

    #[inline(always)]
    fn is(&self, task: &impl Task) -> bool {
        let [first, second] = &self.name;
        // CAST: The same bits.
        self.pid.load_relaxed() == task.id() as u32
            && first.load_relaxed() == task.half(0)
            && second.load_relaxed() == task.half(1)
    }

    fn set(&self, note: &Note) {
        let [first, second] = note.name;
        let [entry_first, entry_second] = &self.name;
        self.pid.store_relaxed(NOBODY);
        entry_first.store_relaxed(first);
        entry_second.store_relaxed(second);
        self.pid.store_relaxed(note.pid);
    }

    fn forget(&self) {
        self.pid.store_relaxed(NOBODY);
    }
}
