// SPDX-License-Identifier: GPL-2.0

//! From what the user wrote to locations: addresses, each in the code of a function.

use super::table::Row;
use crate::error::{Refusal, Result};
use crate::index::Site;
use crate::place::loclist::Moment;
use crate::refuse;
use crate::scope::{Kind, Line, Scopes};
use crate::session::{Session, Source};
use crate::target::{path_matches, At, Target};
use ferroprobe_engine::engine::refusal::suggest::distance::Nearest;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::rc::Rc;

/// A location of a probe.
pub struct Location<'s> {
    /// The unit.
    pub source: Rc<Source<'s>>,
    /// The scopes of the function whose code it is.
    pub scopes: Rc<Scopes<'s>>,
    /// The scope of the function in whose text the line is, `None` if there is none any more.
    pub owner: Option<usize>,
    /// The address, and the view of the line there.
    pub moment: Moment,
    /// The line that is about to run.
    pub line: Option<Line>,
    /// The line to which jumps to the address go, and not to this one, as `FILE:LINE`.
    pub shared_with: Option<String>,
    /// Whether jumps may lead to a later row of the address, so that only what holds there too is
    /// certain.
    pub is_jumped_over: bool,
    /// The line whose branch comes behind the address, though the line began before, as
    /// `FILE:LINE`.
    pub guarded_by: Option<String>,
}

impl Location<'_> {
    /// Whether it is the beginning of an inlined function whose code the instruction there is: who
    /// comes there runs the function.
    fn is_inlined_code(&self) -> Result<bool> {
        let Some(owner) = self.owner else {
            return Ok(false);
        };
        let scope = self.scopes.get(owner)?;
        Ok(scope.kind == Kind::Inlined
            && scope.start == Some(self.moment)
            && scope.contains(self.moment.0))
    }

    /// Refuses a location that is reached without its line.
    pub fn check(&self) -> Result<()> {
        if let Some(line) = &self.shared_with {
            refuse!("{line} begins at this address too, and jumps may lead there without this line: take that one, or --shared");
        }
        if let Some(line) = &self.guarded_by {
            refuse!("the branch of {line} is behind this address, so that the line is hit whether it is run or not: take {line}, or --shared");
        }
        Ok(())
    }

    /// Whether it is the first instruction of the function whose code it is.
    pub fn is_entry(&self) -> bool {
        let function = self.scopes.all.first();
        let start = function.and_then(|function| function.start);
        start.is_some_and(|(start, _)| start == self.moment.0)
    }
}

/// A function with code: its own, or where it is inlined.
pub struct Function<'s> {
    /// Its name.
    pub name: String,
    /// The path of the file that defines it.
    pub path: String,
    /// The line on which it is defined.
    pub line: u32,
    /// Its code.
    pub instances: Vec<Instance<'s>>,
}

/// Code of a function.
pub struct Instance<'s> {
    /// The unit.
    pub source: Rc<Source<'s>>,
    /// The scopes of the function that it is in.
    pub scopes: Rc<Scopes<'s>>,
    /// Which of the scopes it is.
    pub scope: usize,
}

impl<'s> Instance<'s> {
    /// The location of a row of it.
    fn at_row(&self, row: &Row) -> Location<'s> {
        at_row(&self.source, &self.scopes, Some(self.scope), row)
    }
}

/// The function `name`, of a file whose path ends with `file`.
pub fn function<'s>(session: &Session<'s>, name: &str, file: Option<&str>) -> Result<Function<'s>> {
    let mut found: BTreeMap<(String, u32), Vec<Instance<'s>>> = BTreeMap::new();
    for site in session.index.function(name) {
        let source = session.source(site.unit)?;
        let scopes = session.scopes(site)?;
        for (at, scope) in scopes.all.iter().enumerate() {
            let Some(declared) = scope.declared.filter(|_| scope.name == Some(name)) else {
                continue;
            };
            let path = source.path(declared.file);
            if !scope.is_function() || file.is_some_and(|file| !path_matches(path, file)) {
                continue;
            }
            let key = (path.to_string(), declared.line);
            found.entry(key).or_default().push(Instance {
                source: source.clone(),
                scopes: scopes.clone(),
                scope: at,
            });
        }
    }
    let mut found = found.into_iter();
    let Some(((path, line), instances)) = found.next() else {
        return Err(unknown(session, name, file));
    };
    let others: Vec<_> = found.map(|((path, _), _)| path).collect();
    if let Some(other) = others.first() {
        refuse!(
            "{} functions are called {name}: write {name}@{path}, {name}@{other}{}",
            others.len() + 1,
            if others.len() > 1 {
                " or one of the others"
            } else {
                ""
            }
        );
    }
    Ok(Function {
        name: name.into(),
        path,
        line,
        instances,
    })
}

