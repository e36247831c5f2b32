// SPDX-License-Identifier: GPL-2.0

//! The description of a file or directory: name, permissions, and line in `README`.

use super::{
    rejected::Logged,
    text::{TextFile, TextOps},
};
use crate::kapi::tree::{Dir, File, TreeFile};
use kernel::{prelude::*, sync::Arc};

/// Read and written.
pub(super) const READ_WRITE: u16 = 0o600;
/// Only written.
pub(super) const WRITE: u16 = 0o200;
/// Only read.
pub(super) const READ: u16 = 0o400;

/// A file, or a directory with files of its own.
pub(super) struct Described {
    /// The last component of its path.
    pub(super) name: &'static CStr,
    /// Its permissions; 0 for a directory, whose permissions debugfs chooses.
    mode: u16,
    /// Its purpose, for `README`, in lines of at most 56 characters.
    pub(super) help: &'static str,
}

/// Describes a file with the permissions `mode`.
pub(super) const fn file(name: &'static CStr, mode: u16, help: &'static str) -> Described {
    Described { name, mode, help }
}

/// Describes a directory.
pub(super) const fn folder(name: &'static CStr, help: &'static str) -> Described {
    file(name, 0, help)
}

impl Described {
    /// Creates the file in `dir`.
    ///
    /// # Errors
    ///
    /// `EEXIST`, `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub(super) fn make<F: File>(&self, dir: &Arc<Dir>, data: F::Data) -> Result<TreeFile> {
        TreeFile::new::<F>(self.name, self.mode, dir, data)
    }

    /// Creates the text file in `dir`, with the data `of`.
    ///
    /// # Errors
    ///
    /// `EEXIST`, `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub(super) fn text<D: Logged>(
        &self,
        dir: &Arc<Dir>,
        ops: &'static TextOps<D>,
        of: &Arc<D>,
    ) -> Result<TreeFile> {
        self.make::<TextFile<D>>(dir, (of.clone(), ops))
    }

    /// Returns whether it is a directory.
    pub(super) const fn is_folder(&self) -> bool {
        self.mode == 0
    }
}
