// SPDX-License-Identifier: GPL-2.0

//! From the place in a definition to the address to be probed.

use crate::{
    engine::{
        arch::Arch,
        ast::{Definition, Place},
        error::{Error as Refusal, Kind},
        text::Plain,
    },
    event::errno,
    kapi::symbol::{self, Symbol},
};
use kernel::{prelude::*, str::CString};

/// The architecture that the module runs on.
pub(crate) const ARCH: Arch = if cfg!(target_arch = "aarch64") {
    Arch::Arm64
} else {
    Arch::X86_64
};

/// An address to be probed.
pub(crate) struct Found {
    /// The address that is given to the kernel.
    pub(crate) address: u64,
    /// The address that records name: that of the function, where the kernel
    /// probes behind its landing pad.
    pub(crate) shown: u64,
    /// Whether a function begins there.
    pub(crate) at_entry: bool,
}

impl Found {
    /// Looks up the place of `definition`.
    ///
    /// # Errors
    ///
    /// `BAD_PROBE_ADDR` for a symbol that does not exist.
    ///
    /// Context: process, may sleep.
    pub(crate) fn new(definition: &Definition) -> Result<Self, Refusal> {
        let at = definition.place_at;
        let address = match &definition.place {
            Place::Address(address) => *address,
            Place::Symbol { name, offset } => {
                let text = c_string(name).ok_or(Refusal::new(Kind::NoMemory, at))?;
                let symbol = symbol::lookup(&text).ok_or_else(|| {
                    Refusal::new(Kind::BadProbeAddr, at)
                        .with_detail(format_args!("no symbol '{}'", Plain(name)))
                })?;
                symbol.wrapping_add(u64::from(*offset))
            }
        };
        let at_entry = Symbol::at(address).is_some_and(|symbol| symbol.offset == 0);
        Ok(Self {
            address,
            shown: address,
            at_entry,
        })
    }

    /// The refusal for what the kernel said of this place.
    pub(crate) fn explain(&self, error: Error, at: usize) -> Refusal {
        Refusal::registration(errno(error), at)
    }
}

/// `text` with a NUL; `None` if there is one in it, or no memory.
pub(crate) fn c_string(text: &[u8]) -> Option<CString> {
    let text = core::str::from_utf8(text).ok()?;
    CString::try_from_fmt(kernel::prelude::fmt!("{text}")).ok()
}