fn unknown(session: &Session<'_>, name: &str, file: Option<&str>) -> Refusal {
    if let Some(file) = file {
        return Refusal::new(format!("no function {name} of a file {file} has code"));
    }
    let mut nearest = Nearest::to_wrong_symbol(name.as_bytes());
    for other in session.index.functions() {
        nearest.consider_symbol(other.as_bytes());
    }
    let hint = match nearest.is_none() {
        true => {
            "the compiler removed it, or it is a macro or a function of a module (--module)".into()
        }
        false => format!("did you mean {nearest}?"),
    };
    Refusal::new(format!("no function {name} has code: {hint}"))
}

/// The rows of an instance on which statements of its own text begin.
///
/// The line that the function is defined on is its entry, and nothing else, as for `perf probe`; the
/// rest of a function that is inlined in two parts has none. A line that has no rows, but calls a function that is inlined, begins where that does.
pub fn rows<'s>(session: &Session<'s>, instance: &Instance<'s>) -> Vec<Row> {
    let Instance {
        source,
        scopes,
        scope: at,
    } = instance;
    let Some(scope) = scopes.all.get(*at) else {
        return Vec::new();
    };
    let row = |moment: Option<Moment>, line: Option<Line>| {
        let ((address, view), line) = moment.zip(line)?;
        Some(Row {
            address,
            view,
            file: line.file,
            line: line.line,
            is_statement: true,
        })
    };
    let start = scope.start.filter(|_| !scopes.is_rest(*at));
    let mut found: Vec<Row> = row(start, scope.declared).into_iter().collect();
    let rows = source.table.rows.iter().filter(|row| {
        row.is_statement
            && scope.contains(row.address)
            && scope
                .declared
                .is_none_or(|declared| declared.line != row.line)
            && session.owner(source, scopes, row) == Some(*at)
    });
    found.extend(rows.copied());
    let declared = scope.declared.iter().map(|declared| declared.line);
    let lines: BTreeSet<u32> = found.iter().map(|row| row.line).chain(declared).collect();
    let own_file = scope.declared.map(|declared| declared.file);
    let inlined = scopes.all.iter().filter(|inner| {
        let called = inner.called.filter(|called| Some(called.file) == own_file);
        inner
            .parent
            .is_some_and(|parent| scopes.function_of(parent) == *at)
            && called.is_some_and(|called| !lines.contains(&called.line))
    });
    found.extend(inlined.filter_map(|inner| row(inner.start, inner.called)));
    found
}

/// All locations of a target, by address.
pub fn locations<'s>(session: &Session<'s>, target: &Target) -> Result<Vec<Location<'s>>> {
    let mut found = match target {
        Target::Function { name, file, at } => {
            let function = function(session, name, file.as_deref())?;
            match at {
                At::Entry => entries(&function, Kind::Function)?,
                At::Inlined => entries(&function, Kind::Inlined)?,
                At::Line(offset) => on_line(session, &function, *offset)?,
            }
        }
        Target::File {
            file,
            line: Some(line),
        } => in_file(session, file, *line)?,
        Target::File { file, line: None } => {
            refuse!("{file}: a probe needs a line: write {file}:LINE")
        }
    };
    settle(session, &mut found)?;
    Ok(found)
}

/// All lines of a function, each with what `locations` of the line has.
pub fn by_line<'s>(
    session: &Session<'s>,
    function: &Function<'s>,
) -> Result<BTreeMap<u32, Vec<Location<'s>>>> {
    let mut lines: BTreeMap<u32, Vec<Location<'s>>> = BTreeMap::new();
    for instance in &function.instances {
        for row in rows(session, instance) {
            let locations = lines.entry(row.line).or_default();
            locations.push(instance.at_row(&row));
        }
    }
    for found in lines.values_mut() {
        settle(session, found)?;
    }
    Ok(lines)
}

