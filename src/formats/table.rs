// SPDX-License-Identifier: GPL-2.0

//! The table of formats, in which a reader looks up the layout of a record.
//!
//! It has its own lock, so that no reader waits for a write to `kprobe_events`.

use super::{format::Format, retired::Retired};
use crate::{engine::record::numbers::Needed, sys::Vec};
use core::mem::ManuallyDrop;
use kernel::{
    new_mutex,
    prelude::*,
    sync::{Arc, Mutex, MutexGuard},
};

/// The formats of all records that may be in the buffer.
#[pin_data]
pub(crate) struct Formats {
    #[pin]
    table: Mutex<FormatTable>,
}

struct FormatTable {
    /// The formats of the defined events.
    live: Vec<Arc<Format>>,
    retired: Retired,
}

/// The formats, for a kernel that panics.
pub(crate) struct LastFormats<'a>(ManuallyDrop<MutexGuard<'a, FormatTable>>);

impl LastFormats<'_> {
    /// Returns the format of records with the number `id`.
    ///
    /// Context: any.
    pub(crate) fn find(&self, id: u16) -> Option<Arc<Format>> {
        self.0.find(id)
    }
}

impl FormatTable {
    fn find(&self, id: u16) -> Option<Arc<Format>> {
        let mut live = self.live.iter();
        match live.find(|format| format.id == id) {
            Some(format) => Some(format.clone()),
            None => self.retired.find(id),
        }
    }
}

impl Formats {
    /// Returns an empty table.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new() -> Result<Arc<Self>> {
        let table = FormatTable {
            live: Vec::new(),
            retired: Retired::new(),
        };
        Arc::pin_init(pin_init!(Self { table <- new_mutex!(table) }), GFP_KERNEL)
    }

    /// Returns the format of records with the number `id`.
    ///
    /// Context: process, may sleep.
    pub(crate) fn find(&self, id: u16) -> Option<Arc<Format>> {
        self.table.lock().find(id)
    }

    /// Returns the table for a kernel that panics; `None` if it was being changed. Its lock is
    /// never released: that might wake a task.
    ///
    /// Context: any, with the other CPUs stopped.
    pub(crate) fn last(&self) -> Option<LastFormats<'_>> {
        Some(LastFormats(ManuallyDrop::new(self.table.try_lock()?)))
    }

    /// Makes room for `new` formats, and for `gone` formats of removed events.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn reserve(&self, new: usize, gone: usize) -> Result {
        let mut table = self.table.lock();
        table.live.reserve(new)?;
        table.retired.reserve(gone)?;
        Ok(())
    }

    /// Adds the format of a new event, for which there is room.
    pub(crate) fn add(&self, format: Arc<Format>) {
        let _ = self.table.lock().live.push(format);
    }

    /// Retires the format of a removed event. There is room.
    pub(crate) fn retire(&self, format: &Arc<Format>) {
        let mut table = self.table.lock();
        let index = table
            .live
            .iter()
            .position(|known| Arc::ptr_eq(known, format));
        if let Some(format) = index.and_then(|index| table.live.take(index)) {
            table.retired.add(format);
        }
    }

    /// Returns whether a check of retired formats is due.
    pub(crate) fn are_many(&self) -> bool {
        self.table.lock().retired.are_many()
    }

    /// Returns the query for the buffer: the retired formats that may have records; `None` if there
    /// are none.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn question(&self) -> Result<Option<Needed>> {
        Ok(self.table.lock().retired.question()?)
    }

    /// Frees the retired formats without records, according to `answer`. Returns whether there were
    /// any.
    pub(crate) fn forget(&self, answer: &Needed) -> bool {
        self.table.lock().retired.forget(answer)
    }
}
