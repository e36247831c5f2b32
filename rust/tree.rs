// SPDX-License-Identifier: GPL-2.0

//! The tree of the module's files, shown by debugfs and by a file system of the module, with state
//! per open file, blocking reads and poll.
//!
//! Files are created in debugfs with `debugfs_create_file_unsafe()`: like the module's own file
//! system, the kernel then only protects their opening against removal, and a reader that sleeps in
//! a file does not delay its removal. So an open file owns what it needs, by counted references.
//! The module is the owner of all files, so it stays loaded while one is open.
//!
//! C header: [`include/linux/debugfs.h`](srctree/include/linux/debugfs.h)

mod dir;
mod late;
mod mount;
mod node;
mod openings;
mod operations;
mod pipe;
mod read_to;
mod user_dir;

use super::{calls, mapping::Area, user_room::UserRoom, wake::PollTable};
use core::pin::Pin;
use kernel::{bindings, prelude::*, sync::Arc, uaccess::UserSliceReader};
use node::Node;
use operations::{Operations, SharedFile};

pub use super::file::OpenFile;
pub use dir::Dir;
pub use late::{LateDir, LateDirs, LateFill};
pub use mount::Mountable;
pub use openings::Openings;
pub use pipe::Pipe;
pub use read_to::ReadTo;
pub use user_dir::{Subdirs, UserDir};

/// Returns whether debugfs is mounted at `/sys/kernel/debug`, as seen by the current task.
///
/// Context: process, may sleep.
pub fn debugfs_is_mounted() -> bool {
    calls::ferroprobe_debugfs_is_mounted()
}

/// The operations of a kind of file.
pub trait File: Sized + 'static {
    /// The state shared by all openings of the file.
    type Data: Send + Sync + 'static;

    /// The state of one opening.
    type Open: Send + Sync + 'static;

    /// Whether the file supports `lseek(2)`.
    const SEEKABLE: bool = true;

    /// Whether the file is a stream: it has no position, so tasks that share an open file do not
    /// wait for each other. It is then not [`File::SEEKABLE`].
    const STREAM: bool = false;

    /// Whether the file can be spliced; if so, it implements [`File::splice_ready`] and
    /// [`File::take`].
    const SPLICEABLE: bool = false;

    /// Whether the file can be mapped; if so, it implements [`File::map`],
    /// [`File::mapped_again`] and [`File::unmapped`].
    const MAPPABLE: bool = false;

    /// Opens the file.
    ///
    /// # Errors
    ///
    /// The error that `open(2)` returns.
    fn open(data: &Self::Data, file: &OpenFile) -> Result<Pin<KBox<Self::Open>>>;

    /// Reads at `offset`, advances it, and returns the number of bytes.
    ///
    /// # Errors
    ///
    /// The error that `read(2)` returns.
    fn read(
        _open: &Self::Open,
        _file: &OpenFile,
        _to: &mut ReadTo<'_>,
        _offset: &mut i64,
    ) -> Result<usize> {
        Err(EINVAL)
    }

    /// A first attempt of a read, in few instructions: copies what it can without faulting in the
    /// memory of `to`. If it returns `None`, [`File::read`] is called.
    fn read_at_once(_open: &Self::Open, _to: &UserRoom) -> Option<usize> {
        None
    }

    /// Writes all of `from`.
    ///
    /// # Errors
    ///
    /// The error that `write(2)` returns.
    fn write(_open: &Self::Open, _file: &OpenFile, _from: UserSliceReader) -> Result {
        Err(EINVAL)
    }

    /// Waits until there is something to splice, unless `nonblocking`; returns false at
    /// the end of the file.
    ///
    /// # Errors
    ///
    /// The error that `splice(2)` returns.
    fn splice_ready(_open: &Self::Open, _file: &OpenFile, _nonblocking: bool) -> Result<bool> {
        Err(EINVAL)
    }

    /// Whether pieces are spliced as a whole or not at all. Otherwise a part may be spliced.
    const WHOLE_PIECES: bool = true;

    /// Returns the size of a piece in bytes: of a page unless [`File::WHOLE_PIECES`].
    fn piece(_open: &Self::Open) -> usize {
        4096
    }

    /// Adds the next piece to splice to `pipe` without a copy, if that is possible.
    ///
    /// # Errors
    ///
    /// The error that `splice(2)` returns.
    fn lend(_open: &Self::Open, _pipe: &mut Pipe) -> Result<Lending> {
        Ok(Lending::Copy)
    }

    /// Fills `page` with the next piece to splice. `page` has [`File::piece`] bytes, or fewer if
    /// parts may be spliced. Returns the number of bytes; 0 if there are none now.
    ///
    /// # Errors
    ///
    /// The error that `splice(2)` returns.
    fn take(_open: &Self::Open, _page: &mut [u8]) -> Result<usize> {
        Err(EINVAL)
    }

    /// Handles `ioctl(2)` with the number `command`.
    ///
    /// # Errors
    ///
    /// The error that `ioctl(2)` returns.
    fn control(_open: &Self::Open, _file: &OpenFile, _command: u32) -> Result {
        Err(ENOTTY)
    }

    /// Maps a part of the file to `area`, read-only.
    ///
    /// A file is not closed while it is mapped. Called with the mmap lock of the task
    /// held. Any task that accesses its own memory may wait for this lock, so this
    /// function must not wait for such a task.
    ///
    /// # Errors
    ///
    /// The error that `mmap(2)` returns.
    fn map(_open: &Self::Open, _area: &Area<'_>) -> Result {
        Err(ENODEV)
    }

    /// Called when a mapping made by [`File::map`] is duplicated.
    ///
    /// Context: as for [`File::map`].
    fn mapped_again(_open: &Self::Open) {}

    /// Called when one mapping is removed.
    ///
    /// Context: as for [`File::map`].
    fn unmapped(_open: &Self::Open) {}

    /// Registers with `table` the queues that signal further events, then returns the
    /// `poll(2)` events that hold now.
    fn poll<'open>(_open: &'open Self::Open, _file: &OpenFile, _table: &PollTable<'open>) -> u32 {
        READABLE | WRITABLE
    }
}