/// Sorts locations of a line, and finds for each by what else it is reached.
fn settle<'s>(session: &Session<'s>, found: &mut Vec<Location<'s>>) -> Result<()> {
    found.sort_by_key(|location| location.moment);
    found.dedup_by_key(|location| location.moment.0);
    for location in found {
        let source = location.source.clone();
        location.guarded_by = guard(session, location);
        let Some(row) = session.jumped_to(&source, &location.scopes, location.moment) else {
            continue;
        };
        let line = Some(Line {
            file: row.file,
            line: row.line,
        });
        if line == location.line {
            // The same line, which begins anew: what holds last holds for all who come.
            location.moment.1 = row.view;
            continue;
        }
        location.is_jumped_over = true;
        if !location.is_inlined_code()? {
            let name = source.path(row.file).rsplit('/').next().unwrap_or("?");
            location.shared_with = Some(format!("{name}:{}", row.line));
        }
    }
    Ok(())
}

/// The line whose branch decides whether the line of a location is run, though it comes later.
fn guard<'s>(session: &Session<'s>, location: &Location<'s>) -> Option<String> {
    let source = &location.source;
    let line = location.line?;
    let (address, view) = location.moment;
    let row = Row {
        address,
        view,
        file: line.file,
        line: line.line,
        is_statement: true,
    };
    // Functions are entered whatever their branches do.
    if location.is_entry() {
        return None;
    }
    let guard = session.guarded_by(source, &location.scopes, location.owner, &row)?;
    let name = source.path(guard.file).rsplit('/').next().unwrap_or("?");
    Some(format!("{name}:{}", guard.line))
}

/// Where a function is entered.
fn entries<'s>(function: &Function<'s>, kind: Kind) -> Result<Vec<Location<'s>>> {
    let mut found = Vec::new();
    for instance in &function.instances {
        let scope = instance.scopes.get(instance.scope)?;
        let is_wanted = scope.kind == kind && !instance.scopes.is_rest(instance.scope);
        let Some(moment) = scope.start.filter(|_| is_wanted) else {
            continue;
        };
        found.push(Location {
            source: instance.source.clone(),
            scopes: instance.scopes.clone(),
            owner: Some(instance.scope),
            moment,
            line: scope.declared,
            shared_with: None,
            is_jumped_over: false,
            guarded_by: None,
        });
    }
    let name = &function.name;
    match (found.is_empty(), kind) {
        (false, _) => Ok(found),
        (true, Kind::Inlined) => refuse!("{name} is inlined nowhere: write {name}"),
        (true, _) => {
            refuse!("{name} has no code of its own, it is always inlined: write {name}%inlined")
        }
    }
}

/// The location of a row, whose code is that of `owner`.
fn at_row<'s>(
    source: &Rc<Source<'s>>,
    scopes: &Rc<Scopes<'s>>,
    owner: Option<usize>,
    row: &Row,
) -> Location<'s> {
    Location {
        source: source.clone(),
        scopes: scopes.clone(),
        owner,
        moment: (row.address, row.view),
        line: Some(Line {
            file: row.file,
            line: row.line,
        }),
        shared_with: None,
        is_jumped_over: false,
        guarded_by: None,
    }
}

/// A line of a function, counted from the one that it is defined on.
fn on_line<'s>(
    session: &Session<'s>,
    function: &Function<'s>,
    offset: u32,
) -> Result<Vec<Location<'s>>> {
    let wanted = function.line.saturating_add(offset);
    let mut found = Vec::new();
    let mut others = BTreeSet::new();
    for instance in &function.instances {
        for row in rows(session, instance) {
            if row.line != wanted {
                others.insert(row.line);
                continue;
            }
            found.push(instance.at_row(&row));
        }
    }
    if found.is_empty() {
        let others: BTreeSet<u32> = others
            .iter()
            .filter_map(|line| line.checked_sub(function.line))
            .collect();
        refuse!(
            "{}:{offset}: no statement of this line has code{}",
            function.name,
            nearest(&others, offset)
        );
    }
    Ok(found)
}

