// SPDX-License-Identifier: GPL-2.0

//! Reads of memory that may not be there.
//!
//! C header: [`include/linux/uaccess.h`](srctree/include/linux/uaccess.h)

use super::{arch, bindings as extra, calls, word};
use kernel::bindings;

/// Step by which strings are read. As a divisor of the page size it keeps a
/// step from touching a page that the string may not reach.
const STEP: usize = 32;

/// Reads kernel memory at `address`; false, and `out` unspecified, if a byte of
/// it cannot be read.
///
/// Contexts: any.
#[inline(always)]
pub fn read_kernel(address: u64, out: &mut [u8]) -> bool {
    // SAFETY: The function writes within `out` only, and survives a fault in
    // reading.
    unsafe { extra::ferroprobe_read_kernel(out.as_mut_ptr().cast(), address, out.len()) }
}

/// Reads `N` bytes at `address`, 1, 2, 4 or 8, as [`read`] does, in the fewest
/// instructions where the address is one of the kernel.
///
/// Contexts: any, with preemption disabled.
#[inline(always)]
pub fn read_word<const N: usize>(address: u64, out: &mut [u8; N]) -> bool {
    if arch::is_kernel_only(address) {
        // SAFETY: Asked just before.
        unsafe { arch::read_nofault(address, out) }
    } else {
        read_elsewhere(address, out)
    }
}

#[cold]
#[inline(never)]
fn read_elsewhere(address: u64, out: &mut [u8]) -> bool {
    read(address, out)
}

/// Reads user memory of the running task at `address`; false, and `out`
/// unspecified, if a byte of it cannot be read without sleeping.
///
/// Contexts: any; in an NMI it may refuse.
#[inline]
pub fn read_user(address: u64, out: &mut [u8]) -> bool {
    // SAFETY: As in `read_kernel`.
    let result = unsafe {
        bindings::copy_from_user_nofault(
            out.as_mut_ptr().cast(),
            address as *const kernel::ffi::c_void,
            out.len(),
        )
    };
    result == 0
}

/// Reads memory at `address`: the task's own below the end of user space,
/// the kernel's above.
///
/// Contexts: any.
#[inline(always)]
pub fn read(address: u64, out: &mut [u8]) -> bool {
    if in_upper_half(address) {
        read_kernel(address, out)
    } else {
        read_lower_half(address, out)
    }
}

#[cold]
#[inline(never)]
fn read_lower_half(address: u64, out: &mut [u8]) -> bool {
    if is_user(address) {
        read_user(address, out)
    } else {
        read_kernel(address, out)
    }
}

/// Whether `address` lies where only the kernel's addresses do.
#[inline(always)]
fn in_upper_half(address: u64) -> bool {
    address >> 63 != 0
}

/// Whether `address` can only be one of user space.
#[inline]
pub fn is_user(address: u64) -> bool {
    !in_upper_half(address) && address < word(calls::ferroprobe_task_size())
}

/// Copies the string at `address` up to and with its NUL, or as much of it as
/// fits, each byte once; returns the number of bytes, `None` if one of them
/// cannot be read.
///
/// Contexts: any.
pub fn read_string(address: u64, user: bool, out: &mut [u8]) -> Option<usize> {
    let (to, room) = (out.as_mut_ptr().cast(), out.len());
    // SAFETY: Both write within `out` only, and survive faults in reading.
    let length = unsafe {
        if user || is_user(address) {
            extra::ferroprobe_read_user_string(to, address, room)
        } else {
            extra::ferroprobe_read_kernel_string(to, address, room)
        }
    };
    if length == -i64::from(bindings::EAGAIN) {
        return read_user_string_in_steps(address, out);
    }
    usize::try_from(length).ok()
}

/// The same of user memory where the kernel has nothing better than reading so
/// many bytes.
#[cold]
#[inline(never)]
fn read_user_string_in_steps(address: u64, out: &mut [u8]) -> Option<usize> {
    let mut copied: usize = 0;
    while let Some(rest) = out.get_mut(copied..).filter(|rest| !rest.is_empty()) {
        let at = address.wrapping_add(word(copied));
        // CAST: Below STEP.
        let into_step = (at % STEP as u64) as usize;
        let length = rest.len().min(STEP.wrapping_sub(into_step));
        let step = rest.get_mut(..length)?;
        if !read_user(at, step) {
            return None;
        }
        if let Some(nul) = step.iter().position(|&byte| byte == 0) {
            return Some(copied.wrapping_add(nul).wrapping_add(1));
        }
        copied = copied.wrapping_add(length);
    }
    Some(copied)
}
