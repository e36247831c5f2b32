// SPDX-License-Identifier: GPL-2.0

//! Prints the values that the actions of a histogram keep.

use core::fmt::{self, Write};
use core::ops::Deref;

use super::inter::{ActionSort, HistHandler};
use super::names::KeyNames;
use super::print::{pad, write_text};
use super::read::{ReadRow, Snapshot};
use super::update::Histogram;
use super::value_shape::ValueSort;
use super::variable::{VarRole, VarSource, Variable, VAR_WORDS};
use crate::engine::util::text::{OneLine, Plain};
use crate::sys::AtomicU64;

/// Width of a saved string in characters.
const TEXT_WIDTH: usize = 32;

impl<H: Deref<Target = Histogram>> Snapshot<H> {
    /// Writes the tracked and saved values of an entry.
    pub(super) fn write_tracked(&self, out: &mut dyn Write, row: ReadRow<'_>) -> fmt::Result {
        for action in self.spec().actions() {
            let (label, tracked) = match &action.handler {
                HistHandler::Match { .. } => continue,
                _ if action.sort == ActionSort::Snapshot => continue,
                HistHandler::Max(tracked) => ("max", tracked),
                HistHandler::Change(tracked) => ("changed", tracked),
            };
            let vars = row.vars();
            let is_kept = vars
                .get(tracked.at)
                .is_some_and(|it| it.load_relaxed() != 0);
            if action.handler.begins_with_none() && !is_kept {
                continue;
            }
            write!(out, "\n\t{label}: ")?;
            let value = action.handler.kept(value(vars, tracked.at));
            write_number(out, value, tracked.signed)?;
            if action.sort == ActionSort::Save {
                let all = self.spec().variables().iter();
                let mut saved = all.filter(|var| var.role == VarRole::Saved);
                saved.try_for_each(|var| write_saved(out, var, vars))?;
            }
        }
        Ok(())
    }

    /// Writes the value for which the last snapshot of the buffer was taken.
    pub(super) fn write_taken(&self, out: &mut dyn Write, names: &mut dyn KeyNames) -> fmt::Result {
        let mut actions = self.spec().actions().iter();
        let action = actions.find(|action| action.sort == ActionSort::Snapshot);
        let (Some(action), Some((value, row))) = (action, self.taken()) else {
            return Ok(());
        };
        let (handler, tracked) = match &action.handler {
            HistHandler::Match { .. } => return Ok(()),
            HistHandler::Max(tracked) => ("onmax", tracked),
            HistHandler::Change(tracked) => ("onchange", tracked),
        };
        out.write_str("\nSnapshot taken (see tracing/snapshot).  Details:\n")?;
        let text = Plain(&tracked.text);
        write!(out, "\ttriggering value {{ {handler}({text}) }}: ")?;
        write_number(out, action.handler.kept(value), tracked.signed)?;
        out.write_str("\ttriggered by event with key: ")?;
        self.write_keys(out, row, names, |_| true)?;
        out.write_char('\n')
    }
}

/// Returns the value of the variable whose words begin at `at`.
fn value(vars: &[AtomicU64], at: usize) -> u64 {
    let word = vars.get(at.saturating_add(1));
    word.map_or(0, AtomicU64::load_relaxed)
}

fn write_saved(out: &mut dyn Write, var: &Variable, vars: &[AtomicU64]) -> fmt::Result {
    write!(out, "  {}: ", OneLine(&var.name))?;
    let start = var.at.saturating_add(VAR_WORDS);
    let block = vars.get(start..var.end()).unwrap_or_default();
    let words = block.iter().map(AtomicU64::load_relaxed);
    match (&var.source, var.shape.sort) {
        (VarSource::Stack, _) => {
            let mut frames = words.skip(1).take_while(|&frame| frame != 0);
            frames.try_for_each(|frame| write!(out, "{frame:x} "))
        }
        (_, ValueSort::Text) => {
            let length = write_text(out, words)?;
            pad(out, length, TEXT_WIDTH)
        }
        _ => write_number(out, value(vars, var.at), var.shape.signed),
    }
}

/// Writes a signed or unsigned number, padded to a column.
fn write_number(out: &mut dyn Write, value: u64, signed: bool) -> fmt::Result {
    match signed {
        // CAST: two's complement.
        true => write!(out, "{:10}", value as i64),
        false => write!(out, "{value:10}"),
    }
}
