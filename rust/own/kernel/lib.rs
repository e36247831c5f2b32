// SPDX-License-Identifier: GPL-2.0

//! The crate `kernel` for kernels that are built without Rust: what ferroprobe uses of the
//! kernel's own crate of that name, with its names, so that the module's code does not know which
//! of both it is compiled with.
//!
//! On a kernel whose tree has the real crate, that one is used; see `rust/own/Makefile`.

#![no_std]
#![feature(coerce_unsized, dispatch_from_dyn, unsize)]

pub mod alloc;
pub mod bindings;
pub mod error;
pub mod mm;
mod module;
pub mod page;
pub mod prelude;
pub mod print;
pub mod str;
pub mod sync;
pub mod task;
pub mod time;
pub mod transmute;
pub mod types;
pub mod uaccess;

#[doc(hidden)]
pub use module::{module_bytes, Description as ParamDescription};
pub use module::{Module, ModuleParam, ModuleParamType, ThisModule};

/// The types of C, as the kernel has them: `char` has no sign, `long` has a machine word.
#[allow(non_camel_case_types)]
pub mod ffi {
    pub use core::ffi::c_void;

    /// `char`.
    pub type c_char = u8;
    /// `signed char`.
    pub type c_schar = i8;
    /// `unsigned char`.
    pub type c_uchar = u8;
    /// `short`.
    pub type c_short = i16;
    /// `unsigned short`.
    pub type c_ushort = u16;
    /// `int`.
    pub type c_int = i32;
    /// `unsigned int`.
    pub type c_uint = u32;
    /// `long`.
    pub type c_long = isize;
    /// `unsigned long`.
    pub type c_ulong = usize;
    /// `long long`.
    pub type c_longlong = i64;
    /// `unsigned long long`.
    pub type c_ulonglong = u64;
}

/// Returns a pointer to the structure of type `$Container` whose field `$field` is at `$field_ptr`.
///
/// # Safety
///
/// The pointer is to such a field of a value in memory.
#[macro_export]
macro_rules! container_of {
    ($field_ptr:expr, $Container:ty, $($field:tt)+) => {{
        let offset = ::core::mem::offset_of!($Container, $($field)+);
        let field_ptr = $field_ptr;
        field_ptr.byte_sub(offset).cast::<$Container>()
    }};
}

/// The module does not panic: the code that would call this cannot be reached, and a test of the
/// module's calls shows that. The kernel's `BUG()` otherwise, as in a kernel with Rust.
#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    print::print(print::EMERG, c"", format_args!("{info}\n"));
    // SAFETY: The function only stops the task.
    unsafe { bindings::ferroprobe_bug() }
}
