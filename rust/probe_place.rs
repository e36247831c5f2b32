// SPDX-License-Identifier: GPL-2.0

//! The locations of kprobes and kretprobes.

use super::bindings as extra;
use core::ptr;
use kernel::{prelude::*, str::CString};

/// The location of a probe.
#[derive(Clone, Copy)]
pub enum ProbePlace<'a> {
    /// `offset` bytes behind the symbol `name`, or `module:name`.
    Symbol {
        /// The name.
        name: &'a CStr,
        /// The offset from the symbol, in bytes.
        offset: u32,
    },
    /// An address.
    Address(u64),
}

impl ProbePlace<'_> {
    /// Returns a copy of the symbol's name, which must live as long as the probe.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn name(self) -> Result<Option<CString>> {
        Ok(match self {
            ProbePlace::Symbol { name, .. } => Some(CString::try_from(name)?),
            ProbePlace::Address(_) => None,
        })
    }
}

/// Sets the location of `probe` and the flag that keeps it disarmed; `name` is the copy of
/// the symbol's name that lives as long as the probe.
pub(super) fn fill(probe: &mut extra::kprobe, place: ProbePlace<'_>, name: Option<&CStr>) {
    match place {
        ProbePlace::Symbol { offset, .. } => {
            probe.symbol_name = name.map_or(ptr::null(), |name| name.as_char_ptr());
            probe.offset = offset;
        }
        ProbePlace::Address(address) => probe.addr = address as *mut extra::kprobe_opcode_t,
    }
    probe.flags = extra::KPROBE_FLAG_DISABLED;
}
