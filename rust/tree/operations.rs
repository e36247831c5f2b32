// SPDX-License-Identifier: GPL-2.0

//! The operations that the kernel calls for a file, or for a mapping of one.

use super::super::{
    bindings as extra, file::OpenFile, mapping::Area, user_room::UserRoom, wake::PollTable,
};
use super::{
    openings::{Opening, Openings},
    pipe::{OwnPage, Pipe},
    File, Lending, ReadTo,
};
use core::{marker::PhantomData, pin::Pin};
use kernel::{
    bindings,
    mm::virt::VmaNew,
    page::PAGE_SIZE,
    prelude::*,
    sync::Arc,
    types::{ForeignOwnable, Opaque},
    uaccess::{UserPtr, UserSlice},
};

#[expect(improper_ctypes, reason = "only its address is taken")]
extern "C" {
    /// The module that this code is part of.
    static __this_module: Opaque<bindings::module>;
}

/// The state shared by all openings of a file.
pub(super) struct SharedFile<F: File> {
    pub(super) data: F::Data,
    pub(super) openings: Option<Arc<Openings>>,
}

struct OpenState<F: File> {
    open: Pin<KBox<F::Open>>,
    /// Dropped after the state of the opening.
    _opening: Option<Opening>,
}

impl<F: File> OpenState<F> {
    fn new(shared: &SharedFile<F>, file: &OpenFile) -> Result<KBox<Self>> {
        let opening = shared.openings.as_ref().map(Opening::begin).transpose()?;
        let room = KBox::new_uninit(GFP_KERNEL)?;
        let open = F::open(&shared.data, file)?;
        Ok(room.write(Self {
            open,
            _opening: opening,
        }))
    }
}

/// The kernel's table of operations for a kind of file.
pub(super) struct Operations<F>(PhantomData<F>);

