// SPDX-License-Identifier: GPL-2.0

//! The period of samples: `99hz`, `10ms`.

use core::fmt;

use crate::engine::language::lex::{self, Span};
use crate::engine::refusal::error::{Error, Kind};

/// Nanoseconds in a second.
const SECOND: u64 = 1_000_000_000;
/// The shortest period, in nanoseconds: with a shorter one, a CPU could do little else.
const SHORTEST: u64 = 100_000;
/// The longest period, in nanoseconds.
const LONGEST: u64 = 3_600 * SECOND;

/// The time between two ticks, as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    number: u32,
    unit: &'static Unit,
}

/// A unit of periods.
#[derive(Debug, PartialEq, Eq)]
struct Unit {
    name: &'static str,
    /// Its length in nanoseconds; `None` if the number says how many ticks a second has.
    length: Option<u64>,
}

/// All units. A name comes before another that it ends in.
const UNITS: &[Unit] = &[
    Unit {
        name: "hz",
        length: None,
    },
    Unit {
        name: "us",
        length: Some(SECOND / 1_000_000),
    },
    Unit {
        name: "ms",
        length: Some(SECOND / 1_000),
    },
    Unit {
        name: "s",
        length: Some(SECOND),
    },
];

impl Period {
    /// Parses `NUMBER` and a unit.
    ///
    /// # Errors
    ///
    /// `BAD_PERIOD`.
    pub fn parse(word: Span<'_>) -> Result<Self, Error> {
        let period = Self::written(word.bytes).ok_or_else(|| not_a_period(word))?;
        match period.nanoseconds() {
            SHORTEST..=LONGEST => Ok(period),
            ..SHORTEST => Err(word
                .error(Kind::BadPeriod)
                .with_detail(format_args!("at most 10000hz: a period has at least 100us"))),
            _ => Err(word
                .error(Kind::BadPeriod)
                .with_detail(format_args!("at most 3600s"))),
        }
    }

    /// Returns the period that `text` denotes, of any length.
    pub fn written(text: &[u8]) -> Option<Self> {
        let of = |unit: &'static Unit| Some((unit, text.strip_suffix(unit.name.as_bytes())?));
        let (unit, number) = UNITS.iter().find_map(of)?;
        let number = u32::try_from(lex::decimal(number)?).ok()?;
        (number > 0).then_some(Self { number, unit })
    }

    /// Returns its length in nanoseconds.
    pub fn nanoseconds(self) -> u64 {
        let number = u64::from(self.number);
        match self.unit.length {
            Some(length) => number.saturating_mul(length),
            None => SECOND.checked_div(number).unwrap_or(SECOND),
        }
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.number, self.unit.name)
    }
}

/// Returns the refusal of `word`, which is no period.
#[cold]
#[inline(never)]
fn not_a_period(word: Span<'_>) -> Error {
    let error = word.error(Kind::BadPeriod);
    match lex::decimal(word.bytes) {
        Some(number) if number > 0 => error.with_detail(format_args!(
            "a unit is missing: write {number}hz, {number}us, {number}ms or {number}s"
        )),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nanoseconds(text: &str) -> Option<u64> {
        Period::written(text.as_bytes()).map(Period::nanoseconds)
    }

    #[test]
    fn units_have_their_lengths() {
        assert_eq!(nanoseconds("99hz"), Some(10_101_010));
        assert_eq!(nanoseconds("250us"), Some(250_000));
        assert_eq!(nanoseconds("10ms"), Some(10_000_000));
        assert_eq!(nanoseconds("1s"), Some(SECOND));
        assert_eq!(nanoseconds("4294967295s"), Some(4_294_967_295 * SECOND));
        for text in [
            "",
            "hz",
            "0hz",
            "99",
            "-1s",
            "1.5s",
            "4294967296s",
            "99 hz",
            "99Hz",
        ] {
            assert_eq!(nanoseconds(text), None, "{text}");
        }
    }
}
