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

use super::{bindings as extra, wake::PollTable};
use core::{marker::PhantomData, pin::Pin, ptr};
use kernel::{
    bindings,
    error::from_err_ptr,
    prelude::*,
    sync::{Arc, ArcBorrow},
    types::{ForeignOwnable, Opaque},
    uaccess::{UserPtr, UserSlice, UserSliceReader, UserSliceWriter},
};

#[expect(improper_ctypes, reason = "only its address is taken")]
extern "C" {
    /// The module that this code is part of.
    static __this_module: Opaque<bindings::module>;
}

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
    fn control(_open: &Self::Open, _command: u32) -> Result {
        Err(ENOTTY)
    }

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

/// The kernel's table of operations for a kind of file.
struct Operations<F>(PhantomData<F>);

impl<F: File> Operations<F> {
    const TABLE: &'static bindings::file_operations = &bindings::file_operations {
        owner: Opaque::cast_into(&raw const __this_module),
        open: Some(Self::open),
        release: Some(Self::release),
        read: Some(Self::read),
        write: Some(Self::write),
        poll: Some(Self::poll),
        // Always: debugfs opens files that can only be read even where the kernel
        // is locked down, unless they have this.
        unlocked_ioctl: Some(Self::control),
        // Only copy_splice_read() comes this way: others find `read`.
        read_iter: if F::SPLICEABLE {
            Some(Self::read_iter)
        } else {
            None
        },
        splice_read: if F::SPLICEABLE {
            Some(Self::splice_read)
        } else {
            None
        },
        llseek: if F::SEEKABLE {
            Some(bindings::default_llseek)
        } else {
            None
        },
        // SAFETY: All zeros are a valid table: no operation.
        ..unsafe { core::mem::MaybeUninit::zeroed().assume_init() }
    };

    /// # Safety
    ///
    /// Called by the kernel only, for a file that has this table.
    unsafe extern "C" fn open(
        inode: *mut bindings::inode,
        file: *mut bindings::file,
    ) -> kernel::ffi::c_int {
        // SAFETY: The private pointer comes from an `Arc` that its `Entry`
        // holds until no call of `open` runs.
        let data = unsafe { ArcBorrow::from_raw((*inode).i_private.cast::<F::Data>()) };
        match F::open(data, &OpenFile(file)) {
            Ok(open) => {
                // SAFETY: The file is being opened by the caller.
                unsafe { (*file).private_data = open.into_foreign().cast() };
                0
            }
            Err(error) => error.to_errno(),
        }
    }

    /// What [`open`](Self::open) left in the file.
    ///
    /// # Safety
    ///
    /// `file` must be open, by this table.
    unsafe fn opened<'a>(file: *mut bindings::file) -> &'a F::Open {
        // SAFETY: Set by `open`, valid until `release`.
        unsafe { Pin::<KBox<F::Open>>::borrow((*file).private_data.cast()) }.get_ref()
    }

    /// # Safety
    ///
    /// Called by the kernel only, for a file that has this table.
    unsafe extern "C" fn release(
        _inode: *mut bindings::inode,
        file: *mut bindings::file,
    ) -> kernel::ffi::c_int {
        // SAFETY: Set by `open`; this is the last operation of the file.
        drop(unsafe { Pin::<KBox<F::Open>>::from_foreign((*file).private_data.cast()) });
        0
    }

    /// # Safety
    ///
    /// Called by the kernel only, for a file that has this table.
    unsafe extern "C" fn read(
        file: *mut bindings::file,
        buffer: *mut kernel::ffi::c_char,
        length: usize,
        offset: *mut bindings::loff_t,
    ) -> isize {
        // SAFETY: The file is open by this table.
        let open = unsafe { Self::opened(file) };
        let mut to = UserSlice::new(UserPtr::from_ptr(buffer.cast()), length).writer();
        // SAFETY: The kernel's offset is valid during the call.
        let result = F::read(open, &OpenFile(file), &mut to, unsafe { &mut *offset });
        outcome(result)
    }

    /// # Safety
    ///
    /// Called by the kernel only, for a file that has this table.
    unsafe extern "C" fn write(
        file: *mut bindings::file,
        buffer: *const kernel::ffi::c_char,
        length: usize,
        _offset: *mut bindings::loff_t,
    ) -> isize {
        // SAFETY: The file is open by this table.
        let open = unsafe { Self::opened(file) };
        let from = UserSlice::new(UserPtr::from_ptr(buffer.cast_mut().cast()), length).reader();
        outcome(F::write(open, &OpenFile(file), from).map(|()| length))
    }

    /// # Safety
    ///
    /// Called by the kernel only, for a file that has this table.
    unsafe extern "C" fn poll(
        file: *mut bindings::file,
        table: *mut bindings::poll_table_struct,
    ) -> bindings::__poll_t {
        // SAFETY: The file is open by this table.
        let open = unsafe { Self::opened(file) };
        F::poll(open, &OpenFile(file), &PollTable(table))
    }

    /// # Safety
    ///
    /// Called by the kernel only, for a file that has this table.
    unsafe extern "C" fn control(
        file: *mut bindings::file,
        command: kernel::ffi::c_uint,
        _argument: kernel::ffi::c_ulong,
    ) -> kernel::ffi::c_long {
        // SAFETY: The file is open by this table.
        let open = unsafe { Self::opened(file) };
        outcome(F::control(open, command).map(|()| 0)) as kernel::ffi::c_long
    }

    /// # Safety
    ///
    /// Called by the kernel only, for a file that has this table.
    unsafe extern "C" fn read_iter(
        kiocb: *mut bindings::kiocb,
        iter: *mut bindings::iov_iter,
    ) -> isize {
        // SAFETY: Both are valid during the call, and the file is open by this
        // table.
        let open = unsafe { Self::opened((*kiocb).ki_filp) };
        outcome(Self::fill(open, iter))
    }

    /// Moves pages to `iter`, which is valid, as many as there are and fit.
    fn fill(open: &F::Open, iter: *mut bindings::iov_iter) -> Result<usize> {
        let size = F::piece(open);
        let mut page: KVVec<u8> = KVVec::from_elem(0, size, GFP_KERNEL)?;
        let mut total = 0usize;
        // SAFETY: The caller's iterator is valid.
        while unsafe { extra::ferroprobe_iov_iter_count(iter) } >= size && F::take(open, &mut page)?
        {
            // SAFETY: As above; the page has that many bytes.
            let copied = unsafe { bindings::_copy_to_iter(page.as_ptr().cast(), size, iter) };
            total = total.wrapping_add(copied);
            if copied != size {
                break;
            }
        }
        Ok(total)
    }

    /// # Safety
    ///
    /// Called by the kernel only, for a file that has this table.
    unsafe extern "C" fn splice_read(
        file: *mut bindings::file,
        offset: *mut bindings::loff_t,
        pipe: *mut bindings::pipe_inode_info,
        length: usize,
        flags: kernel::ffi::c_uint,
    ) -> isize {
        // SAFETY: The file is open by this table.
        let open = unsafe { Self::opened(file) };
        if length < F::piece(open) {
            return outcome(Err(EINVAL));
        }
        let of = OpenFile(file);
        let nonblocking = flags & extra::FERROPROBE_SPLICE_NONBLOCK != 0 || of.is_nonblocking();
        match F::splice_ready(open, &of, nonblocking) {
            Ok(true) => {
                // SAFETY: What the caller handed down, and `read_iter` is there.
                let done = unsafe { bindings::copy_splice_read(file, offset, pipe, length, flags) };
                if done == 0 {
                    // Not the end: the pipe has no room for a piece, or another
                    // reader was faster.
                    return outcome(Err(EAGAIN));
                }
                done
            }
            ready => outcome(ready.map(|_| 0)),
        }
    }
}

/// What an operation returns to the kernel.
fn outcome(result: Result<usize>) -> isize {
    match result {
        // CAST: The kernel asks for less than isize::MAX bytes.
        Ok(length) => length as isize,
        Err(error) => error.to_errno() as isize,
    }
}
