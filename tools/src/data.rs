// SPDX-License-Identifier: GPL-2.0

//! The bytes of a file, mapped: debug information of a kernel has 400 MB, of which a
//! call reads little.

use crate::error::{Refusal, Result};
use gimli::{EndianSlice, LittleEndian};
use memmap2::Mmap;
use std::fs::File;
use std::ops::Deref;
use std::path::Path;

/// A part of a debug section.
pub type Slice<'s> = EndianSlice<'s, LittleEndian>;

/// The bytes of a file.
pub struct Data(Mmap);

impl Data {
    /// Maps the file at `path`.
    pub fn open(path: &Path) -> Result<Self> {
        let open = || {
            let file = File::open(path)?;
            // SAFETY: The mapping is private and read-only. What it may not survive is another
            // process that changes the file in place. Debug information and the index are
            // replaced by renaming, by packages, linkers and this program alike; whoever
            // truncates one ends this program by SIGBUS, and nothing else. The bytes are
            // only ever read through checked slices, so other contents are no more than
            // another damaged file.
            unsafe { Mmap::map(&file) }
        };
        open()
            .map(Self)
            .map_err(|error| Refusal::from(error).about(path.display()))
    }
}

impl Deref for Data {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}
