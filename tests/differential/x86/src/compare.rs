// SPDX-License-Identifier: GPL-2.0

//! Our decoder beside the kernel's, with the differences that are meant.
//!
//! `Documentation/decoders-x86.rst` lists where we follow the processors and
//! not the kernel. Each such place is recognised here from the bytes alone and
//! rewritten into bytes on which the kernel's decoder is right; the lengths
//! must then be equal. So a listed difference is not merely left out.

use crate::kernel;
use ferroprobe_engine::engine::code::insn::x86::decode;

/// The differences from the kernel's decoder that are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Difference {
    /// A REX prefix with another prefix behind it; it has no effect.
    RexNotLast,
    /// More than four different legacy prefixes.
    ManyPrefixes,
    /// A mandatory prefix with other legacy prefixes behind it.
    MandatoryNotLast,
    /// `0F FF` (UD0), `0F 19` and `0F 1D` (reserved NOPs) have a ModRM byte.
    MissingModRm,
    /// CMOVcc behind F2 or F3, SETcc likewise, which have no effect there.
    IgnoredRepeat,
    /// EXTRQ and INSERTQ of SSE4a.
    Sse4a,
}

/// All of them, in the order of their numbers.
pub const DIFFERENCES: [Difference; 6] = [
    Difference::RexNotLast,
    Difference::ManyPrefixes,
    Difference::MandatoryNotLast,
    Difference::MissingModRm,
    Difference::IgnoredRepeat,
    Difference::Sse4a,
];

/// The two lengths for some bytes, where they should be equal.
#[derive(Debug)]
pub struct Mismatch {
    /// Ours; 0 for none.
    pub ours: usize,
    /// That which was expected after the kernel's; 0 for none.
    pub expected: usize,
}

/// The prefixes of an instruction as processors read them.
struct Prefixes {
    /// Where they end.
    end: usize,
    operand_size: bool,
    address_size: bool,
    repeat: Option<u8>,
    rex: Option<u8>,
    differences: Vec<Difference>,
}

fn prefixes(bytes: &[u8], start: usize) -> Prefixes {
    let mut seen: Vec<u8> = Vec::new();
    let mut found = Prefixes {
        end: start,
        operand_size: false,
        address_size: false,
        repeat: None,
        rex: None,
        differences: Vec::new(),
    };
    for &byte in &bytes[start..] {
        match byte {
            0x40..=0x4f => {}
            0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3 => {}
            _ => break,
        }
        if found.rex.take().is_some() {
            found.differences.push(Difference::RexNotLast);
        }
        match byte {
            0x40..=0x4f => found.rex = Some(byte),
            0x66 => found.operand_size = true,
            0x67 => found.address_size = true,
            0xf2 | 0xf3 => found.repeat = Some(byte),
            _ => {}
        }
        if !matches!(byte, 0x40..=0x4f) {
            seen.retain(|known| *known != byte);
            seen.push(byte);
        }
        found.end += 1;
    }
    if seen.len() > 4 {
        found.differences.push(Difference::ManyPrefixes);
    }
    let mandatory = found.repeat.or(found.operand_size.then_some(0x66));
    if mandatory.is_some() && seen.last().copied() != mandatory {
        found.differences.push(Difference::MandatoryNotLast);
    }
    found
}

/// What to expect of our decoder for `bytes`, and why it may differ from the
/// kernel's answer for the same bytes.
pub fn expected(bytes: &[u8]) -> (Option<usize>, Vec<Difference>) {
    let bytes = &bytes[..bytes.len().min(15)];
    let emulate = bytes.starts_with(b"\x0f\x0bxen") || bytes.starts_with(b"\x0f\x0bkvm");
    let mut found = prefixes(bytes, if emulate { 5 } else { 0 });
    let mut rest = bytes[found.end..].to_vec();
    let mut extra = 0;
    let opcode = match rest.as_slice() {
        [0x0f, ..] => Some(1),
        [0xd5, payload, ..] if found.rex.is_none() && payload & 0x80 != 0 => Some(2),
        _ => None,
    };
    if let Some(opcode) = opcode.and_then(|at| rest.get_mut(at)) {
        let mandatory = found.repeat.or(found.operand_size.then_some(0x66));
        match (*opcode, mandatory) {
            (0xff | 0x19 | 0x1d, _) => {
                *opcode = 0xb9;
                found.differences.push(Difference::MissingModRm);
            }
            (0x40..=0x4f | 0x90..=0x9f, Some(0xf2 | 0xf3)) => {
                found.repeat = None;
                found.differences.push(Difference::IgnoredRepeat);
            }
            (0x78, Some(0x66 | 0xf2)) => {
                *opcode = 0xa4;
                extra = 1;
                found.differences.push(Difference::Sse4a);
            }
            (0x79, Some(0x66 | 0xf2)) => {
                *opcode = 0xaf;
                found.differences.push(Difference::Sse4a);
            }
            _ => {}
        }
    }
    if found.differences.is_empty() {
        return (kernel::length(bytes), found.differences);
    }
    let mut plain = Vec::with_capacity(20);
    plain.extend(found.address_size.then_some(0x67));
    plain.extend(found.operand_size.then_some(0x66));
    plain.extend(found.repeat);
    plain.extend(found.rex);
    let prefix_len = plain.len();
    plain.extend_from_slice(&rest);
    let length = kernel::length(&plain)
        .map(|length| length - prefix_len + found.end + extra)
        .filter(|length| *length <= bytes.len());
    (length, found.differences)
}

/// Compares the decoders on `bytes`.
///
/// # Errors
///
/// The lengths, if ours is not the expected one.
pub fn check(bytes: &[u8]) -> Result<Vec<Difference>, Mismatch> {
    let ours = decode(bytes).map_or(0, |insn| insn.len());
    let (expected, differences) = expected(bytes);
    let expected = expected.unwrap_or(0);
    if ours == expected {
        Ok(differences)
    } else {
        Err(Mismatch { ours, expected })
    }
}
