// SPDX-License-Identifier: GPL-2.0

//! Networks as values: `saddr == 10.0.0.0/8`.

use super::terms::{Relation, Test};
use crate::engine::language::lex::{self, Span};
use crate::engine::refusal::error::{Error, Kind};

/// Splits `ADDRESS/PREFIX`; without a prefix, all `bits` bits count. `None` for a prefix that is no
/// number, or greater.
pub(super) fn with_prefix(text: &[u8], bits: u8) -> Option<(&[u8], u8)> {
    let Some(slash) = text.iter().position(|&byte| byte == b'/') else {
        return Some((text, bits));
    };
    let (address, prefix) = text.split_at_checked(slash)?;
    let prefix = lex::decimal(prefix.get(1..)?)?;
    let prefix = u8::try_from(prefix).ok().filter(|prefix| *prefix <= bits)?;
    Some((address, prefix))
}

/// Returns the test of `FIELD ==|!=|& NETWORK`, which has the first `prefix` bits of `address`.
#[inline(never)]
pub(super) fn network(
    address: u32,
    prefix: u8,
    relation: Option<Relation>,
    operator: Span<'_>,
) -> Result<Test, Error> {
    let outside = match relation {
        Some(Relation::Equal | Relation::Bits) => false,
        Some(Relation::NotEqual) => true,
        _ => {
            let refusal = operator.error(Kind::FiltIllegalFieldOp);
            return Err(refusal.with_detail(format_args!("networks take == and !=")));
        }
    };
    let size = 1u64.wrapping_shl(32u32.saturating_sub(prefix.into()));
    let start = u64::from(address) & !size.wrapping_sub(1);
    Ok(Test::Range {
        start,
        end: start.saturating_add(size),
        outside,
    })
}
