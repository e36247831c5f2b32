// SPDX-License-Identifier: GPL-2.0

//! The module itself, and its parameters.
//!
//! C header: [`include/linux/moduleparam.h`](srctree/include/linux/moduleparam.h)

use crate::{bindings, error::Result};
use core::cell::UnsafeCell;

/// The module that the code is part of.
pub struct ThisModule(());

impl ThisModule {
    /// Makes it, for `init` of the module.
    #[doc(hidden)]
    pub const fn new() -> Self {
        Self(())
    }
}

/// What a module does.
pub trait Module: Sized + Sync + Send {
    /// Loads it; its drop unloads it.
    ///
    /// # Errors
    ///
    /// What the loading fails with.
    fn init(module: &'static ThisModule) -> Result<Self>;
}

/// The types that parameters have.
///
/// # Safety
///
/// `OPS` writes a value of the type.
pub unsafe trait ModuleParamType: Copy {
    /// What parses it.
    const OPS: *const bindings::kernel_param_ops;
}

/// Implements the trait by what the kernel exports.
macro_rules! types {
    ($($type:ty: $ops:ident,)*) => {$(
        // SAFETY: The operations write a C type of that size and sign.
        unsafe impl ModuleParamType for $type {
            const OPS: *const bindings::kernel_param_ops = &raw const bindings::$ops;
        }
    )*};
}
types! {
    u8: param_ops_byte,
    u32: param_ops_uint,
    u64: param_ops_ullong,
}

/// A parameter, which is set before the module is loaded and never later.
pub struct ModuleParam<T>(UnsafeCell<T>);

// SAFETY: It is only read once the module's code runs.
unsafe impl<T: Sync> Sync for ModuleParam<T> {}

impl<T: ModuleParamType> ModuleParam<T> {
    /// Makes it with its default.
    #[doc(hidden)]
    pub const fn new(default: T) -> Self {
        Self(UnsafeCell::new(default))
    }

    /// Returns the pointer that the kernel writes through.
    #[doc(hidden)]
    pub const fn as_ptr(&self) -> *mut T {
        self.0.get()
    }

    /// Returns the value.
    pub fn value(&self) -> T {
        // SAFETY: The kernel writes it before the module's code runs only.
        unsafe { *self.0.get() }
    }
}

/// The kernel's description of a parameter.
#[doc(hidden)]
#[repr(transparent)]
pub struct Description(pub bindings::kernel_param);

// SAFETY: Only the kernel uses it.
unsafe impl Sync for Description {}

/// Returns `text` as an array, for a section of the module.
#[doc(hidden)]
pub const fn bytes<const N: usize>(text: &str) -> [u8; N] {
    let mut all = [0; N];
    let mut index = 0;
    while index < N {
        all[index] = text.as_bytes()[index];
        index += 1;
    }
    all
}

/// Puts `KEY=VALUE` where `modinfo` finds it.
///
/// `#[used]` alone also keeps linkers from removing it, from Rust 1.89 on. Such a section is not
/// merged with the one of the C code, and the kernel accepts only one.
#[doc(hidden)]
#[macro_export]
macro_rules! modinfo {
    ($($text:expr),+) => {
        const _: () = {
            const TEXT: &str = ::core::concat!($($text),+, "\0");
            #[link_section = ".modinfo"]
            #[used(compiler)]
            static INFO: [u8; TEXT.len()] = $crate::module_bytes(TEXT);
        };
    };
}
pub use bytes as module_bytes;

/// Returns the word of `modinfo` for a type.
#[doc(hidden)]
#[macro_export]
macro_rules! parmtype {
    (u8) => {
        "byte"
    };
    (u32) => {
        "uint"
    };
    (u64) => {
        "ullong"
    };
}

/// Declares the module: its type, what `modinfo` tells, and its parameters.
#[macro_export]
macro_rules! module {
    (
        type: $type:ty,
        name: $name:literal,
        authors: [$($author:literal),* $(,)?],
        description: $description:literal,
        license: $license:literal,
        params: {
            $($param:ident: $param_type:ident {
                default: $default:expr,
                description: $text:literal $(,)?
            },)*
        } $(,)?
    ) => {
        $crate::modinfo!("license=", $license);
        $crate::modinfo!("description=", $description);
        $($crate::modinfo!("author=", $author);)*
        $(
            $crate::modinfo!("parmtype=", stringify!($param), ":", $crate::parmtype!($param_type));
            $crate::modinfo!("parm=", stringify!($param), ":", $text);
        )*

        /// What lines of the log begin with.
        pub(crate) const __LOG_PREFIX: &::core::ffi::CStr =
            match ::core::ffi::CStr::from_bytes_with_nul(concat!($name, ": \0").as_bytes()) {
                Ok(prefix) => prefix,
                Err(_) => c"",
            };

        /// The parameters of the module.
        #[allow(non_upper_case_globals)]
        mod module_parameters {$(
            #[doc = $text]
            pub(crate) static $param: $crate::ModuleParam<$param_type> =
                $crate::ModuleParam::new($default);

            const _: () = {
                #[link_section = "__param"]
                #[used(compiler)]
                static DESCRIPTION: $crate::ParamDescription = $crate::ParamDescription(
                    $crate::bindings::kernel_param {
                        name: concat!(stringify!($param), "\0").as_ptr().cast(),
                        mod_: &raw const $crate::bindings::__this_module as *mut _,
                        ops: <$param_type as $crate::ModuleParamType>::OPS,
                        perm: 0,
                        level: -1,
                        flags: 0,
                        __bindgen_anon_1: $crate::bindings::kernel_param__bindgen_ty_1 {
                            arg: $param.as_ptr().cast(),
                        },
                    },
                );
            };
        )*}

        /// The entry points that the kernel calls, one after the other.
        mod __entry {
            use super::*;

            static THIS: $crate::ThisModule = $crate::ThisModule::new();
            static mut LOADED: ::core::option::Option<$type> = None;

            #[no_mangle]
            #[link_section = ".init.text"]
            extern "C" fn init_module() -> $crate::ffi::c_int {
                match <$type as $crate::Module>::init(&THIS) {
                    Ok(loaded) => {
                        // SAFETY: The kernel calls this once, before `cleanup_module`.
                        unsafe { LOADED = Some(loaded) };
                        0
                    }
                    Err(error) => error.to_errno(),
                }
            }

            // With LTO, only functions whose address is taken begin with an ENDBR.
            #[used(compiler)]
            #[link_section = ".init.data"]
            static INIT: extern "C" fn() -> $crate::ffi::c_int = init_module;

            #[no_mangle]
            #[link_section = ".exit.text"]
            extern "C" fn cleanup_module() {
                // SAFETY: The kernel calls this once, after `init_module` has ended.
                unsafe { LOADED = None };
            }

            #[used(compiler)]
            #[link_section = ".exit.data"]
            static EXIT: extern "C" fn() = cleanup_module;
        }
    };
}
