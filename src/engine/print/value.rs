// SPDX-License-Identifier: GPL-2.0

//! Values as text.

use core::fmt::Write;

use super::changes;
use super::render::SymbolNames;
use super::shape;
use super::walk::{self, Elements, PrintedValue};
use crate::engine::language::types::Type;
use crate::engine::util::address;
use crate::engine::util::errno;
use crate::engine::util::seq_buf::SeqBuf;
use crate::engine::util::units::{ByteSize, Duration};

/// Adds `{VALUE,...}`.
#[inline(never)]
pub(super) fn put_array(
    buf: &mut SeqBuf<'_>,
    elements: Elements<'_>,
    symbols: &mut dyn SymbolNames,
) {
    let mut before = b'{';
    for value in elements {
        buf.byte(before);
        put_value(buf, value, symbols);
        before = b',';
    }
    buf.byte(b'}');
}

/// Adds the name of an error with its sign, or a number that is no error.
#[inline(never)]
fn put_errno(buf: &mut SeqBuf<'_>, value: i64) {
    match errno::name(value).filter(|name| !name.is_empty()) {
        Some(name) => {
            buf.byte(b'-');
            buf.bytes(name.as_bytes());
        }
        None => buf.signed(value),
    }
}

/// Adds a duration or a size, with its unit if the option `units` is on.
#[inline(never)]
fn put_unit(buf: &mut SeqBuf<'_>, value: PrintedValue<'_>, symbols: &dyn SymbolNames) {
    let with_units = symbols.shows_units();
    // The buffer notes an overflow.
    let _ = match value {
        PrintedValue::Duration(value) if with_units => write!(buf, "{}", Duration(value, "")),
        PrintedValue::Size(value) if with_units => write!(buf, "{}", ByteSize(value)),
        PrintedValue::Duration(value) | PrintedValue::Size(value) => {
            buf.decimal(value);
            Ok(())
        }
        _ => Ok(()),
    };
}

/// Adds a value. Inlined together with the walk, so that the value stays in registers.
#[inline(always)]
pub(super) fn put_value(
    buf: &mut SeqBuf<'_>,
    value: PrintedValue<'_>,
    symbols: &mut dyn SymbolNames,
) {
    match value {
        PrintedValue::Fault => buf.text(b"(fault)"),
        PrintedValue::Unsigned(value) => buf.decimal(value),
        PrintedValue::Hex(value) => {
            buf.text(b"0x");
            buf.hexadecimal(value);
        }
        PrintedValue::Signed(value) => buf.signed(value),
        PrintedValue::Char(character) => {
            buf.byte(b'\'');
            buf.one_line(&[character]);
            buf.byte(b'\'');
        }
        PrintedValue::Symbol(address) => symbols.symbolize(address, true, buf),
        PrintedValue::Errno(value) => put_errno(buf, value),
        PrintedValue::Duration(_) | PrintedValue::Size(_) => put_unit(buf, value, symbols),
        PrintedValue::Ip4(address) => address::put_ip4(buf, address),
        PrintedValue::Ip6(address) => address::put_ip6(buf, address),
        PrintedValue::Mac(address) => address::put_mac(buf, address),
        PrintedValue::Structure(of, bytes) if of.is_change => {
            changes::put_changes(buf, (of, bytes), symbols);
        }
        PrintedValue::Structure(of, bytes) => shape::put_text(buf, (of, bytes), symbols),
        PrintedValue::Text(text, is_whole) => {
            buf.byte(b'"');
            buf.one_line(text);
            buf.byte(b'"');
            if !is_whole {
                buf.text(b"...");
            }
        }
    }
}
/// Adds a value, out of line.
#[inline(never)]
pub(super) fn put_one(
    buf: &mut SeqBuf<'_>,
    value: PrintedValue<'_>,
    symbols: &mut dyn SymbolNames,
) {
    put_value(buf, value, symbols);
}

/// Adds the number in the low bits of `word`, printed as type `base`, which must be [a
/// number](Type::is_number).
pub fn put_number(buf: &mut SeqBuf<'_>, base: Type, word: u64, symbols: &mut dyn SymbolNames) {
    let unused = 64u32.saturating_sub(u32::from(base.size()).saturating_mul(8));
    let value = word.wrapping_shl(unused).wrapping_shr(unused);
    put_value(buf, walk::of_number(base, value), symbols);
}
