// SPDX-License-Identifier: GPL-2.0

//! Error numbers.
//!
//! C header: [`include/uapi/asm-generic/errno.h`](srctree/include/uapi/asm-generic/errno.h)

use crate::{alloc::AllocError, ffi::c_int};
use core::{convert::Infallible, fmt, num::NonZeroI32, num::TryFromIntError, str::Utf8Error};

/// The largest error number.
const MAX_ERRNO: i32 = 4095;

/// A result whose error is an error number by default.
pub type Result<T = (), E = Error> = core::result::Result<T, E>;

/// An error number of the kernel.
///
/// # Invariants
///
/// The number is from -[`MAX_ERRNO`] to -1.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Error(NonZeroI32);

/// Defines the error numbers.
macro_rules! codes {
    ($($name:ident = $number:literal,)*) => {
        /// The error numbers by name.
        pub mod code {
            use super::{Error, NonZeroI32};
            $(
                #[doc = concat!("`", stringify!($name), "`.")]
                pub const $name: Error = match NonZeroI32::new(-$number) {
                    // INVARIANT: All numbers of the table are in the range.
                    Some(number) => Error(number),
                    None => unreachable!(),
                };
            )*
        }

        /// Returns the name of the error number `number`.
        fn name(number: i32) -> Option<&'static str> {
            match number {
                $($number => Some(stringify!($name)),)*
                _ => None,
            }
        }
    };
}
codes! {
    EPERM = 1,
    ENOENT = 2,
    ESRCH = 3,
    EINTR = 4,
    EIO = 5,
    ENXIO = 6,
    E2BIG = 7,
    ENOEXEC = 8,
    EBADF = 9,
    ECHILD = 10,
    EAGAIN = 11,
    ENOMEM = 12,
    EACCES = 13,
    EFAULT = 14,
    ENOTBLK = 15,
    EBUSY = 16,
    EEXIST = 17,
    EXDEV = 18,
    ENODEV = 19,
    ENOTDIR = 20,
    EISDIR = 21,
    EINVAL = 22,
    ENFILE = 23,
    EMFILE = 24,
    ENOTTY = 25,
    ETXTBSY = 26,
    EFBIG = 27,
    ENOSPC = 28,
    ESPIPE = 29,
    EROFS = 30,
    EMLINK = 31,
    EPIPE = 32,
    EDOM = 33,
    ERANGE = 34,
    EDEADLK = 35,
    ENAMETOOLONG = 36,
    ENOSYS = 38,
    ENOTEMPTY = 39,
    ELOOP = 40,
    ENODATA = 61,
    EOVERFLOW = 75,
    EILSEQ = 84,
    EOPNOTSUPP = 95,
    ETIMEDOUT = 110,
    ESTALE = 116,
    ERESTARTSYS = 512,
    ERESTARTNOINTR = 513,
    ERESTARTNOHAND = 514,
}

impl Error {
    /// Makes an error of a number that C code has returned. A number that is none becomes `EINVAL`.
    pub fn from_errno(errno: c_int) -> Self {
        match NonZeroI32::new(errno) {
            // INVARIANT: Checked here.
            Some(number) if (-MAX_ERRNO..0).contains(&errno) => Self(number),
            _ => code::EINVAL,
        }
    }

    /// Returns the number, which is negative.
    #[inline]
    pub const fn to_errno(self) -> c_int {
        self.0.get()
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.to_errno().wrapping_neg();
        match name(number) {
            Some(name) => f.write_str(name),
            None => write!(f, "error {number}"),
        }
    }
}

impl From<AllocError> for Error {
    fn from(_: AllocError) -> Self {
        code::ENOMEM
    }
}

impl From<TryFromIntError> for Error {
    fn from(_: TryFromIntError) -> Self {
        code::EINVAL
    }
}

impl From<Utf8Error> for Error {
    fn from(_: Utf8Error) -> Self {
        code::EINVAL
    }
}

impl From<fmt::Error> for Error {
    fn from(_: fmt::Error) -> Self {
        code::EINVAL
    }
}

impl From<Infallible> for Error {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

/// Returns an error if the number that a C function has returned is negative.
#[inline]
pub fn to_result(errno: c_int) -> Result {
    match errno < 0 {
        true => Err(Error::from_errno(errno)),
        false => Ok(()),
    }
}

/// Returns an error if the pointer that a C function has returned is `ERR_PTR()` of one.
#[inline]
pub fn from_err_ptr<T>(pointer: *mut T) -> Result<*mut T> {
    // CAST: A pointer has the size of `isize`.
    let value = pointer.addr() as isize;
    // CAST: Widens; and a number in the range fits.
    match (-(MAX_ERRNO as isize)..0).contains(&value) {
        true => Err(Error::from_errno(value as c_int)),
        false => Ok(pointer),
    }
}
