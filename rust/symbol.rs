// SPDX-License-Identifier: GPL-2.0

//! Symbols of the kernel and its modules, by address and by name.
//!
//! C header: [`include/linux/kallsyms.h`](srctree/include/linux/kallsyms.h)

use super::{bindings as extra, kprobe, word};
use kernel::{bindings, error::to_result, prelude::*};

/// Room for `name+0xoffset/0xsize [module]` of the longest names.
const SYMBOL_LEN: usize = extra::FERROPROBE_SYMBOL_LEN as usize;

/// What a kprobe's breakpoint takes the place of: a byte on x86, a word on arm64.
pub type Opcode = extra::kprobe_opcode_t;

/// The symbol that an address belongs to.
pub struct Symbol {
    text: [u8; SYMBOL_LEN],
    name: usize,
    /// Distance of the address from the symbol, in bytes.
    pub offset: u64,
    /// Bytes from the symbol to the next one.
    pub size: u64,
    module: Option<(usize, usize)>,
}

impl Symbol {
    /// The symbol that contains `address`; `None` if there is none.
    ///
    /// Contexts: any that may take a reference to a module.
    pub fn at(address: u64) -> Option<Self> {
        let (text, length) = described(address)?;
        Self::parse(text, length)
    }

    /// Takes `name+0xoffset/0xsize [module]` apart.
    fn parse(text: [u8; SYMBOL_LEN], length: usize) -> Option<Self> {
        let whole = text.get(..length)?;
        let name = whole.iter().rposition(|&byte| byte == b'+')?;
        let numbers = whole.get(name.checked_add(1)?..)?;
        let end = numbers.iter().position(|&byte| byte == b' ');
        let mut parts = numbers
            .get(..end.unwrap_or(numbers.len()))?
            .split(|&byte| byte == b'/');
        let offset = hexadecimal(parts.next()?)?;
        let size = hexadecimal(parts.next()?)?;
        let module = whole
            .iter()
            .rposition(|&byte| byte == b'[')
            .and_then(|open| {
                let from = open.checked_add(1)?;
                let name = whole.get(from..)?;
                // A build ID may follow the name.
                let length = name.iter().position(|&byte| byte == b']' || byte == b' ')?;
                Some((from, from.checked_add(length)?))
            });
        Some(Self {
            text,
            name,
            offset,
            size,
            module,
        })
    }

    /// Its name.
    pub fn name(&self) -> &[u8] {
        self.text.get(..self.name).unwrap_or_default()
    }

    /// The module it lies in; `None` for the kernel itself.
    pub fn module(&self) -> Option<&[u8]> {
        self.module.and_then(|(from, to)| self.text.get(from..to))
    }
}

/// Writes `name+0xoffset/0xsize [module]` of `address` with a NUL to `out`, or
/// as much of it as fits; returns the number of bytes.
///
/// Contexts: any that may take a reference to a module.
pub fn write_name(address: u64, out: &mut [u8]) -> Option<usize> {
    let (text, length) = described(address)?;
    let length = length.checked_add(1)?.min(out.len());
    out.get_mut(..length)?.copy_from_slice(text.get(..length)?);
    Some(length)
}

/// The address of the symbol `name`, or `module:name`; of any kind, data
/// included.
///
/// The kernel exports no look-up by name. But in registering a kprobe it writes
/// the address it found into the probe before it judges the address. So this
/// asks for a probe, disabled, one byte behind the symbol: where hardly ever an
/// instruction begins, so that the kernel refuses it, having told the address.
/// Where it does not, the probe is taken back at once; nothing is ever armed.
///
/// Context: process, may sleep.
pub fn lookup(name: &CStr) -> Option<u64> {
    // Whether it was taken makes no difference.
    let (probe, _) = registered(kprobe::Place::Symbol { name, offset: 1 });
    word(probe.addr.addr()).checked_sub(1)
}

/// [`lookup`] of a name without a NUL behind it.
///
/// Context: process, may sleep.
pub fn lookup_bytes(name: &[u8]) -> Option<u64> {
    // No symbol's name is longer, so no memory is needed.
    let mut text = [0; SYMBOL_LEN];
    text.get_mut(..name.len())?.copy_from_slice(name);
    // One that fills the room, or has a NUL within, is no symbol's.
    let name = CStr::from_bytes_with_nul(text.get(..=name.len())?).ok()?;
    lookup(name)
}

/// What stood at `address`, where now there is a breakpoint: on x86 a byte, on
/// arm64 a word. It is as the kernel knows it if the breakpoint is a kprobe's,
/// and on x86 the breakpoint itself if it is not; `None` where the kernel does
/// not say.
///
/// # Errors
///
/// `ENOMEM`.
///
/// Context: process, may sleep.
pub fn original_opcode(address: u64) -> Result<Option<Opcode>> {
    let (probe, result) = registered(kprobe::Place::Address(address));
    match result {
        Err(error) if error == ENOMEM => Err(error),
        Err(_) => Ok(None),
        Ok(()) => Ok(Some(probe.opcode)),
    }
}

/// What the kernel made of a probe at `place` in registering it, disabled, and what it
/// said; if it took it, the probe was taken back.
fn registered(place: kprobe::Place<'_>) -> (extra::kprobe, Result) {
    let name = match place {
        kprobe::Place::Symbol { name, .. } => Some(name),
        kprobe::Place::Address(_) => None,
    };
    let mut probe = pin_init::zeroed();
    kprobe::fill(&mut probe, place, name);
    // SAFETY: The probe outlives its registration, which ends here.
    let result = unsafe {
        let result = to_result(extra::register_kprobe(&mut probe));
        if result.is_ok() {
            extra::unregister_kprobe(&mut probe);
        }
        result
    };
    (probe, result)
}

/// `name+0xoffset/0xsize [module]` of `address` with a NUL, and the number of bytes
/// before that.
fn described(address: u64) -> Option<([u8; SYMBOL_LEN], usize)> {
    let mut text = [0; SYMBOL_LEN];
    // SAFETY: The function writes at most KSYM_SYMBOL_LEN bytes.
    let length = unsafe { bindings::sprint_symbol(text.as_mut_ptr().cast(), address as usize) };
    Some((text, usize::try_from(length).ok()?))
}

fn hexadecimal(digits: &[u8]) -> Option<u64> {
    let digits = digits.strip_prefix(b"0x")?;
    u64::from_str_radix(core::str::from_utf8(digits).ok()?, 16).ok()
}
