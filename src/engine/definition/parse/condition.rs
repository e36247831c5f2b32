// SPDX-License-Identifier: GPL-2.0

//! The filter at the end of a definition: `if FILTER`.

use crate::engine::definition::ast::Condition;
use crate::engine::language::lex::Command;
use crate::engine::refusal::error::{Error, Kind};
use crate::sys::{Box, Vec};

/// Returns the index of the word `if` in `command`, or the number of words.
pub(super) fn start(command: &Command) -> usize {
    let is_if = |n: &usize| command.word(*n).is_some_and(|word| word.bytes == b"if");
    (2..command.len()).find(is_if).unwrap_or(command.len())
}

/// Parses the filter behind word `n` of `command`; returns `None` if that is the end.
///
/// # Errors
///
/// `NO_EP_FILTER` if nothing is behind the `if`.
pub(super) fn parse(command: &Command, n: usize) -> Result<Option<Box<Condition>>, Error> {
    if n >= command.len() {
        return Ok(None);
    }
    let first = n.saturating_add(1);
    let Some(word) = command.word(first) else {
        return Err(Error::new(Kind::NoEpFilter, command.column(first)));
    };
    let text = command.text().get(word.at..).unwrap_or_default();
    Ok(Some(Box::new(Condition {
        text: Vec::from_slice(text)?,
        at: word.at,
    })?))
}
