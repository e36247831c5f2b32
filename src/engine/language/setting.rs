// SPDX-License-Identifier: GPL-2.0

//! Values of files that take a single one, and their refusals.
//!
//! Surrounding white space is ignored; the caret counts without it.

use core::fmt;

use crate::engine::language::lex::{self, Span};
use crate::engine::refusal::error::{Error, Kind};

/// Parses a decimal number, as in tracefs. `expects` says what the file accepts.
///
/// # Errors
///
/// `FILE_BAD_NUMBER`.
pub fn number(text: &[u8], expects: &str) -> Result<u64, Error> {
    let text = text.trim_ascii();
    lex::decimal(text).ok_or_else(|| no_number(text, expects))
}

/// Like [`number`], in KiB.
///
/// # Errors
///
/// `FILE_BAD_NUMBER`.
pub fn kilobytes(text: &[u8], expects: &str) -> Result<u64, Error> {
    let text = text.trim_ascii();
    lex::decimal(text).ok_or_else(|| match with_unit(text) {
        Some((at, kilobytes)) => Error::new(Kind::FileBadNumber, at).with_detail(format_args!(
            "it has no unit: write {kilobytes} KiB as {kilobytes}"
        )),
        None => no_number(text, expects),
    })
}

/// Parses 1 or 0.
///
/// # Errors
///
/// `FILE_BAD_SWITCH`.
pub fn switch(text: &[u8]) -> Result<bool, Error> {
    let text = text.trim_ascii();
    match lex::decimal(text) {
        Some(0) => Ok(false),
        Some(1) => Ok(true),
        _ => Err(no_switch(text)),
    }
}

/// Parses a switch as [`switch`] does, where any number except 0 means 1.
///
/// # Errors
///
/// `FILE_BAD_SWITCH`.
pub fn is_not_zero(text: &[u8]) -> Result<bool, Error> {
    match lex::decimal(text.trim_ascii()) {
        Some(number) => Ok(number != 0),
        None => switch(text),
    }
}

/// Returns the refusal of a number out of range. `expects` says what the file accepts.
#[cold]
#[inline(never)]
pub fn out_of_range(expects: &str) -> Error {
    expected(Error::new(Kind::FileOutOfRange, 0), expects)
}

/// Adds to `error` what the file accepts.
#[cold]
#[inline(never)]
pub fn expected(error: Error, expects: impl fmt::Display) -> Error {
    error.with_detail(format_args!("expected {expects}"))
}

#[cold]
#[inline(never)]
fn no_number(text: &[u8], expects: &str) -> Error {
    let span = Span { bytes: text, at: 0 };
    let digits = lex::leading_decimal(text).map_or(0, |(_, length)| length);
    // A number that is too large has no invalid digit.
    let at = Some(digits).filter(|at| *at < text.len()).unwrap_or(0);
    expected(span.skip(at).error(Kind::FileBadNumber), expects)
}

/// Words that users write to switch something on.
const ON: [&[u8]; 5] = [b"on", b"y", b"yes", b"true", b"enable"];
const OFF: [&[u8]; 5] = [b"off", b"n", b"no", b"false", b"disable"];

#[cold]
#[inline(never)]
fn no_switch(text: &[u8]) -> Error {
    let error = Error::new(Kind::FileBadSwitch, 0);
    let is_in = |words: [&[u8]; 5]| words.iter().any(|word| word.eq_ignore_ascii_case(text));
    error.with_detail(format_args!(
        "{}",
        match (is_in(ON), is_in(OFF)) {
            (true, _) => "write 1 to switch it on",
            (_, true) => "write 0 to switch it off",
            _ => "1 switches it on, 0 off",
        }
    ))
}

/// Returns column and value in KiB of a number with a unit.
fn with_unit(text: &[u8]) -> Option<(usize, u64)> {
    let (number, at) = lex::leading_decimal(text)?;
    let in_unit = match text.get(at..)?.trim_ascii() {
        b"k" | b"K" | b"kB" | b"KB" | b"kb" | b"KiB" => 1,
        b"m" | b"M" | b"MB" | b"mb" | b"MiB" => 1 << 10,
        b"g" | b"G" | b"GB" | b"gb" | b"GiB" => 1 << 20,
        _ => return None,
    };
    Some((at, number.checked_mul(in_unit)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused<T>(result: Result<T, Error>) -> (Kind, usize, String) {
        let error = result.err().expect("a refusal");
        let detail = String::from_utf8(error.detail().to_vec()).unwrap();
        (error.kind, error.at, detail)
    }

    #[test]
    fn numbers_are_taken() {
        assert_eq!(number(b" 16\n", "x"), Ok(16));
        // Zeroes before it do not make it octal.
        assert_eq!(number(b"010", "x"), Ok(10));
        assert_eq!(number(b"08", "x"), Ok(8));
        assert_eq!(kilobytes(b"01000", "x"), Ok(1000));
        assert_eq!(switch(b"01"), Ok(true));
        assert_eq!(kilobytes(b"8192\n", "x"), Ok(8192));
        assert_eq!(switch(b"1\n"), Ok(true));
        assert_eq!(switch(b" 0"), Ok(false));
        assert_eq!(is_not_zero(b"2\n"), Ok(true));
        assert_eq!(is_not_zero(b"0"), Ok(false));
        assert_eq!(is_not_zero(b"on"), switch(b"on"));
    }

    #[test]
    fn what_is_no_number_is_refused_with_what_is_expected() {
        for (text, at) in [
            ("", 0),
            ("x", 0),
            ("12x", 2),
            ("-1", 0),
            ("1 2", 1),
            ("0x10", 1),
        ] {
            let (kind, column, detail) = refused(number(text.as_bytes(), "a percentage"));
            assert_eq!((kind, column), (Kind::FileBadNumber, at), "{text}");
            assert_eq!(detail, "expected a percentage");
        }
        let large = refused(number(b"99999999999999999999", "less"));
        assert_eq!(large, (Kind::FileBadNumber, 0, "expected less".into()));
    }

    #[test]
    fn a_unit_is_converted() {
        for (text, at, kilobytes) in [("8M", 1, 8192), ("64k", 2, 64), ("1 GiB", 1, 1 << 20)] {
            let (_, column, detail) = refused(super::kilobytes(text.as_bytes(), "KiB"));
            assert_eq!(column, at, "{text}");
            let written = format!("it has no unit: write {kilobytes} KiB as {kilobytes}");
            assert_eq!(detail, written);
        }
        let (_, at, detail) = refused(kilobytes(b"8T", "KiB"));
        assert_eq!((at, &*detail), (1, "expected KiB"));
    }

    #[test]
    fn words_for_a_switch_are_translated() {
        for (text, detail) in [
            ("on", "write 1 to switch it on"),
            ("Yes\n", "write 1 to switch it on"),
            ("off", "write 0 to switch it off"),
            ("2", "1 switches it on, 0 off"),
            ("", "1 switches it on, 0 off"),
            ("something", "1 switches it on, 0 off"),
        ] {
            let refusal = refused(switch(text.as_bytes()));
            assert_eq!(refusal, (Kind::FileBadSwitch, 0, detail.into()), "{text}");
        }
    }
}
