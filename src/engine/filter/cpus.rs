// SPDX-License-Identifier: GPL-2.0

//! Sets of CPUs in filters, as the kernel writes them.

use crate::engine::language::lex::{self, Span};
use crate::engine::refusal::error::{Error, Kind};
use crate::sys::Vec;

/// Largest number of CPUs that a kernel supports.
const MAX_CPUS: u64 = 8192;

/// Parses a list such as `0,2-5`, and appends the set to `words`. `all` means all CPUs, `N` the CPU
/// `last`, and `0-15:2/4` the first two of each four. An item may be empty.
pub(super) fn append(list: Span<'_>, last: u64, words: &mut Vec<u64>) -> Result<(), Error> {
    let start = words.len();
    let mut rest = Some(list);
    while let Some(text) = rest {
        let (item, behind) = text.first_item(b',');
        rest = behind;
        if item.bytes.trim_ascii().is_empty() {
            continue;
        }
        let range = CpuRange::parse(item, last).ok_or(item.error(Kind::FiltInvalidCpulist))?;
        for cpu in range.low..=range.high {
            let place = cpu.saturating_sub(range.low).checked_rem(range.group);
            if place.is_none_or(|place| place >= range.used) {
                continue;
            }
            // CAST: less than MAX_CPUS.
            let at = start.saturating_add((cpu / 64) as usize);
            while words.len() <= at {
                words.push(0)?;
            }
            if let Some(word) = words.get_mut(at) {
                *word |= 1 << (cpu % 64);
            }
        }
    }
    match words.len() > start {
        true => Ok(()),
        false => Err(list.error(Kind::FiltInvalidCpulist)),
    }
}

/// The first `used` CPUs in each group of `group`, from `low` to `high`.
struct CpuRange {
    low: u64,
    high: u64,
    used: u64,
    group: u64,
}

impl CpuRange {
    fn parse(item: Span<'_>, last: u64) -> Option<Self> {
        let bytes = item.bytes.trim_ascii();
        let (range, part) = match split(bytes, b':') {
            Some((range, part)) => (range, Some(part)),
            None => (bytes, None),
        };
        let number = |text: &[u8]| match text {
            b"N" => Some(last),
            digits => lex::decimal(digits).filter(|&n| n < MAX_CPUS),
        };
        let (low, high) = match (range, split(range, b'-')) {
            (b"all", _) => (0, last),
            (_, Some((low, high))) => (number(low)?, number(high)?),
            (one, None) => (number(one)?, number(one)?),
        };
        let (used, group) = match part {
            Some(part) => {
                let (used, group) = split(part, b'/')?;
                (lex::decimal(used)?, lex::decimal(group)?)
            }
            None => (1, 1),
        };
        (low <= high && used > 0 && used <= group).then_some(Self {
            low,
            high,
            used,
            group,
        })
    }
}

/// Splits at the first `separator`.
fn split(text: &[u8], separator: u8) -> Option<(&[u8], &[u8])> {
    let (before, behind) = text.split_at_checked(text.iter().position(|&b| b == separator)?)?;
    Some((before, behind.get(1..)?))
}
