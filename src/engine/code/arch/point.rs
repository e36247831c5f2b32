// SPDX-License-Identifier: GPL-2.0

//! The arguments of static points of programs, in the assembler's words: `-4@%eax 8@-16(%rbp)` on
//! x86-64, `-4@w0 8@[sp, 16]` on arm64. The number before the `@` is the size in bytes, negative for
//! a value with a sign.
//!
//! Source: `sys/sdt.h` of SystemTap; what GCC and clang write into notes.

/// Where an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointPlace {
    /// In a register, by its index.
    Register(u8),
    /// In memory, at an offset from a register.
    Memory {
        /// The index of the register.
        register: u8,
        /// The offset in bytes.
        offset: i64,
    },
    /// It is a constant.
    Constant(i64),
}

/// An argument of a static point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointArgument {
    /// Where it is.
    pub place: PointPlace,
    /// Its size in bytes: 1, 2, 4 or 8.
    pub size: u8,
    /// Whether it has a sign.
    pub is_signed: bool,
}

/// Why there is no such argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPointArgument<'t> {
    /// The point has only so many.
    Count(usize),
    /// It is where this module cannot read it.
    Operand(&'t [u8]),
}

/// Returns the place that an operand means to an architecture, if it is one that can be read.
pub type ParseOperand<'a> = &'a dyn Fn(&[u8]) -> Option<PointPlace>;

/// Returns the argument `n`, counted from zero, of those in `text`.
///
/// # Errors
///
/// Why there is none.
pub fn point_argument<'t>(
    text: &'t [u8],
    n: usize,
    operand: ParseOperand<'_>,
) -> Result<PointArgument, NoPointArgument<'t>> {
    let mut rest = text.trim_ascii();
    let mut count = 0usize;
    loop {
        let Some((one, behind)) = first(rest) else {
            return Err(NoPointArgument::Count(count));
        };
        if count == n {
            return parse(one, operand).ok_or(NoPointArgument::Operand(one));
        }
        count = count.saturating_add(1);
        rest = behind;
    }
}

/// Splits off the first argument. An operand may have blanks, but what follows a blank and has an
/// `@` is the next argument.
fn first(text: &[u8]) -> Option<(&[u8], &[u8])> {
    if text.is_empty() {
        return None;
    }
    let blanks = text.iter().enumerate().filter(|(_, byte)| **byte == b' ');
    for (blank, _) in blanks {
        let (one, behind) = text.split_at_checked(blank)?;
        let behind = behind.trim_ascii_start();
        let word = behind
            .split(|&byte| byte == b' ')
            .next()
            .unwrap_or_default();
        if word.contains(&b'@') {
            return Some((one.trim_ascii_end(), behind));
        }
    }
    Some((text, b""))
}

fn parse(text: &[u8], operand: ParseOperand<'_>) -> Option<PointArgument> {
    // Without a size it is a word.
    let (size, place) = match text.iter().position(|&byte| byte == b'@') {
        Some(at) => (text.get(..at)?, text.get(at.saturating_add(1)..)?),
        None => (b"8".as_slice(), text),
    };
    let (is_signed, size) = match size.strip_prefix(b"-") {
        Some(size) => (true, size),
        None => (false, size),
    };
    let size = match size {
        b"1" => 1,
        b"2" => 2,
        b"4" => 4,
        b"8" => 8,
        _ => return None,
    };
    let place = operand(place.trim_ascii())?;
    Some(PointArgument {
        place,
        size,
        is_signed,
    })
}