/// The result of [`File::lend`].
pub enum Lending {
    /// A piece was added.
    Lent,
    /// The next piece, if there is one, has to be copied: [`File::take`] is called.
    Copy,
    /// There is no piece at the moment.
    Nothing,
}

/// `poll(2)`: reading does not block.
pub const READABLE: u32 = bindings::POLLIN | bindings::POLLRDNORM;
/// `poll(2)`: something has changed since the last call, or since the last read.
pub const URGENT: u32 = bindings::POLLPRI;
/// `poll(2)`: the object of the file is gone.
pub const FAILED: u32 = bindings::POLLERR;
/// `poll(2)`: writing does not block.
pub const WRITABLE: u32 = bindings::POLLOUT | bindings::POLLWRNORM;

/// A file; removed when dropped. The drop waits for `open(2)` in progress, but not for open files.
pub struct TreeFile {
    node: Node,
    /// The data of the node, dropped after the node.
    _shared: KBox<dyn AnySharedFile>,
    /// Keeps the directory.
    _dir: Arc<Dir>,
}

/// The state shared by all openings of a file, for any kind of file.
trait AnySharedFile: Send + Sync {}

impl<F: File> AnySharedFile for SharedFile<F> {}

impl TreeFile {
    /// Creates the file `name` of the kind `F` with the permissions `mode` in `dir`.
    ///
    /// # Errors
    ///
    /// `EEXIST`, `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub fn new<F: File>(name: &CStr, mode: u16, dir: &Arc<Dir>, data: F::Data) -> Result<Self> {
        let openings = dir.openings.clone();
        let shared = KBox::new(SharedFile::<F> { data, openings }, GFP_KERNEL)?;
        let data = (&raw const *shared).cast_mut().cast();
        // SAFETY: What is shared outlives the node, see the order of the fields; the operations
        // match its type.
        let node = unsafe { Node::file(name, &dir.node, mode, Operations::<F>::TABLE, data) }?;
        let file = Self {
            node,
            _shared: shared,
            _dir: dir.clone(),
        };
        file.node.show()?;
        Ok(file)
    }
}
