// SPDX-License-Identifier: GPL-2.0

//! Error numbers.

use ferroprobe_kernel::{
    alloc::AllocError,
    error::{code, from_err_ptr, to_result, Error},
};
use proptest::prelude::*;
use std::num::NonZeroU8;

/// Asserts that each name has the number of the C library, and is what is printed.
macro_rules! same {
    ($($name:ident)*) => {$(
        assert_eq!(code::$name.to_errno(), -libc::$name, stringify!($name));
        assert_eq!(format!("{:?}", code::$name), stringify!($name));
    )*};
}

#[test]
fn numbers_are_those_of_the_c_library() {
    same! {
        EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT
        ENOTBLK EBUSY EEXIST EXDEV ENODEV ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG
        ENOSPC ESPIPE EROFS EMLINK EPIPE EDOM ERANGE EDEADLK ENAMETOOLONG ENOSYS ENOTEMPTY ELOOP
        ENODATA EOVERFLOW EILSEQ EOPNOTSUPP ETIMEDOUT ESTALE
    }
    // The kernel's own, of include/linux/errno.h.
    assert_eq!(code::ERESTARTSYS.to_errno(), -512);
    assert_eq!(code::ERESTARTNOINTR.to_errno(), -513);
    assert_eq!(code::ERESTARTNOHAND.to_errno(), -514);
    assert_eq!(format!("{:?}", Error::from_errno(-4000)), "error 4000");
}

proptest! {
    #[test]
    fn a_number_that_is_none_is_invalid(
        number in prop_oneof![any::<i32>(), -4100..5i32, Just(i32::MIN)],
    ) {
        let is_one = (-4095..0).contains(&number);
        let expected = if is_one { number } else { -22 };
        prop_assert_eq!(Error::from_errno(number).to_errno(), expected);
        let result = to_result(number).map_err(Error::to_errno);
        prop_assert_eq!(result, if number >= 0 { Ok(()) } else { Err(expected) });
    }

    #[test]
    fn a_pointer_may_be_an_error(
        address in prop_oneof![any::<usize>(), (0..5000usize).prop_map(usize::wrapping_neg)],
    ) {
        let pointer = std::ptr::without_provenance_mut::<u64>(address);
        let result = from_err_ptr(pointer).map_err(Error::to_errno);
        let expected = match address > usize::MAX - 4095 {
            true => Err(-i32::try_from(address.wrapping_neg()).unwrap()),
            false => Ok(pointer),
        };
        prop_assert_eq!(result, expected);
    }
}

#[test]
fn the_ends_of_the_range_are_in_it() {
    for (number, expected) in [(-1, -1), (-4095, -4095), (-4096, -22), (0, -22), (1, -22)] {
        assert_eq!(Error::from_errno(number).to_errno(), expected);
    }
    let pointer = |number| std::ptr::without_provenance_mut::<u8>(usize::MAX - number);
    assert!(from_err_ptr(pointer(0)).is_err());
    assert!(from_err_ptr(pointer(4094)).is_err());
    assert!(from_err_ptr(pointer(4095)).is_ok());
    assert!(from_err_ptr(std::ptr::null_mut::<u8>()).is_ok());
}

#[test]
fn other_errors_become_numbers() {
    assert_eq!(Error::from(AllocError), code::ENOMEM);
    let too_large = u8::try_from(300).unwrap_err();
    assert_eq!(Error::from(too_large), code::EINVAL);
    let zero = NonZeroU8::try_from(0).unwrap_err();
    assert_eq!(Error::from(zero), code::EINVAL);
    let no_text = String::from_utf8(vec![0xff]).unwrap_err().utf8_error();
    assert_eq!(Error::from(no_text), code::EINVAL);
    assert_eq!(Error::from(std::fmt::Error), code::EINVAL);
}
