// SPDX-License-Identifier: GPL-2.0

//! Makes the index: walks all entries and line tables once, on all CPUs.

use super::store::{self, FileRecord};
use super::Site;
use crate::debug::{unsigned, Debug, Unit};
use crate::error::{Refusal, Result};
use crate::lines::table::LineTable;
use gimli::{constants as dw, AttributeValue, UnitOffset};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// What is found, by name.
#[derive(Default)]
pub struct Found<'s> {
    functions: Vec<(&'s str, Site)>,
    files: BTreeMap<String, FileRecord>,
}

/// Makes the index of `debug`, and calls `progress` with the count of units that are done and
/// of all.
pub fn build(debug: &Debug<'_>, progress: &(dyn Fn(usize, usize) + Sync)) -> Result<Vec<u8>> {
    let units = debug.unit_offsets()?;
    let next = AtomicUsize::new(0);
    let work = || {
        let mut found = Found::default();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(offset) = units.get(at) else {
                return Ok(found);
            };
            let number = u32::try_from(at).map_err(|_| Refusal::new("too many units"))?;
            scan(debug, number, *offset, &mut found)?;
            progress(at + 1, units.len());
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let parts: Result<Vec<_>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| match thread.join() {
            Ok(part) => part,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        threads.into_iter().map(join).collect()
    });
    let mut all = Found::default();
    for part in parts? {
        all.functions.extend(part.functions);
        for (name, record) in part.files {
            let known = all.files.entry(name).or_default();
            known.units.extend(record.units);
            known.declarations.extend(record.declarations);
        }
    }
    all.functions.sort_unstable();
    all.functions.dedup();
    Ok(store::encode(&units, &all.functions, &all.files))
}

/// The function whose code the walk is in.
struct Outer {
    depth: isize,
    entry: u32,
}

/// Adds what one unit has.
fn scan<'s>(debug: &Debug<'s>, number: u32, offset: u64, found: &mut Found<'s>) -> Result<()> {
    let unit = debug.unit(offset)?;
    let mut names: HashMap<UnitOffset, &'s str> = HashMap::new();
    let mut instances: Vec<(UnitOffset, u32)> = Vec::new();
    let mut declarations: BTreeSet<(u64, u32)> = BTreeSet::new();
    let mut outer: Option<Outer> = None;
    let mut entries = unit.entries_raw(None)?;
    while !entries.is_empty() {
        let (offset, depth) = (entries.next_offset(), entries.next_depth());
        let Some(abbreviation) = entries.read_abbreviation()? else {
            continue;
        };
        if outer.as_ref().is_some_and(|outer| depth <= outer.depth) {
            outer = None;
        }
        let is_function = match abbreviation.tag() {
            dw::DW_TAG_subprogram => true,
            dw::DW_TAG_inlined_subroutine => false,
            _ => {
                entries.skip_attributes(abbreviation.attributes())?;
                continue;
            }
        };
        let mut function = Function::default();
        for specification in abbreviation.attributes() {
            function.take(debug, &unit, &entries.read_attribute(*specification)?);
        }
        let entry = u32::try_from(offset.0).map_err(|_| Refusal::new("a unit of 4 GiB"))?;
        if is_function {
            if let Some(name) = function.name {
                names.insert(offset, name);
            }
            if function.has_code {
                outer = Some(Outer { depth, entry });
                if let Some(name) = function.name {
                    found.functions.push((
                        name,
                        Site {
                            unit: number,
                            entry,
                        },
                    ));
                }
            }
            if let (false, Some(declared)) = (function.is_declaration, function.declared()) {
                declarations.insert(declared);
            }
        }
        if let (Some(origin), Some(outer)) = (function.origin, &outer) {
            instances.push((origin, outer.entry));
        }
    }
    add_instances(&names, instances, number, found);
    scan_lines(debug, &unit, number, &declarations, found)
}

/// Adds the functions of which code is in others, by their abstract entries.
fn add_instances<'s>(
    names: &HashMap<UnitOffset, &'s str>,
    mut instances: Vec<(UnitOffset, u32)>,
    number: u32,
    found: &mut Found<'s>,
) {
    instances.sort_unstable_by_key(|(origin, entry)| (origin.0, *entry));
    instances.dedup();
    for (origin, entry) in instances {
        if let Some(name) = names.get(&origin) {
            found.functions.push((
                name,
                Site {
                    unit: number,
                    entry,
                },
            ));
        }
    }
}

/// Adds the files that the unit has lines of, and the functions declared in them.
fn scan_lines<'s>(
    debug: &Debug<'s>,
    unit: &Unit<'s>,
    number: u32,
    declarations: &BTreeSet<(u64, u32)>,
    found: &mut Found<'s>,
) -> Result<()> {
    let Some(table) = LineTable::read(debug, unit)? else {
        return Ok(());
    };
    let with_lines: BTreeSet<u64> = table.rows.iter().map(|row| row.file).collect();
    for file in with_lines {
        if let Some(name) = table.path(file) {
            let record = found.files.entry(name.into()).or_default();
            record.units.insert(number);
        }
    }
    for (file, line) in declarations {
        if let Some(name) = table.path(*file) {
            let record = found.files.entry(name.into()).or_default();
            record.declarations.insert(*line);
        }
    }
    Ok(())
}

/// What is read of the entry of a function or of an inlined instance.
#[derive(Default)]
struct Function<'s> {
    name: Option<&'s str>,
    origin: Option<UnitOffset>,
    has_code: bool,
    is_declaration: bool,
    file: Option<u64>,
    line: Option<u64>,
}

impl<'s> Function<'s> {
    fn take(
        &mut self,
        debug: &Debug<'s>,
        unit: &Unit<'s>,
        attribute: &gimli::Attribute<crate::debug::Slice<'s>>,
    ) {
        match attribute.name() {
            dw::DW_AT_name => self.name = debug.text(unit, Some(attribute.value())),
            dw::DW_AT_abstract_origin | dw::DW_AT_specification => {
                self.origin = match attribute.value() {
                    AttributeValue::UnitRef(offset) => Some(offset),
                    AttributeValue::DebugInfoRef(offset) => offset.to_unit_offset(&unit.header),
                    _ => None,
                }
            }
            dw::DW_AT_low_pc | dw::DW_AT_ranges => self.has_code = true,
            dw::DW_AT_declaration => self.is_declaration = true,
            dw::DW_AT_decl_file => self.file = unsigned(attribute.value()),
            dw::DW_AT_decl_line => self.line = unsigned(attribute.value()),
            _ => {}
        }
    }

    fn declared(&self) -> Option<(u64, u32)> {
        Some((self.file?, u32::try_from(self.line?).ok()?))
    }
}
