// SPDX-License-Identifier: GPL-2.0

//! The interface of renderers.

use crate::engine::print::context::Context;
use crate::engine::record::{Header, Layout};
use crate::engine::util::seq_buf::SeqBuf;

/// Resolves addresses to symbols.
pub trait SymbolNames {
    /// Adds the symbol that contains `address`, with its module, as `%pS` (`SYM+0x0/0x0
    /// [MOD]`) or, without offset, as `%ps`; an address without a symbol is added as a
    /// hexadecimal number.
    fn symbolize(&mut self, address: u64, with_offset: bool, buf: &mut SeqBuf<'_>);

    /// Returns whether symbols are followed by their addresses (option `sym-addr`).
    fn shows_addresses(&self) -> bool {
        false
    }

    /// Returns whether the symbols of a stack have offsets (option `sym-offset`).
    fn shows_offsets(&self) -> bool {
        false
    }

    /// Returns whether types are shown (option `verbose`).
    fn shows_types(&self) -> bool {
        false
    }

    /// Returns whether durations and sizes have units (option `units`).
    fn shows_units(&self) -> bool {
        false
    }

    /// Returns whether `address` is a return trampoline. It is recorded as the return address if
    /// another return probe follows the same call; then the caller is unknown.
    fn is_return_trampoline(&mut self, _address: u64) -> bool {
        false
    }
}

/// An event whose records are printed.
#[derive(Clone, Copy)]
pub struct ShownEvent<'a> {
    /// A key that is unique for each name and layout.
    pub key: u64,
    /// The group that it is in.
    pub group: &'a [u8],
    /// Its name.
    pub name: &'a [u8],
    /// The layout of its records.
    pub layout: &'a Layout,
}

/// Renders records. It may cache text between records.
pub trait Renderer: Send + Unpin + 'static {
    /// Whether task, CPU and time are rendered even if the option `context-info` is off.
    const HAS_CONTEXT: bool;

    /// Creates a renderer with empty caches.
    fn new() -> Self;

    /// Clears what may become stale: symbols.
    fn forget(&mut self);

    /// Stops allocating, so that it can render in any context.
    fn close(&mut self);

    /// Adds a mark for `count` events of `cpu` that were lost.
    fn lost(&mut self, buf: &mut SeqBuf<'_>, cpu: u32, count: u64);

    /// Adds a record that is too short, of `length` bytes.
    fn damaged(&mut self, buf: &mut SeqBuf<'_>, cpu: u32, length: usize);

    /// Adds the context of a record. Called first.
    fn context(&mut self, buf: &mut SeqBuf<'_>, context: &Context, header: Header);

    /// Adds, behind the context, a record of an unknown event.
    fn unknown(&mut self, buf: &mut SeqBuf<'_>, header: Header);

    /// Adds, behind the context, the record of `event`.
    fn event(
        &mut self,
        buf: &mut SeqBuf<'_>,
        event: ShownEvent<'_>,
        record: &[u8],
        symbols: &mut dyn SymbolNames,
    );
}
