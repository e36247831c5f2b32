// SPDX-License-Identifier: GPL-2.0

//! What the kernel calls to serve a file, or a mapping of one.

use super::super::{bindings as extra, mapping::Area, wake::PollTable};
use super::{File, OpenFile};
use core::{marker::PhantomData, pin::Pin};
use kernel::{
    bindings,
    mm::virt::VmaNew,
    prelude::*,
    sync::ArcBorrow,
    types::{ForeignOwnable, Opaque},
    uaccess::{UserPtr, UserSlice},
};

#[expect(improper_ctypes, reason = "only its address is taken")]
extern "C" {
    /// The module that this code is part of.
    static __this_module: Opaque<bindings::module>;
}

/// The kernel's table of operations for a kind of file.
pub(super) struct Operations<F>(PhantomData<F>);

impl<F: File> Operations<F> {
    pub(super) const TABLE: &'static bindings::file_operations = &bindings::file_operations {
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
        mmap: if F::MAPPABLE { Some(Self::mmap) } else { None },
        llseek: if F::SEEKABLE {
            Some(bindings::default_llseek)
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
        // SAFETY: The file is open by this table.
        let open = unsafe { Self::opened(file) };
        // SAFETY: This is the `mmap` of the area.
        let new = unsafe { VmaNew::from_raw(area) };
        match Area::new(new).and_then(|new| F::map(open, &new)) {
            Ok(()) => {
                // SAFETY: As above; the area holds the file, so what serves it
                // is there as long as it is.
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
        // SAFETY: The area holds its file, which is open by this table.
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
