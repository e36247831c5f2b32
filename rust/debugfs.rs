// SPDX-License-Identifier: GPL-2.0

//! Files in debugfs with state per opening, blocking reads and poll.
//!
//! A file is made with `debugfs_create_file_unsafe`: the kernel then guards
//! only its opening against removal, and a reader that sleeps in a file does
//! not hold up its removal. What an opening needs it therefore owns, by
//! counted references. The file's owner is the module, which stays loaded as
//! long as a file is open.
//!
//! C header: [`include/linux/debugfs.h`](srctree/include/linux/debugfs.h)

mod operations;

use super::{mapping::Area, wake::PollTable};
use core::{pin::Pin, ptr};
use kernel::{
    bindings,
    error::from_err_ptr,
    prelude::*,
    sync::{Arc, ArcBorrow},
    uaccess::{UserSliceReader, UserSliceWriter},
};
use operations::Operations;

/// What can be done with a kind of file.
pub trait File: Sized + 'static {
    /// What all openings of the file share.
    type Data: Send + Sync + 'static;

    /// What one opening owns.
    type Open: Send + Sync + 'static;

    /// Whether a reader can move in the file.
    const SEEKABLE: bool = true;

    /// Whether the file can be spliced; then it has [`File::splice_ready`] and
    /// [`File::take`].
    const SPLICEABLE: bool = false;

    /// Whether the file can be mapped; then it has [`File::map`] and what belongs
    /// to that.
    const MAPPABLE: bool = false;

    /// Opens the file.
    ///
    /// # Errors
    ///
    /// What `open(2)` is to return.
    fn open(data: ArcBorrow<'_, Self::Data>, file: &OpenFile) -> Result<Pin<KBox<Self::Open>>>;

    /// Reads at `offset`, moves it, and returns the number of bytes.
    ///
    /// # Errors
    ///
    /// What `read(2)` is to return.
    fn read(
        _open: &Self::Open,
        _file: &OpenFile,
        _to: &mut UserSliceWriter,
        _offset: &mut i64,
    ) -> Result<usize> {
        Err(EINVAL)
    }

    /// Writes all of `from`.
    ///
    /// # Errors
    ///
    /// What `write(2)` is to return.
    fn write(_open: &Self::Open, _file: &OpenFile, _from: UserSliceReader) -> Result {
        Err(EINVAL)
    }

    /// Waits until there is something to splice, unless `nonblocking`; false at
    /// the end of the file.
    ///
    /// # Errors
    ///
    /// What `splice(2)` is to return.
    fn splice_ready(_open: &Self::Open, _file: &OpenFile, _nonblocking: bool) -> Result<bool> {
        Err(EINVAL)
    }

    /// Bytes that are spliced as one piece.
    fn piece(_open: &Self::Open) -> usize {
        4096
    }

    /// Fills `page`, of [`File::piece`] bytes, with what is spliced; false when
    /// there is nothing more at the moment.
    ///
    /// # Errors
    ///
    /// What `splice(2)` is to return.
    fn take(_open: &Self::Open, _page: &mut [u8]) -> Result<bool> {
        Err(EINVAL)
    }

    /// What `ioctl(2)` with the number `command` does.
    ///
    /// # Errors
    ///
    /// What `ioctl(2)` is to return.
    fn control(_open: &Self::Open, _file: &OpenFile, _command: u32) -> Result {
        Err(ENOTTY)
    }

    /// Maps a part of the file to `area`, for looking.
    ///
    /// No file is closed while it is mapped. Runs under the lock of the task's
    /// addresses, under which any task that reads or writes its own memory may
    /// wait: nothing may be waited for that does so.
    ///
    /// # Errors
    ///
    /// What `mmap(2)` is to return.
    fn map(_open: &Self::Open, _area: &Area<'_>) -> Result {
        Err(ENODEV)
    }

    /// What was mapped by [`File::map`] is there once more. Context as there.
    fn mapped_again(_open: &Self::Open) {}

    /// One mapping is gone. Context as for [`File::map`].
    fn unmapped(_open: &Self::Open) {}

    /// The events of `poll(2)` that hold now, after naming to `table` the
    /// queues that tell of others.
    fn poll(_open: &Self::Open, _file: &OpenFile, _table: &PollTable) -> u32 {
        READABLE | WRITABLE
    }
}

/// `poll(2)`: reading does not block.
pub const READABLE: u32 = bindings::POLLIN | bindings::POLLRDNORM;
/// `poll(2)`: writing does not block.
pub const WRITABLE: u32 = bindings::POLLOUT | bindings::POLLWRNORM;