impl<F: File> Operations<F> {
    pub(super) const TABLE: &'static bindings::file_operations = &bindings::file_operations {
        owner: Opaque::cast_into(&raw const __this_module),
        open: Some(Self::open),
        release: Some(Self::release),
        // Not `read_iter`: without it, the kernel serves readv(2), preadv(2) and io_uring
        // by successive calls of `read`.
        read: Some(Self::read),
        write: Some(Self::write),
        poll: Some(Self::poll),
        // Set for every file: on a locked-down kernel, debugfs still opens read-only
        // files unless they have this operation.
        unlocked_ioctl: Some(Self::control),
        splice_read: if F::SPLICEABLE {
            Some(Self::splice_read)
        } else if F::SEEKABLE {
            Some(Self::splice_text)
        } else {
            None
        },
        mmap: if F::MAPPABLE { Some(Self::mmap) } else { None },
        llseek: if F::SEEKABLE {
            // A file's size is unknown before it is read.
            Some(bindings::no_seek_end_llseek)
        } else {
            None
        },
        ..pin_init::zeroed()
    };

    /// # Safety
    ///
    /// Called by the kernel only, for a file that has this table.
    unsafe extern "C" fn open(
        inode: *mut bindings::inode,
        file: *mut bindings::file,
    ) -> kernel::ffi::c_int {
        // SAFETY: The caller is opening the file.
        if !unsafe { extra::ferroprobe_may_open(file) } {
            return ENODEV.to_errno();
        }
        // SAFETY: The inode is of a node whose data is what the `Entry` holds until no call of
        // `open` runs.
        let shared = unsafe { &*extra::ferroprobe_node_data(inode).cast::<SharedFile<F>>() };
        match OpenState::new(shared, &OpenFile(file)) {
            Ok(opened) => {
                // SAFETY: The file is being opened by the caller.
                unsafe {
                    (*file).private_data = opened.into_foreign().cast();
                    if F::STREAM {
                        bindings::stream_open(inode, file);
                    } else {
                        // As in tracefs, writes have no position.
                        (*file).f_mode &= !extra::FERROPROBE_MODE_PWRITE;
                    }
                }
                0
            }
            Err(error) => error.to_errno(),
        }
    }

    /// Returns the state that [`open`](Self::open) stored in the file.
    ///
    /// # Safety
    ///
    /// `file` must be open through this table.
    unsafe fn opened<'a>(file: *mut bindings::file) -> &'a F::Open {
        // SAFETY: The pointer was set by `open`, and is valid until `release`.
        let opened = unsafe { KBox::<OpenState<F>>::borrow((*file).private_data.cast()) };
        opened.open.as_ref().get_ref()
    }

    /// # Safety
    ///
    /// Called by the kernel only, for a file that has this table.
    unsafe extern "C" fn release(
        _inode: *mut bindings::inode,
        file: *mut bindings::file,
    ) -> kernel::ffi::c_int {
        // SAFETY: The pointer was set by `open`; this is the last operation of the file.
        drop(unsafe { KBox::<OpenState<F>>::from_foreign((*file).private_data.cast()) });
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
        // SAFETY: The file is open through this table.
        let open = unsafe { Self::opened(file) };
        let to = UserPtr::from_ptr(buffer.cast());
        if let Some(done) = F::read_at_once(open, &UserRoom::new(to, length)) {
            return outcome(Ok(done));
        }
        // SAFETY: The kernel's offset is valid during the call.
        let offset = unsafe { &mut *offset };
        let to = UserSlice::new(to, length);
        Self::read_on(open, &OpenFile(file), to, offset)
    }

    /// The rest of [`read`](Self::read), if nothing was read at once. Out of line, so that the
    /// latter saves few registers.
    #[inline(never)]
    fn read_on(open: &F::Open, file: &OpenFile, to: UserSlice, offset: &mut i64) -> isize {
        outcome(F::read(open, file, &mut ReadTo::User(to.writer()), offset))
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
        // SAFETY: The file is open through this table.
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
        // SAFETY: The file is open through this table.
        let open = unsafe { Self::opened(file) };
        // INVARIANT: The kernel passed the table for the duration of this call. The
        // opening lasts until the file's release.
        let table = PollTable {
            table,
            open: PhantomData,
        };
        F::poll(open, &OpenFile(file), &table)
    }

    /// # Safety
    ///
    /// Called by the kernel only, for a file that has this table.
    unsafe extern "C" fn control(
        file: *mut bindings::file,
        command: kernel::ffi::c_uint,
        _argument: kernel::ffi::c_ulong,
    ) -> kernel::ffi::c_long {
        // SAFETY: The file is open through this table.
        let open = unsafe { Self::opened(file) };
        outcome(F::control(open, &OpenFile(file), command).map(|()| 0)) as kernel::ffi::c_long
    }

    /// The kernel's table of operations for a mapping of such a file.
    const MAPPING: &'static bindings::vm_operations_struct = &bindings::vm_operations_struct {
        open: Some(Self::area_open),
        close: Some(Self::area_close),
        may_split: Some(Self::area_may_split),
        ..pin_init::zeroed()
    };

    /// # Safety
    ///
    /// Called by the kernel only, for a file that has this table.
    unsafe extern "C" fn mmap(
        file: *mut bindings::file,
        area: *mut bindings::vm_area_struct,
    ) -> kernel::ffi::c_int {
        // SAFETY: The file is open through this table.
        let open = unsafe { Self::opened(file) };
        // SAFETY: This is the `mmap` operation of the area.
        let new = unsafe { VmaNew::from_raw(area) };
        match Area::new(new).and_then(|new| F::map(open, &new)) {
            Ok(()) => {
                // SAFETY: As above; the area holds a reference to the file, so what
                // serves the file exists as long as the area does.
                unsafe { (*area).vm_ops = Self::MAPPING };
                0
            }
            Err(error) => error.to_errno(),
        }
    }

    /// # Safety
    ///
    /// Called by the kernel only, for an area that has [`Self::MAPPING`].
    unsafe extern "C" fn area_open(area: *mut bindings::vm_area_struct) {
        // SAFETY: The area holds a reference to its file, which is open through this
        // table.
        F::mapped_again(unsafe { Self::opened((*area).vm_file) });
    }

    /// # Safety
    ///
    /// Called by the kernel only, for an area that has [`Self::MAPPING`].
    unsafe extern "C" fn area_close(area: *mut bindings::vm_area_struct) {
        // SAFETY: As for `area_open`.
        F::unmapped(unsafe { Self::opened((*area).vm_file) });
    }

    /// # Safety
    ///
    /// Called by the kernel only, for an area that has [`Self::MAPPING`].
    unsafe extern "C" fn area_may_split(
        _area: *mut bindings::vm_area_struct,
        _address: kernel::ffi::c_ulong,
    ) -> kernel::ffi::c_int {
        EINVAL.to_errno()
    }

    /// # Safety
    ///
    /// Called by the kernel only, for a file that has this table.
    unsafe extern "C" fn splice_read(
        file: *mut bindings::file,
        _offset: *mut bindings::loff_t,
        pipe: *mut bindings::pipe_inode_info,
        length: usize,
        flags: kernel::ffi::c_uint,
    ) -> isize {
        // SAFETY: The file is open through this table.
        let open = unsafe { Self::opened(file) };
        if F::WHOLE_PIECES && length < F::piece(open) {
            return outcome(Err(EINVAL));
        }
        let of = OpenFile(file);
        let nonblocking = flags & extra::FERROPROBE_SPLICE_NONBLOCK != 0 || of.is_nonblocking();
        outcome(match F::splice_ready(open, &of, nonblocking) {
            // INVARIANT: The caller has locked the pipe.
            Ok(true) => match Self::fill(open, &mut Pipe(pipe), length) {
                // Not the end of the file: the pipe has no room for a piece, or another reader took
                // it.
                Ok(0) => Err(EAGAIN),
                done => done,
            },
            ready => ready.map(|_| 0),
        })
    }

    /// Splices from a file with a position, which is read into pages of the pipe.
    ///
    /// # Safety
    ///
    /// Called by the kernel only, for a file that has this table.
    unsafe extern "C" fn splice_text(
        file: *mut bindings::file,
        offset: *mut bindings::loff_t,
        pipe: *mut bindings::pipe_inode_info,
        length: usize,
        _flags: kernel::ffi::c_uint,
    ) -> isize {
        // SAFETY: The file is open through this table.
        let open = unsafe { Self::opened(file) };
        // SAFETY: The kernel's offset is valid during the call.
        let offset = unsafe { &mut *offset };
        // INVARIANT: The caller has locked the pipe.
        let mut pipe = Pipe(pipe);
        let mut done = 0usize;
        while done < length {
            let most = length.saturating_sub(done);
            match Self::add_text(open, &OpenFile(file), (&mut pipe, most), offset) {
                Err(error) if done == 0 => return outcome(Err(error)),
                Ok(0) | Err(_) => break,
                Ok(added) => done = done.saturating_add(added),
            }
        }
        outcome(Ok(done))
    }

    /// Adds a page with at most `most` bytes from `offset` to `pipe`, and advances the offset.
    fn add_text(
        open: &F::Open,
        file: &OpenFile,
        (pipe, most): (&mut Pipe, usize),
        offset: &mut i64,
    ) -> Result<usize> {
        if pipe.room() == 0 {
            return Err(EAGAIN);
        }
        let mut page = OwnPage::new()?;
        let room = page.bytes().get_mut(..most.min(PAGE_SIZE));
        let mut to = ReadTo::Kernel(room.ok_or(EINVAL)?);
        let mut behind = *offset;
        let length = F::read(open, file, &mut to, &mut behind)?;
        if length != 0 {
            pipe.add(page, length)?;
            *offset = behind;
        }
        Ok(length)
    }

    /// Adds as many pieces to `pipe` as are available and fit both the pipe and `length`.
    fn fill(open: &F::Open, pipe: &mut Pipe, length: usize) -> Result<usize> {
        let size = F::piece(open);
        let mut room = KVVec::new();
        let mut done = 0usize;
        let least = if F::WHOLE_PIECES { size } else { 1 };
        while length.saturating_sub(done) >= least {
            let most = size.min(length.saturating_sub(done));
            let added = match F::lend(open, pipe) {
                Ok(Lending::Lent) => Ok(size),
                Ok(Lending::Nothing) => Ok(0),
                Ok(Lending::Copy) if size == PAGE_SIZE => Self::add_page(open, pipe, most),
                Ok(Lending::Copy) => Self::add_pages(open, pipe, (&mut room, size)),
                Err(error) => Err(error),
            };
            match added {
                Err(error) if done == 0 => return Err(error),
                Ok(0) | Err(_) => break,
                Ok(added) => done = done.wrapping_add(added),
            }
        }
        Ok(done)
    }

    /// Adds a piece of at most `most` bytes, which fit one page, to `pipe`. Returns their
    /// number: 0 if there is no piece or no room.
    fn add_page(open: &F::Open, pipe: &mut Pipe, most: usize) -> Result<usize> {
        if pipe.room() == 0 {
            return Ok(0);
        }
        // Everything that can fail precedes `take`, which consumes the piece.
        let mut page = OwnPage::new()?;
        let room = page.bytes().get_mut(..most).ok_or(EINVAL)?;
        match F::take(open, room)? {
            0 => Ok(0),
            length => pipe.add(page, length).map(|()| length),
        }
    }

    /// [`Self::add_page`] for a piece of `size` bytes; `room` is memory for a copy.
    fn add_pages(
        open: &F::Open,
        pipe: &mut Pipe,
        (room, size): (&mut KVVec<u8>, usize),
    ) -> Result<usize> {
        let count = size.div_ceil(PAGE_SIZE);
        if pipe.room() < count {
            return Ok(0);
        }
        if room.len() != size {
            *room = KVVec::from_elem(0, size, GFP_KERNEL)?;
        }
        let mut pages = KVec::with_capacity(count, GFP_KERNEL)?;
        for _ in 0..count {
            pages.push(OwnPage::new()?, GFP_KERNEL)?;
        }
        if F::take(open, room)? == 0 {
            return Ok(0);
        }
        for (mut page, part) in pages.into_iter().zip(room.chunks(PAGE_SIZE)) {
            if let Some(bytes) = page.bytes().get_mut(..part.len()) {
                bytes.copy_from_slice(part);
            }
            pipe.add(page, part.len())?;
        }
        Ok(size)
    }
}

/// Converts a result to the return value of an operation.
fn outcome(result: Result<usize>) -> isize {
    match result {
        // CAST: The kernel requests fewer than `isize::MAX` bytes.
        Ok(length) => length as isize,
        Err(error) => error.to_errno() as isize,
    }
}
