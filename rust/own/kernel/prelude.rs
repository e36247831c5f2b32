// SPDX-License-Identifier: GPL-2.0

//! What most files use.

pub use crate::{
    alloc::{flags::*, KBox, KVVec, KVec},
    current,
    error::{code::*, Error, Result},
    fmt, module,
    module::{Module, ThisModule},
    pr_debug, pr_emerg, pr_err, pr_info, pr_warn,
    str::{CStr, CStrExt},
};
pub use core::pin::Pin;
pub use pin_init::{init, pin_data, pin_init, pinned_drop, Init, PinInit, Zeroable};
