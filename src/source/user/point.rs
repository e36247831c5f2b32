// SPDX-License-Identifier: GPL-2.0

//! Static points of programs (USDT), by provider and name.

use super::{check_alignment, judge, no_symbols, Contents, InProgram, MAX_NAMED};
use crate::{
    engine::{
        code::elf::{points::ElfPoint, Elf, ElfError},
        definition::{
            ast::Definition,
            file_place::{FilePlace, PointName},
        },
        refusal::error::{Error as Refusal, Kind},
        util::text::Plain,
    },
    kapi::uprobe::ProgramFile,
    source::machine::MACHINE,
    sys::{AllocError, Vec},
};
use core::fmt;

/// Where a point of the wanted name is.
struct PointAt {
    offset: u64,
    counter: u64,
    arguments: Vec<u8>,
}

/// The points of the wanted name, and others of the file.
struct PointSearch<'a> {
    name: &'a PointName,
    found: Vec<PointAt>,
    /// The first points of other names, each as `PROVIDER:NAME`.
    others: Vec<Vec<u8>>,
}

impl PointSearch<'_> {
    /// Looks at a point. Returns false if no more are needed.
    fn look(&mut self, point: &ElfPoint<'_>) -> Result<bool, AllocError> {
        let is_wanted = point.provider == &*self.name.provider && point.name == &*self.name.name;
        if !is_wanted {
            self.note(point)?;
            return Ok(true);
        }
        let mut arguments: Vec<u8> = Vec::new();
        arguments.extend_from_slice(point.arguments)?;
        self.found.push(PointAt {
            offset: point.offset,
            counter: point.counter,
            arguments,
        })?;
        Ok(self.found.len() <= MAX_NAMED)
    }

    /// Notes another point, to name it in a refusal.
    fn note(&mut self, point: &ElfPoint<'_>) -> Result<(), AllocError> {
        if self.others.len() > MAX_NAMED {
            return Ok(());
        }
        let mut name: Vec<u8> = Vec::new();
        name.extend_from_slice(point.provider)?;
        name.push(b':')?;
        name.extend_from_slice(point.name)?;
        if !self.others.iter().any(|other| **other == *name) {
            self.others.push(name)?;
        }
        Ok(())
    }
}

/// Finds and judges the static point `name` of `program`.
///
/// # Errors
///
/// `NO_FILE_SYMBOL` if the file has no such point, or no notes that can be read; `NON_UNIQ_SYMBOL`
/// if it has several; the errors of [`judge`]; `NO_MEMORY`.
#[inline(never)]
pub(super) fn find(
    definition: &Definition,
    (place, name): (&FilePlace, &PointName),
    program: ProgramFile,
) -> Result<InProgram, Refusal> {
    let at = definition.place_at;
    let (offset, counter, arguments) = {
        let contents = Contents(&program);
        let unreadable = |error: ElfError| no_symbols(place, error, at);
        let elf = Elf::open(&contents, MACHINE.arch).map_err(unreadable)?;
        let PointAt {
            offset,
            counter,
            arguments,
        } = only(&elf, (place, name), at)?;
        check_alignment(offset, at)?;
        if let Some(symbol) = elf.function_at(offset).map_err(unreadable)? {
            judge(definition, &elf, (&symbol, offset), &contents)?;
        }
        (offset, counter, arguments)
    };
    Ok(InProgram {
        program,
        offset,
        counter,
        at_entry: false,
        arguments: Some(arguments),
    })
}

/// Returns the one point of that name.
fn only(
    elf: &Elf<'_>,
    (place, name): (&FilePlace, &PointName),
    at: usize,
) -> Result<PointAt, Refusal> {
    let mut search = PointSearch {
        name,
        found: Vec::new(),
        others: Vec::new(),
    };
    let mut result = Ok(true);
    elf.each_point(&mut |point| {
        result = search.look(point);
        matches!(result, Ok(true))
    })
    .map_err(|error| no_symbols(place, error, at))?;
    result?;
    let PointSearch {
        mut found, others, ..
    } = search;
    match found.len() {
        1 => found.pop().ok_or(Refusal::new(Kind::NoMemory, at)),
        0 => Err(none((place, name), &others, at)),
        _ => Err(several(&found, at)),
    }
}

/// Returns the refusal of a point that the file does not have.
#[cold]
#[inline(never)]
fn none((place, name): (&FilePlace, &PointName), others: &[Vec<u8>], at: usize) -> Refusal {
    let (path, provider, name) = (Plain(&place.path), Plain(&name.provider), Plain(&name.name));
    let refusal = Refusal::new(Kind::NoFileSymbol, at);
    match others {
        [] => refusal.with_detail(format_args!("{path} has no static points")),
        others => refusal.with_detail(format_args!(
            "{path} has no static point {provider}:{name}; it has {}",
            OtherPoints(others)
        )),
    }
}

/// Displays the names of points.
struct OtherPoints<'a>(&'a [Vec<u8>]);

impl fmt::Display for OtherPoints<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, name) in self.0.iter().take(MAX_NAMED).enumerate() {
            let before = if n == 0 { "" } else { ", " };
            write!(f, "{before}{}", Plain(name))?;
        }
        f.write_str(if self.0.len() > MAX_NAMED { " ..." } else { "" })
    }
}

/// Returns the refusal of a name that several points have.
#[cold]
#[inline(never)]
fn several(found: &[PointAt], at: usize) -> Refusal {
    Refusal::new(Kind::NonUniqSymbol, at)
        .with_detail(format_args!("write PATH:OFFSET:{}", PointOffsets(found)))
}

/// Displays the locations of points, each behind a blank, as they are written behind `PATH:`.
struct PointOffsets<'a>(&'a [PointAt]);

impl fmt::Display for PointOffsets<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for PointAt {
            offset, counter, ..
        } in self.0.iter().take(MAX_NAMED)
        {
            write!(f, " {offset:#x}")?;
            if *counter != 0 {
                write!(f, "({counter:#x})")?;
            }
        }
        f.write_str(if self.0.len() > MAX_NAMED { " ..." } else { "" })
    }
}
