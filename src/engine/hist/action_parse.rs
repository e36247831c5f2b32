// SPDX-License-Identifier: GPL-2.0

//! Parses an action: `HANDLER(WHAT).ACTION(PARAMETERS)`.

use super::find_var::OnEvent;
use super::inter::{ActionSort, HistAction, HistHandler, Tracked, MAX_PARAMS};
use super::pieces::{pieces, trim};
use super::scope::HistScope;
use crate::engine::language::lex::Span;
use crate::engine::refusal::error::{Error, Kind};
use crate::sys::{AllocError, Vec};

/// An action as it is written, not yet bound.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WrittenAction<'a> {
    pub(super) handler: WrittenHandler<'a>,
    pub(super) sort: ActionSort,
    /// The word before the parenthesis: `save`, `trace`, `snapshot` or the name of an event.
    pub(super) word: Span<'a>,
    /// The synthetic event to emit, or empty.
    pub(super) event: Span<'a>,
    pub(super) params: Vec<Span<'a>>,
}

/// When an action acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WrittenHandler<'a> {
    /// `onmatch(GROUP.EVENT)`.
    Match(OnEvent<'a>),
    /// `onmax($VARIABLE)`.
    Max(Span<'a>),
    /// `onchange($VARIABLE)`.
    Change(Span<'a>),
}

/// Calls `each` with the group and the name of each event that the trigger `text` matches.
pub fn each_matched(text: &[u8], each: &mut dyn FnMut(&[u8], &[u8])) {
    const MATCH: &[u8] = b"onmatch(";
    for part in text.split(|&byte| byte == b':') {
        let Some(rest) = part.strip_prefix(MATCH) else {
            continue;
        };
        let mut ends = rest.splitn(2, |&byte| byte == b')');
        let mut names = ends
            .next()
            .unwrap_or_default()
            .splitn(2, |&byte| byte == b'.');
        if let (Some(group), Some(event)) = (names.next(), names.next()) {
            each(group, event);
        }
    }
}

/// Returns whether the trigger `text` may take snapshots.
pub fn may_snapshot(text: &[u8]) -> bool {
    const ACTION: &[u8] = b").snapshot";
    text.windows(ACTION.len()).any(|part| part == ACTION)
}

pub(super) fn is_action(word: Span<'_>) -> bool {
    let mut handlers = [&b"onmatch("[..], b"onmax(", b"onchange("].into_iter();
    handlers.any(|handler| word.bytes.starts_with(handler))
}

impl<'a> WrittenAction<'a> {
    /// Parses `text`, which [is an action](is_action).
    ///
    /// # Errors
    ///
    /// A refusal.
    pub(super) fn parse(text: Span<'a>, scope: &dyn HistScope) -> Result<Self, Error> {
        let (handler, rest) = text.around(text.find(b'(').unwrap_or(0));
        let Some(close) = rest.find(b')') else {
            return Err(rest.error(Kind::NoClosingParen));
        };
        let (what, rest) = rest.around(close);
        let handler = match handler.bytes {
            b"onmatch" => WrittenHandler::Match(parse_on_event(what, scope)?),
            b"onmax" => WrittenHandler::Max(what),
            _ => WrittenHandler::Change(what),
        };
        let action = rest.strip(b".");
        let open = action.and_then(|action| action.find(b'('));
        let (Some(action), Some(open)) = (action, open) else {
            return Err(rest.error(Kind::ActionNotFound));
        };
        let (word, params) = action.around(open);
        let sort = sort_of(word);
        let Some(close) = params.find(b')') else {
            return Err(params.error(Kind::NoClosingParen));
        };
        let params = params.take(close);
        let is_match = matches!(handler, WrittenHandler::Match(_));
        if is_match && sort != ActionSort::Trace {
            return Err(word.error(Kind::ActionMismatch));
        }
        let mut written = Self {
            handler,
            sort,
            word,
            event: word.take(0),
            params: Vec::new(),
        };
        match sort {
            ActionSort::Save if params.bytes.is_empty() => {
                return Err(params.error(Kind::NoSaveParams));
            }
            ActionSort::Save => written.add_params(params)?,
            ActionSort::Snapshot => {}
            ActionSort::Trace => {
                written.add_params(params)?;
                written.event = match is_keyword(word) && !written.params.is_empty() {
                    true => written.params.take(0).unwrap_or(word),
                    false => word,
                };
            }
        }
        Ok(written)
    }

    fn add_params(&mut self, text: Span<'a>) -> Result<(), Error> {
        for param in pieces(text, b',') {
            // The first parameter of the keyword `trace` is the event.
            if self.params.len() > MAX_PARAMS {
                return Err(param.error(Kind::TooManyParams));
            }
            let param = trim(param);
            if matches!(param.bytes, b"" | b"$") {
                return Err(param.error(Kind::InvalidParam));
            }
            self.params.push(param)?;
        }
        Ok(())
    }
}

/// Returns the kind of action for `word`. As in the kernel, a prefix decides.
fn sort_of(word: Span<'_>) -> ActionSort {
    match word.bytes {
        word if word.starts_with(b"save") => ActionSort::Save,
        word if word.starts_with(b"snapshot") => ActionSort::Snapshot,
        _ => ActionSort::Trace,
    }
}

/// Returns whether a synthetic event follows `word` as the first parameter.
pub(super) fn is_keyword(word: Span<'_>) -> bool {
    word.bytes.starts_with(b"trace")
}

/// Parses `GROUP.EVENT`, which must exist.
fn parse_on_event<'a>(text: Span<'a>, scope: &dyn HistScope) -> Result<OnEvent<'a>, Error> {
    let Some(dot) = text.find(b'.') else {
        return Err(text.error(Kind::SubsysNotFound));
    };
    let (group, event) = text.around(dot);
    if !scope.has_event(group.bytes, event.bytes) {
        return Err(event.error(Kind::InvalidSubsysEvent));
    }
    Ok(OnEvent::named((group.bytes, event.bytes)))
}

/// Returns the events that `onmatch()` handlers name.
pub(super) fn matched<'a>(written: &[WrittenAction<'a>]) -> Result<Vec<OnEvent<'a>>, AllocError> {
    let mut matched = Vec::new();
    for action in written {
        if let WrittenHandler::Match(event) = action.handler {
            matched.push(event)?;
        }
    }
    Ok(matched)
}

/// Returns the actions as written, before they are bound.
pub(super) fn unbound(written: &[WrittenAction<'_>]) -> Result<Vec<HistAction>, AllocError> {
    let mut actions = Vec::new();
    for action in written {
        let tracked = |text: Span<'_>| {
            Ok::<_, AllocError>(Tracked {
                text: text.to_vec()?,
                value: 0,
                at: 0,
                signed: false,
            })
        };
        let mut params = Vec::new();
        for (n, param) in action.params.iter().enumerate() {
            if n > 0 {
                params.push(b',')?;
            }
            params.extend_from_slice(param.bytes)?;
        }
        actions.push(HistAction {
            handler: match action.handler {
                WrittenHandler::Match(event) => HistHandler::Match {
                    group: Vec::from_slice(event.group)?,
                    event: Vec::from_slice(event.event)?,
                },
                WrittenHandler::Max(text) => HistHandler::Max(tracked(text)?),
                WrittenHandler::Change(text) => HistHandler::Change(tracked(text)?),
            },
            sort: action.sort,
            word: action.word.to_vec()?,
            event: action.event.to_vec()?,
            params,
            args: Vec::new(),
        })?;
    }
    Ok(actions)
}
