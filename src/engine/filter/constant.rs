// SPDX-License-Identifier: GPL-2.0

//! Numbers with a unit, `10ms` and `4k`, and the refusal of a value that stands for a number:
//! `O_CREAT`, `-ENOENT`.

use crate::engine::language::lex::{self, Span};
use crate::engine::refusal::error::Error;
use crate::engine::util::errno;
use crate::engine::util::text::Plain;

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

/// Returns `error`, which refuses the value at the start of `value`, with the number that it stands
/// for, if it is known. `open_flag` returns the bits of a flag of `openat`.
#[cold]
#[inline(never)]
pub(super) fn as_number(
    error: Error,
    value: Span<'_>,
    open_flag: &dyn Fn(&[u8]) -> Option<u32>,
) -> Error {
    let is_in = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let minus = usize::from(value.first() == Some(b'-'));
    let word = value.skip(minus);
    let word = word.take(word.find_by(|b| !is_in(b)).unwrap_or(word.bytes.len()));
    let (sign, text) = (if minus > 0 { "-" } else { "" }, Plain(word.bytes));
    if let Some(flag) = open_flag(word.bytes) {
        return error.with_detail(format_args!("write {sign}{flag:#x} for {sign}{text}"));
    }
    let signals = SIGNALS
        .iter()
        .position(|name| name.as_bytes() == word.bytes);
    let signal = signals.and_then(|at| u64::try_from(at).ok()?.checked_add(1));
    match (errno::number(word.bytes), signal) {
        (Some(number), _) => error.with_detail(format_args!("write -{number} for -{text}")),
        (_, Some(number)) => error.with_detail(format_args!("write {number} for {text}")),
        _ => error,
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