/// A line of a file.
fn in_file<'s>(session: &Session<'s>, wanted: &str, line: u32) -> Result<Vec<Location<'s>>> {
    let path = file(session, wanted)?;
    let mut others = BTreeSet::new();
    let found = statements(session, &path, |other| {
        let is_wanted = other == line;
        if !is_wanted {
            others.insert(other);
        }
        is_wanted
    })?;
    if found.is_empty() {
        refuse!(
            "{wanted}:{line}: no statement of this line has code{}",
            nearest(&others, line)
        );
    }
    Ok(found)
}

/// Those lines of the file at `path`, each with what `locations` of the line has.
pub fn by_line_of_file<'s>(
    session: &Session<'s>,
    path: &str,
    wanted: RangeInclusive<u32>,
) -> Result<BTreeMap<u32, Vec<Location<'s>>>> {
    let mut lines: BTreeMap<u32, Vec<Location<'s>>> = BTreeMap::new();
    for location in statements(session, path, |line| wanted.contains(&line))? {
        if let Some(line) = location.line {
            lines.entry(line.line).or_default().push(location);
        }
    }
    for found in lines.values_mut() {
        settle(session, found)?;
    }
    Ok(lines)
}

/// The statements of the file at `path` on lines that are wanted.
fn statements<'s>(
    session: &Session<'s>,
    path: &str,
    mut is_wanted: impl FnMut(u32) -> bool,
) -> Result<Vec<Location<'s>>> {
    let mut found = Vec::new();
    for number in session.index.units_of_file(path) {
        let source = session.source(number)?;
        let rows = source.table.rows.iter().filter(|row| {
            row.is_statement && source.table.path(row.file) == Some(path) && is_wanted(row.line)
        });
        let rows: Vec<Row> = rows.copied().collect();
        if rows.is_empty() {
            continue;
        }
        let sites = functions_of(session, &source)?;
        for row in rows {
            let site = sites
                .iter()
                .find(|(start, end, _)| (*start..*end).contains(&row.address));
            let Some((_, _, entry)) = site else {
                continue;
            };
            let site = Site {
                unit: number,
                entry: *entry,
            };
            let scopes = session.scopes(site)?;
            let owner = session.owner(&source, &scopes, &row);
            found.push(at_row(&source, &scopes, owner, &row));
        }
    }
    Ok(found)
}

/// The functions with code of a unit: where it is, and their entries.
fn functions_of<'s>(session: &Session<'s>, source: &Source<'s>) -> Result<Vec<(u64, u64, u32)>> {
    let mut found = Vec::new();
    let mut tree = source.unit.entries_tree(None)?;
    let mut children = tree.root()?.children();
    while let Some(child) = children.next()? {
        let entry = child.entry();
        if entry.tag() != gimli::DW_TAG_subprogram {
            continue;
        }
        let mut ranges = session
            .debug
            .of(&source.unit)
            .die_ranges(&source.unit, entry)?;
        while let Some(range) = ranges.next()? {
            let entry = u32::try_from(entry.offset().0);
            let entry = entry.map_err(|_| Refusal::new("a unit of 4 GiB"))?;
            found.push((range.begin, range.end, entry));
        }
    }
    Ok(found)
}

/// The path of the only file with lines that ends with `wanted`.
pub fn file(session: &Session<'_>, wanted: &str) -> Result<String> {
    let files = session.index.files();
    let found: Vec<_> = files.filter(|path| path_matches(path, wanted)).collect();
    match found.as_slice() {
        [path] => Ok((*path).into()),
        [] => refuse!("no file {wanted} has lines with code"),
        [first, second, ..] => match found.iter().find(|path| **path == wanted) {
            Some(path) => Ok((*path).into()),
            None => refuse!(
                "{} files end with {wanted}: write more of its path, such as {first} or {second}",
                found.len()
            ),
        },
    }
}

/// The nearest lines that have code, in words.
fn nearest(lines: &BTreeSet<u32>, wanted: u32) -> String {
    let before = lines.range(..wanted).next_back();
    let behind = lines.range(wanted..).next();
    match (before, behind) {
        (Some(before), Some(behind)) => {
            format!(": the nearest that have are {before} and {behind}")
        }
        (Some(line), None) | (None, Some(line)) => format!(": the nearest that has is {line}"),
        (None, None) => String::new(),
    }
}
