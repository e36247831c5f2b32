// SPDX-License-Identifier: GPL-2.0

//! `ferroprobe define`: definitions of one event, with a probe at each location of a target.

use crate::error::{Refusal, Result};
use crate::fetch::expression::Expression;
use crate::fetch::render::{Fetch, Names};
use crate::fetch::variable;
use crate::lines::find::{self, Location};
use crate::refuse;
use crate::session::Session;
use crate::symbols::Symbols;
use crate::target::{At, Target};

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Where.
    pub target: Target,
    /// What to record.
    pub arguments: Vec<Expression>,
    /// Whether lines are taken that jumps to their address may not run.
    pub shared: bool,
}

/// Characters of an event's name.
const LONGEST_NAME: usize = 63;

impl Request {
    /// Reads `TARGET [ARGUMENT...]`.
    pub fn parse(text: &str) -> Result<Self> {
        let mut words = text.split_whitespace();
        let Some(target) = words.next() else {
            refuse!("nothing to define: write 'FUNCTION:LINE VARIABLE...'");
        };
        let arguments: Result<Vec<_>> = words.map(Expression::parse).collect();
        let mut request = Self {
            target: Target::parse(target)?,
            arguments: arguments?,
            shared: false,
        };
        request.name_arguments()?;
        Ok(request)
    }

    /// Gives each argument a name of its own.
    fn name_arguments(&mut self) -> Result<()> {
        let mut taken: Vec<String> = Vec::new();
        for argument in &mut self.arguments {
            let name = argument.field();
            let mut free = name.clone();
            let mut number = 2;
            while taken.contains(&free) {
                if argument.name.is_some() {
                    refuse!("two arguments are called {name}");
                }
                free = format!("{name}_{number}");
                number += 1;
            }
            taken.push(free.clone());
            argument.name = Some(free);
        }
        Ok(())
    }

    /// The name of the event if none was given.
    fn event(&self) -> String {
        let text = match &self.target {
            Target::Function { name, at, .. } => match at {
                At::Entry | At::Inlined => name.clone(),
                At::Line(line) => format!("{name}_L{line}"),
            },
            Target::File { file, line } => {
                let file = file.rsplit('/').next().unwrap_or_default();
                format!("{file}_L{}", line.unwrap_or(0))
            }
        };
        let text: String = text
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect();
        let text = match text.starts_with(|c: char| c.is_ascii_digit()) {
            true => format!("_{text}"),
            false => text,
        };
        text.chars().take(LONGEST_NAME).collect()
    }
}

/// The definitions, and what was refused, each with its location.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Definitions {
    /// A line for each probe.
    pub lines: Vec<String>,
    /// A line for each location without a probe.
    pub refused: Vec<String>,
    /// How many locations were left out because their code is not in memory any more.
    pub gone: usize,
}

/// Writes the definitions of `request`, of the event `event`, which is `[GROUP/]NAME`.
pub fn definitions(
    session: &Session<'_>,
    request: &Request,
    event: Option<&str>,
    module: Option<String>,
) -> Result<Definitions> {
    let event = match event {
        Some(event) => check_event(event)?.to_string(),
        None => request.event(),
    };
    let symbols = Symbols::new(session.image, module);
    let names = Names {
        arch: session.image.arch,
        symbols: &symbols,
    };
    let mut all = Definitions::default();
    // All probes of an event have the types of its first.
    let mut kinds: Option<Vec<String>> = None;
    let locations = find::locations(session, &request.target)?;
    let is_gone = |location: &Location<'_>| symbols.is_gone(location.moment.0);
    let any_stays = locations.iter().any(|location| !is_gone(location));
    for location in locations {
        if any_stays && is_gone(&location) {
            all.gone += 1;
            continue;
        }
        let fetched = probe(session, &names, &location, request);
        let probe = fetched.and_then(|(place, fetched)| {
            session.boundaries().judge(location.moment.0)?;
            let own: Vec<_> = fetched.iter().map(|fetch| fetch.kind.clone()).collect();
            let first = kinds.get_or_insert_with(|| own.clone());
            let differs = first.iter().zip(&own).position(|(first, own)| first != own);
            match differs {
                Some(at) => Err(other_kind(request, at, first, &own)),
                None => Ok((place, fetched)),
            }
        });
        match probe {
            Ok((place, fetched)) => {
                let arguments = request.arguments.iter().zip(&fetched);
                let arguments: String = arguments
                    .map(|(argument, fetch)| {
                        format!(" {}={}:{}", argument.field(), fetch.text, fetch.kind)
                    })
                    .collect();
                all.lines.push(format!("p:{event} {place}{arguments}"));
            }
            Err(refusal) => {
                let place = symbols.code(location.moment.0, function_name(&location));
                let place = place.unwrap_or_else(|_| format!("{:#x}", location.moment.0));
                all.refused.push(format!("{place}: {refusal}"));
            }
        }
    }
    Ok(all)
}

