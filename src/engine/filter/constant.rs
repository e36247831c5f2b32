// SPDX-License-Identifier: GPL-2.0

//! Numbers with a unit, `10ms` and `4k`, and names that stand for a number: `O_CREAT`, `-ENOENT`.

use crate::engine::language::lex::{self, Span};
use crate::engine::refusal::error::Error;
use crate::engine::util::errno;
use crate::engine::util::text::Plain;

/// What the kernel's types know of the name of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownNumber {
    /// No enumeration has it.
    Nothing,
    /// Its value.
    One(i64),
    /// Enumerations have it with different values.
    Several,
}

/// Units with their sizes. Durations are recorded in nanoseconds, sizes in bytes.
const UNITS: [(&str, u64); 9] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s sec", 1_000_000_000),
    ("min", 60_000_000_000),
    ("b B", 1),
    ("k K kB KB KiB", 1 << 10),
    ("m M MB MiB", 1 << 20),
    ("g G GB GiB", 1 << 30),
];

/// Signals, the first of which is 1. `include/uapi/asm-generic/signal.h`.
const SIGNALS: [&str; 20] = [
    "SIGHUP",
    "SIGINT",
    "SIGQUIT",
    "SIGILL",
    "SIGTRAP",
    "SIGABRT",
    "SIGBUS",
    "SIGFPE",
    "SIGKILL",
    "SIGUSR1",
    "SIGSEGV",
    "SIGUSR2",
    "SIGPIPE",
    "SIGALRM",
    "SIGTERM",
    "SIGSTKFLT",
    "SIGCHLD",
    "SIGCONT",
    "SIGSTOP",
    "SIGTSTP",
];

/// Returns the number that `word` stands for: `-ENOENT`, a signal, or a flag of `openat`, of which
/// `open_flag` returns the bits.
#[inline(never)]
pub(super) fn constant(word: &[u8], open_flag: &dyn Fn(&[u8]) -> Option<u32>) -> Option<i64> {
    if let Some(error) = word.strip_prefix(b"-") {
        let number = errno::number(error)?;
        return i64::try_from(number).ok().map(i64::wrapping_neg);
    }
    if let Some(flag) = open_flag(word) {
        return Some(i64::from(flag));
    }
    let signal = SIGNALS.iter().position(|name| name.as_bytes() == word)?;
    i64::try_from(signal).ok()?.checked_add(1)
}

/// Returns `error`, which refuses the value at the start of `value`, with what to write instead, if
/// it is the name of an error.
#[cold]
#[inline(never)]
pub(super) fn as_number(error: Error, value: Span<'_>) -> Error {
    let is_in = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let word = value.take(value.find_by(|b| !is_in(b)).unwrap_or(value.bytes.len()));
    let detail = match (word.bytes, value.bytes) {
        (b"NULL" | b"nullptr", _) => "write 0 for NULL",
        (b"", [b'$', ..]) => "the shell replaces $ only in a text in \" or without quotes",
        (b"", [b'(' | b'{' | b'[', ..]) => "one value stands here: join what each needs with ||",
        (b"", [b'*', ..]) => "a pattern follows ~ in quotes, such as comm ~ \"*cat*\"",
        _ => "",
    };
    if !detail.is_empty() {
        return error.with_detail(format_args!("{detail}"));
    }
    match errno::number(word.bytes) {
        Some(number) => error.with_detail(format_args!(
            "write -{0} for the error {0}, or {number}",
            Plain(word.bytes)
        )),
        None => error,
    }
}

/// Returns the number that `word`, digits and a unit, stands for.
pub(super) fn with_unit(word: &[u8]) -> Option<u64> {
    let (number, at) = lex::leading_decimal(word)?;
    let unit = word.get(at..).filter(|unit| !unit.is_empty())?;
    let is_it = |names: &str| names.split(' ').any(|name| name.as_bytes() == unit);
    let (_, size) = UNITS.iter().find(|(names, _)| is_it(names))?;
    number.checked_mul(*size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_multiplied() {
        assert_eq!(with_unit(b"10ms"), Some(10_000_000));
        assert_eq!(with_unit(b"4k"), Some(4096));
        assert_eq!(with_unit(b"1GiB"), Some(1 << 30));
        assert_eq!(with_unit(b"7x"), None);
        assert_eq!(with_unit(b"7"), None);
        assert_eq!(with_unit(b"99999999999999G"), None);
    }
}
