// SPDX-License-Identifier: GPL-2.0

//! Writes a histogram as `trigger` and `hist` list it.
//!
//! The text is the kernel's, and `trigger` accepts it.

use core::fmt::{self, Write};

use super::column::{Column, Fold, Key, KeySource, Modifier, Value};
use super::inter::{ActionSort, HistAction, HistHandler};
use super::spec::Spec;
use super::variable::VarRole;
use crate::engine::util::text::Plain;

/// The clock that the kernel shows if the trigger names none.
const DEFAULT_CLOCK: &[u8] = b"global";

impl Spec {
    /// Writes the trigger without its filter and state: `hist:keys=...:size=N`.
    ///
    /// # Errors
    ///
    /// The errors of `out`.
    pub fn write(&self, out: &mut dyn Write) -> fmt::Result {
        out.write_str("hist:")?;
        if let Some(name) = &self.name {
            write!(out, "name={}:", Plain(name))?;
        }
        out.write_str("keys=")?;
        for (n, key) in self.keys.iter().enumerate() {
            comma(out, n > 0)?;
            write_key(out, key)?;
        }
        out.write_str(":vals=")?;
        if !self.hides_hits {
            out.write_str("hitcount")?;
        }
        for (n, value) in self.values.iter().enumerate() {
            comma(out, n > 0 || !self.hides_hits)?;
            write_value(out, value)?;
        }
        self.write_variables(out)?;
        out.write_str(":sort=")?;
        for (n, sort) in self.sorts.iter().enumerate() {
            comma(out, n > 0)?;
            match sort.by {
                Column::Hits => out.write_str("hitcount")?,
                Column::Value(n) => self.values.get(n).map_or(Ok(()), |v| write_value(out, v))?,
                Column::Key(n) => self.keys.get(n).map_or(Ok(()), |key| write_key(out, key))?,
            }
            if sort.descending {
                out.write_str(".descending")?;
            }
        }
        write!(out, ":size={}", self.size)?;
        if self.has_time() || self.clock.is_some() {
            let clock = self.clock.as_deref().unwrap_or(DEFAULT_CLOCK);
            write!(out, ":clock={}", Plain(clock))?;
        }
        if self.hides_hits {
            out.write_str(":nohitcount")?;
        }
        let mut actions = self.actions().iter();
        actions.try_for_each(|action| write_action(out, action))
    }

    fn write_variables(&self, out: &mut dyn Write) -> fmt::Result {
        let named = self.variables().iter();
        let named = named.filter(|var| var.role == VarRole::Named);
        for (n, var) in named.enumerate() {
            out.write_str(if n == 0 { ":" } else { "," })?;
            write!(out, "{}={}", Plain(&var.name), Plain(&var.text))?;
        }
        Ok(())
    }

    /// Writes the line of `trigger`, with the filter and the state, paused or active.
    ///
    /// # Errors
    ///
    /// The errors of `out`.
    pub fn write_line(
        &self,
        out: &mut dyn Write,
        filter: Option<&[u8]>,
        is_paused: bool,
    ) -> fmt::Result {
        self.write(out)?;
        if let Some(filter) = filter {
            write!(out, " if {}", Plain(filter))?;
        }
        let state = if is_paused { "paused" } else { "active" };
        writeln!(out, " [{state}]")
    }
}

fn write_action(out: &mut dyn Write, action: &HistAction) -> fmt::Result {
    match &action.handler {
        HistHandler::Match { group, event } => {
            write!(out, ":onmatch({}.{})", Plain(group), Plain(event))?;
        }
        HistHandler::Max(tracked) => write!(out, ":onmax({})", Plain(&tracked.text))?,
        HistHandler::Change(tracked) => write!(out, ":onchange({})", Plain(&tracked.text))?,
    }
    write!(out, ".{}(", Plain(&action.word))?;
    let has_keyword = action.sort == ActionSort::Trace && *action.event != *action.word;
    if has_keyword {
        write!(out, "{}", Plain(&action.event))?;
        comma(out, !action.params.is_empty())?;
    }
    write!(out, "{})", Plain(&action.params))
}

fn comma(out: &mut dyn Write, is_needed: bool) -> fmt::Result {
    out.write_str(if is_needed { "," } else { "" })
}

pub(super) fn write_key(out: &mut dyn Write, key: &Key) -> fmt::Result {
    if key.source == KeySource::Stack {
        return out.write_str("common_stacktrace");
    }
    write!(out, "{}", Plain(&key.name))?;
    write_modifier(out, key.modifier)
}

fn write_value(out: &mut dyn Write, value: &Value) -> fmt::Result {
    write!(out, "{}", Plain(&value.name))?;
    match value.fold {
        Fold::Sum => write_modifier(out, value.modifier),
        fold => write!(out, ".{}", fold.name().unwrap_or_default()),
    }
}

pub(super) fn write_modifier(out: &mut dyn Write, modifier: Modifier) -> fmt::Result {
    if let Some(name) = modifier.name() {
        write!(out, ".{name}")?;
    }
    if let Some(size) = modifier.bucket() {
        write!(out, "={size}")?;
    }
    Ok(())
}