/// The file of an opening, during one of its operations.
///
/// # Invariants
///
/// Valid during the operation.
pub struct OpenFile(*mut bindings::file);

impl OpenFile {
    /// The kernel's structure.
    pub(super) fn as_ptr(&self) -> *mut bindings::file {
        self.0
    }

    fn flags(&self) -> u32 {
        // SAFETY: By the type invariant.
        unsafe { (&raw const (*self.0).f_flags).read_volatile() }
    }

    /// Whether operations are not to block.
    pub fn is_nonblocking(&self) -> bool {
        self.flags() & bindings::O_NONBLOCK != 0
    }

    /// Whether the file is opened for writing.
    pub fn is_writable(&self) -> bool {
        self.flags() & bindings::O_ACCMODE != bindings::O_RDONLY
    }

    /// Whether the file is opened for reading.
    pub fn is_readable(&self) -> bool {
        self.flags() & bindings::O_ACCMODE != bindings::O_WRONLY
    }

    /// Whether what was in the file is to go, as after the shell's `>`.
    pub fn truncates(&self) -> bool {
        self.is_writable() && self.flags() & bindings::O_TRUNC != 0
    }
}

/// A directory; removed when its last entry and the last reference are gone.
///
/// # Invariants
///
/// `dentry` is a directory in debugfs, made by [`Dir::new`].
pub struct Dir {
    dentry: *mut bindings::dentry,
    /// Keeps the directory above.
    _parent: Option<Arc<Dir>>,
}

// SAFETY: A dentry may be used by any thread.
unsafe impl Send for Dir {}
// SAFETY: debugfs locks what it changes.
unsafe impl Sync for Dir {}

impl Dir {
    /// Makes the directory `name` in `parent`, or at the top of debugfs.
    ///
    /// # Errors
    ///
    /// `EEXIST`, `ENOMEM`; `ENODEV` where debugfs is off, `EPERM` where it may
    /// not be used.
    ///
    /// Context: process, may sleep.
    pub fn new(name: &CStr, parent: Option<Arc<Dir>>) -> Result<Arc<Self>> {
        let above = parent
            .as_ref()
            .map_or(ptr::null_mut(), |parent| parent.dentry);
        // SAFETY: The name is copied; the parent is null or a directory.
        let dentry = unsafe { bindings::debugfs_create_dir(name.as_char_ptr(), above) };
        let dentry = from_err_ptr(dentry)?;
        // INVARIANT: Made above.
        Ok(Arc::new(
            Self {
                dentry,
                _parent: parent,
            },
            GFP_KERNEL,
        )?)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        // SAFETY: By the type invariant; its entries hold references to it, so
        // it is empty.
        unsafe { bindings::debugfs_remove(self.dentry) };
    }
}

/// A file; removed when dropped, which waits for openings in progress but not
/// for those that succeeded.
///
/// # Invariants
///
/// `dentry` is a file in debugfs whose private pointer is that of `_data`.
pub struct Entry<F: File> {
    dentry: *mut bindings::dentry,
    _data: Arc<F::Data>,
    /// Keeps the directory.
    _dir: Arc<Dir>,
}

// SAFETY: A dentry may be used by any thread, and the data can be shared.
unsafe impl<F: File> Send for Entry<F> {}
// SAFETY: debugfs locks what it changes.
unsafe impl<F: File> Sync for Entry<F> {}

impl<F: File> Entry<F> {
    /// Makes the file `name` with the permissions `mode` in `dir`.
    ///
    /// # Errors
    ///
    /// `EEXIST`, `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub fn new(name: &CStr, mode: u16, dir: &Arc<Dir>, data: Arc<F::Data>) -> Result<Self> {
        // SAFETY: The name is copied; the directory is one; the data outlives
        // the file, see the drop; the operations fit the data.
        let dentry = from_err_ptr(unsafe {
            bindings::debugfs_create_file_unsafe(
                name.as_char_ptr(),
                mode,
                dir.dentry,
                Arc::as_ptr(&data).cast_mut().cast(),
                Operations::<F>::TABLE,
            )
        })?;
        // INVARIANT: Made above.
        Ok(Self {
            dentry,
            _data: data,
            _dir: dir.clone(),
        })
    }
}

impl<F: File> Drop for Entry<F> {
    fn drop(&mut self) {
        // SAFETY: By the type invariant. Waits until no call of `open` runs;
        // the data is let go after that.
        unsafe { bindings::debugfs_remove(self.dentry) };
    }
}
