// SPDX-License-Identifier: GPL-2.0

//! The kernel's log.
//!
//! A kernel without Rust has no `%pA`, which prints Rust's arguments; so a line is formatted first.
//!
//! C header: [`include/linux/printk.h`](srctree/include/linux/printk.h)

use crate::bindings;
use core::{ffi::CStr, fmt};

/// `KERN_EMERG` with the rest of a format.
pub const EMERG: &CStr = c"\x010%s%s";
/// `KERN_ERR` with the rest of a format.
pub const ERR: &CStr = c"\x013%s%s";
/// `KERN_WARNING` with the rest of a format.
pub const WARNING: &CStr = c"\x014%s%s";
/// `KERN_INFO` with the rest of a format.
pub const INFO: &CStr = c"\x016%s%s";

/// The most bytes of a line, with the NUL behind it; the rest is cut.
const LINE: usize = 320;

/// A line that is being made.
///
/// # Invariants
///
/// `length` is less than [`LINE`]; the bytes from there on are NUL.
struct Line {
    bytes: [u8; LINE],
    length: usize,
}

impl fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            // The last byte stays NUL.
            if self.length < LINE - 1 {
                if let Some(place) = self.bytes.get_mut(self.length) {
                    *place = byte;
                    self.length += 1;
                }
            }
        }
        Ok(())
    }
}

/// Prints `args` behind `prefix`; `format` is one of the constants of this module.
///
/// Context: any.
#[cold]
#[inline(never)]
pub fn print(format: &'static CStr, prefix: &CStr, args: fmt::Arguments<'_>) {
    let mut line = Line {
        bytes: [0; LINE],
        length: 0,
    };
    // It cannot fail.
    let _ = fmt::write(&mut line, args);
    // SAFETY: The formats take two strings, and both end with a NUL.
    unsafe {
        bindings::_printk(format.as_ptr().cast(), prefix.as_ptr(), line.bytes.as_ptr());
    }
}

/// Prints a line of urgency `EMERG`, `ERR`, `WARNING` or `INFO`.
#[macro_export]
#[doc(hidden)]
macro_rules! print_at {
    ($level:ident, $($arg:tt)*) => {
        $crate::print::print(
            $crate::print::$level,
            crate::__LOG_PREFIX,
            ::core::format_args!($($arg)*),
        )
    };
}

/// Prints that the system is unusable.
#[macro_export]
macro_rules! pr_emerg {
    ($($arg:tt)*) => { $crate::print_at!(EMERG, $($arg)*) };
}

/// Prints an error.
#[macro_export]
macro_rules! pr_err {
    ($($arg:tt)*) => { $crate::print_at!(ERR, $($arg)*) };
}

/// Prints a warning.
#[macro_export]
macro_rules! pr_warn {
    ($($arg:tt)*) => { $crate::print_at!(WARNING, $($arg)*) };
}

/// Prints information.
#[macro_export]
macro_rules! pr_info {
    ($($arg:tt)*) => { $crate::print_at!(INFO, $($arg)*) };
}

/// Prints nothing: the module is not compiled with `DEBUG`.
#[macro_export]
macro_rules! pr_debug {
    ($($arg:tt)*) => {
        if false {
            $crate::print_at!(INFO, $($arg)*);
        }
    };
}