fn other_kind(request: &Request, at: usize, first: &[String], own: &[String]) -> Refusal {
    let name = request.arguments.get(at).map(Expression::field);
    let kind = |kinds: &[String]| kinds.get(at).cloned().unwrap_or_default();
    Refusal::new(format!(
        "{} is {} here and {} at the first location, and the probes of an event have equal types: give it one",
        name.unwrap_or_default(),
        kind(own),
        kind(first)
    ))
}

fn function_name<'s>(location: &Location<'s>) -> Option<&'s str> {
    location.scopes.all.first().and_then(|scope| scope.name)
}

/// The location of one probe and what it fetches.
fn probe<'s>(
    session: &Session<'s>,
    names: &Names<'_, '_>,
    location: &Location<'s>,
    request: &Request,
) -> Result<(String, Vec<Fetch>)> {
    let place = names
        .symbols
        .code(location.moment.0, function_name(location))?;
    if !request.shared {
        location.check()?;
    }
    let arguments = request.arguments.iter();
    let fetched: Result<Vec<_>> = arguments
        .map(|argument| variable::fetch(session, names, location, argument))
        .collect();
    Ok((place, fetched?))
}

/// Refuses a name that ferroprobe would.
fn check_event(event: &str) -> Result<&str> {
    let (group, name) = match event.split_once(['/', '.']) {
        Some((group, name)) => (Some(group), name),
        None => (None, event),
    };
    let is_name = |text: &str, also: &str| {
        (1..=LONGEST_NAME).contains(&text.len())
            && !text.starts_with(|c: char| c.is_ascii_digit())
            && text
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '_' || also.contains(c))
    };
    if !is_name(name, "") || group.is_some_and(|group| !is_name(group, "-")) {
        refuse!("{event:?} is no name of an event: write [GROUP/]NAME, of letters, digits and _");
    }
    Ok(event)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_get_names_of_their_own() {
        let request = Request::parse("f:3 a->n b->n n").expect("a request");
        let names: Vec<_> = request.arguments.iter().map(Expression::field).collect();
        assert_eq!(names, ["n", "n_2", "n_3"]);
        assert!(Request::parse("f:3 x=a x=b").is_err());
        assert!(Request::parse(" ").is_err());
    }

    #[test]
    fn events_are_named_after_their_target() {
        let event = |text| Request::parse(text).expect("a request").event();
        assert_eq!(event("vfs_read"), "vfs_read");
        assert_eq!(event("vfs_read:5"), "vfs_read_L5");
        assert_eq!(event("get%inlined"), "get");
        assert_eq!(event("fs/read-write.c:12"), "read_write_c_L12");
        assert_eq!(event("8021q.c:12"), "_8021q_c_L12");
    }

    #[test]
    fn names_of_events_are_checked() {
        for event in ["a", "g/a", "my-group/a_1", "g.a"] {
            assert!(check_event(event).is_ok(), "{event}");
        }
        for event in ["", "1a", "a-b", "g/", "/a", "a b", "g/a/b"] {
            assert!(check_event(event).is_err(), "{event}");
        }
    }
}
