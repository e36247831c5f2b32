// SPDX-License-Identifier: GPL-2.0

//! A cache for the beginning of event texts: names of events, and symbols of their addresses.

use super::render::SymbolNames;
use crate::engine::util::memo::Memo;
use crate::engine::util::seq_buf::SeqBuf;
use crate::sys::Vec;

/// Caches the latest texts.
pub(super) struct Heads(Memo<(HeadKey, Vec<u8>), 32>);

/// The cache key: everything that determines the text.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct HeadKey {
    /// The key of the event.
    pub event: u64,
    /// The address of the probe, or of the function that returned.
    pub address: u64,
    /// The return address, for a return probe.
    pub to: Option<u64>,
    /// Whether symbols are followed by their addresses.
    pub with_addresses: bool,
}

/// Largest size in bytes of a text that is cached.
pub(super) const LONGEST_HEAD: usize = 256;

impl Heads {
    /// Creates an empty cache.
    pub(super) const fn new() -> Self {
        Self(Memo::new())
    }

    /// Clears the cache, because symbols may have changed.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }

    /// Frees the cache, and caches nothing from now on.
    pub(super) fn close(&mut self) {
        self.0.close();
    }

    /// Adds the text for `key`: from the cache, or as made by `write`.
    pub(super) fn put(
        &mut self,
        buf: &mut SeqBuf<'_>,
        key: HeadKey,
        symbols: &mut dyn SymbolNames,
        write: impl Fn(&mut SeqBuf<'_>, &mut dyn SymbolNames),
    ) {
        let hash = key.event ^ key.address >> 4 ^ key.to.unwrap_or(0) >> 2;
        match self.0.slot(hash) {
            Some(Some((known, text))) if *known == key => buf.bytes(text),
            slot => {
                let mut room = [0; LONGEST_HEAD];
                let mut head = SeqBuf::new(&mut room);
                write(&mut head, symbols);
                let text = head.finish().and_then(|length| room.get(..length));
                match text {
                    Some(text) => buf.bytes(text),
                    None => write(buf, symbols),
                }
                if let Some(slot) = slot {
                    let text = text.and_then(|text| Vec::from_slice(text).ok());
                    *slot = text.map(|text| (key, text));
                }
            }
        }
    }
}

/// Adds the symbol of `address`, or `0`.
pub(super) fn put_place(
    buf: &mut SeqBuf<'_>,
    address: u64,
    with_offset: bool,
    symbols: &mut dyn SymbolNames,
) {
    if address == 0 {
        buf.byte(b'0');
    } else {
        symbols.symbolize(address, with_offset, buf);
    }
}

/// Like [`put_place`], for the return address of a function.
pub(super) fn put_return_place(
    buf: &mut SeqBuf<'_>,
    address: u64,
    with_offset: bool,
    symbols: &mut dyn SymbolNames,
) {
    if symbols.is_return_trampoline(address) {
        buf.text(b"[unknown/kretprobe'd]");
    } else {
        put_place(buf, address, with_offset, symbols);
    }
}
