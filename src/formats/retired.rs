// SPDX-License-Identifier: GPL-2.0

//! The formats of removed events, kept as long as the buffer has records with them.
//!
//! Only the buffer knows which formats it needs, and its readers may need the registry meanwhile.
//! So a check has three steps: get the query from here, search the buffer without the registry
//! lock, and pass the answer back; see [`crate::tracer`].

use super::format::Format;
use crate::{
    drop_where::drop_where,
    engine::record::numbers::Needed,
    sys::{AllocError, Vec},
};
use kernel::sync::Arc;

/// Formats that are kept without a check of the buffer.
const FEW: usize = 1024;

pub(super) struct Retired {
    /// In the order of removal.
    formats: Vec<Old>,
    /// The number of formats that were added so far.
    added: u64,
    /// The number of formats that triggers a check.
    many: usize,
}

/// A retired format.
struct Old {
    format: Arc<Format>,
    serial: u64,
}

impl Retired {
    /// Makes an empty set of formats.
    pub(super) const fn new() -> Self {
        Self {
            formats: Vec::new(),
            added: 0,
            many: FEW,
        }
    }

    /// Makes room for `additional` formats.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub(super) fn reserve(&mut self, additional: usize) -> Result<(), AllocError> {
        self.formats.reserve(additional)
    }

    /// Adds `format`. The caller has reserved room.
    pub(super) fn add(&mut self, format: Arc<Format>) {
        self.added = self.added.wrapping_add(1);
        let serial = self.added;
        let _ = self.formats.push(Old { format, serial });
    }

    /// Returns the format of records with the id `id`.
    pub(super) fn find(&self, id: u16) -> Option<Arc<Format>> {
        let mut formats = self.formats.iter();
        let old = formats.find(|old| old.format.id == id)?;
        Some(old.format.clone())
    }

    /// Returns whether a check is due.
    pub(super) fn are_many(&self) -> bool {
        self.formats.len() >= self.many
    }

    /// Returns the query for the buffer; `None` if there are no formats.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub(super) fn question(&self) -> Result<Option<Needed>, AllocError> {
        if self.formats.is_empty() {
            return Ok(None);
        }
        let mut needed = Needed::new()?;
        for old in &self.formats {
            needed.add(old.serial, old.format.id)?;
        }
        Ok(Some(needed))
    }

    /// Forgets the formats that are not needed, according to `answer`. Returns whether
    /// there were any.
    pub(super) fn forget(&mut self, answer: &Needed) -> bool {
        let before = self.formats.len();
        let mut unneeded = answer.unneeded().rev().peekable();
        drop_where(&mut self.formats, |old| {
            // A concurrent check may have forgotten formats of this answer.
            while unneeded.next_if(|&serial| serial > old.serial).is_some() {}
            unneeded.next_if_eq(&old.serial).is_some()
        });
        self.many = self.formats.len().saturating_mul(2).max(FEW);
        self.formats.len() < before
    }
}
