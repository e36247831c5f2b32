// SPDX-License-Identifier: GPL-2.0

//! `ferroprobe vars`: the variables of a line, where each is, and on which lines it is alive.

use crate::error::Result;
use crate::fetch::expression::Expression;
use crate::fetch::locate;
use crate::fetch::render::Names;
use crate::fetch::variable::{self, Variable};
use crate::lines::find::{self, Instance, Location};
use crate::place::loclist;
use crate::session::Session;
use crate::symbols::Symbols;
use crate::target::Target;
use crate::types::Kind;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The listing of the variables at each location of `target`.
pub fn text(session: &Session<'_>, target: &Target, module: Option<String>) -> Result<String> {
    let symbols = Symbols::new(session.image, module);
    let names = Names {
        arch: session.image.arch,
        symbols: &symbols,
    };
    let mut out = String::new();
    for location in find::locations(session, target)? {
        let function = location.scopes.all.first().and_then(|scope| scope.name);
        let place = symbols.code(location.moment.0, function);
        let place = place.unwrap_or_else(|_| format!("{:#x}", location.moment.0));
        // Writing to a string does not fail.
        let _ = writeln!(out, "<{place}>");
        let visible = location.check();
        match visible.and_then(|()| variable::visible(session, &location)) {
            Ok(variables) => {
                let mut seen = BTreeSet::new();
                for variable in variables
                    .iter()
                    .filter(|variable| seen.insert(variable.name))
                {
                    let line = line(session, &names, &location, variable);
                    let _ = writeln!(out, "{}", line.trim_end());
                }
            }
            Err(refusal) => {
                let _ = writeln!(out, "# {refusal}");
            }
        }
    }
    Ok(out)
}

/// One variable.
fn line<'s>(
    session: &Session<'s>,
    names: &Names<'_, '_>,
    location: &Location<'s>,
    variable: &Variable<'s>,
) -> String {
    let name = variable.name;
    let expression = Expression {
        name: None,
        variable: name.into(),
        steps: Vec::new(),
        kind: None,
        user: false,
    };
    let unit = &location.source.unit;
    let kind = variable::kind(session.debug, unit, variable);
    let whole = match kind.as_ref().map(|kind| &kind.kind) {
        Ok(Kind::Structure | Kind::Array { .. }) => {
            let place = locate::place(session, location, variable);
            place.and_then(|place| names.aggregate(&place))
        }
        _ => variable::fetch(session, names, location, &expression)
            .map(|fetch| format!("{}:{}", fetch.text, fetch.kind)),
    };
    let alive = alive(session, location, variable).unwrap_or_default();
    let alive = match alive.as_str() {
        "" => String::new(),
        lines => format!("  # on lines {lines}"),
    };
    match whole {
        Ok(text) => format!("  {:<24}{alive}", format!("{name}={text}")),
        Err(refusal) => {
            let text = refusal.to_string();
            let text = text
                .strip_prefix(name)
                .and_then(|text| text.strip_prefix(": "))
                .unwrap_or(&text);
            format!("  {:<24}{alive}", format!("{name}: {text}"))
        }
    }
}

/// The lines of the function on which a variable is somewhere, counted from its first.
fn alive<'s>(
    session: &Session<'s>,
    location: &Location<'s>,
    variable: &Variable<'s>,
) -> Result<String> {
    let Some(scope) = location.owner else {
        return Ok(String::new());
    };
    let unit = &location.source.unit;
    let entry = unit.entry(variable.entry)?;
    let found = loclist::Location::read(session.debug, unit, &entry)?;
    let loclist::Location::Listed(..) = &found else {
        return Ok(String::new());
    };
    let instance = Instance {
        source: location.source.clone(),
        scopes: location.scopes.clone(),
        scope,
    };
    let first = location
        .scopes
        .get(scope)?
        .declared
        .map_or(0, |line| line.line);
    let rows = find::rows(session, &instance).into_iter();
    let alive = rows.filter(|row| {
        let moment = (row.address, row.view);
        found
            .at(moment, locate::rows(location, variable, moment))
            .is_ok()
    });
    let lines: BTreeSet<u32> = alive
        .filter_map(|row| row.line.checked_sub(first))
        .collect();
    Ok(ranges(&lines))
}

/// Numbers in words: `1-3,7`. Numbers between two of them that are missing end a range.
fn ranges(lines: &BTreeSet<u32>) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for line in lines {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == *line => *last = *line,
            _ => parts.push((*line, *line)),
        }
    }
    let text = parts.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    text.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn neighbours_are_joined() {
        assert_eq!(ranges(&[1, 2, 3, 7, 9, 10].into()), "1-3,7,9-10");
        assert_eq!(ranges(&[].into()), "");
    }
}
