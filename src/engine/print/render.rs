// SPDX-License-Identifier: GPL-2.0

//! What a renderer of records is, and what it is given.

use crate::engine::print::context::Context;
use crate::engine::record::{Header, Layout};
use crate::engine::util::seq_buf::SeqBuf;

/// Prints addresses as symbols.
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

    /// Returns whether `address` is the trampoline to which a function returns while
    /// another return probe follows it: its caller is then not known.
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

/// Renders records. It may keep what it has made of one for the next ones.
pub trait Renderer: Send + Unpin + 'static {
    /// Whether the task, the CPU and the time of a record are rendered whatever the option
    /// `context-info` says.
    const HAS_CONTEXT: bool;

    /// Creates a renderer that has kept nothing.
    fn new() -> Self;

    /// Forgets what may change before the next record is rendered: symbols.
    fn forget(&mut self);

    /// Makes it allocate nothing from now on, so that it can render in any context.
    fn close(&mut self);

    /// Adds a mark for `count` events of `cpu` that were lost.
    fn lost(&mut self, buf: &mut SeqBuf<'_>, cpu: u32, count: u64);

    /// Adds a record of `length` bytes, which are too few for one.
    fn damaged(&mut self, buf: &mut SeqBuf<'_>, cpu: u32, length: usize);

    /// Adds the context of a record, which comes first.
    fn context(&mut self, buf: &mut SeqBuf<'_>, context: &Context, header: Header);

    /// Adds, behind the context, what there is of a record whose event is not known.
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
