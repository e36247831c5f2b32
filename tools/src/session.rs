// SPDX-License-Identifier: GPL-2.0

//! What one call works with: a file, its debug information, and what was read of it so far.

use crate::arrivals::Arrivals;
use crate::boundary::Boundaries;
use crate::debug::{Debug, Unit};
use crate::error::{Refusal, Result};
use crate::image::Image;
use crate::index::cache::Bytes;
use crate::index::{Index, Site};
use crate::lines::table::{LineTable, Row};
use crate::place::cfa::Frames;
use crate::place::loclist::Moment;
use crate::scope::{Line, Scopes};
use gimli::UnitOffset;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// A unit and its lines.
pub struct Source<'s> {
    /// Its number in the index.
    pub number: u32,
    /// Its entries.
    pub unit: Unit<'s>,
    /// Its lines.
    pub table: LineTable,
}

impl Source<'_> {
    /// The path of a file of the unit.
    pub fn path(&self, file: u64) -> &str {
        self.table.path(file).unwrap_or("?")
    }
}

/// A file with its debug information.
pub struct Session<'s> {
    /// The file.
    pub image: &'s Image<'s>,
    /// Its debug information.
    pub debug: &'s Debug<'s>,
    /// Its index.
    pub index: Index<Bytes>,
    sources: RefCell<HashMap<u32, Rc<Source<'s>>>>,
    functions: RefCell<HashMap<Site, Rc<Scopes<'s>>>>,
    declarations: RefCell<HashMap<String, Rc<Vec<u32>>>>,
    frames: OnceCell<Frames<'s>>,
    boundaries: OnceCell<Boundaries<'s, 's>>,
    arrivals: Arrivals<'s, 's>,
}

impl<'s> Session<'s> {
    /// A session on `image`.
    pub fn new(image: &'s Image<'s>, debug: &'s Debug<'s>, index: Index<Bytes>) -> Self {
        Self {
            image,
            debug,
            index,
            sources: RefCell::default(),
            functions: RefCell::default(),
            declarations: RefCell::default(),
            frames: OnceCell::new(),
            boundaries: OnceCell::new(),
            arrivals: Arrivals::new(image),
        }
    }

    /// The unit of a number.
    pub fn source(&self, number: u32) -> Result<Rc<Source<'s>>> {
        if let Some(known) = self.sources.borrow().get(&number) {
            return Ok(known.clone());
        }
        let offset = self.index.unit(number);
        let offset = offset.ok_or_else(|| {
            Refusal::new("the index is of another file: remove it from ~/.cache/ferroprobe/index")
        })?;
        let unit = self.debug.unit(offset)?;
        let table = LineTable::read(self.debug, &unit)?;
        let table = table.ok_or_else(|| Refusal::new("a source file without a line table"))?;
        let source = Rc::new(Source {
            number,
            unit,
            table,
        });
        self.sources.borrow_mut().insert(number, source.clone());
        Ok(source)
    }

    /// The scopes of the function at `site`.
    pub fn scopes(&self, site: Site) -> Result<Rc<Scopes<'s>>> {
        if let Some(known) = self.functions.borrow().get(&site) {
            return Ok(known.clone());
        }
        let source = self.source(site.unit)?;
        let entry = UnitOffset(site.entry as usize);
        let scopes = Rc::new(Scopes::read(self.debug, &source.unit, entry)?);
        self.functions.borrow_mut().insert(site, scopes.clone());
        Ok(scopes)
    }

    /// The row that begins last at the address of `moment`, if it is another one and jumps may lead
    /// there: they go to that row, and not through the one of `moment`.
    pub fn jumped_to<'t>(
        &self,
        source: &'t Source<'s>,
        scopes: &Scopes<'s>,
        moment: Moment,
    ) -> Option<&'t Row> {
        let last = source.table.last_at(moment.0)?;
        let function = scopes.all.first()?;
        let is_other = last.view > moment.1;
        (is_other && self.arrivals.is_target(&function.ranges, moment.0)).then_some(last)
    }

    /// The statement that may go elsewhere once the one of `row` has begun: compilers move what a
    /// branch guards in front of the branch.
    ///
    /// Of code that goes straight up to a branch, it is the statement of the branch, if that began
    /// before, and no other one of its line did since. A statement of a function that is inlined
    /// there is a part of what the branch tests; `owner` is the scope of the function whose text
    /// the row is.
    pub fn guarded_by<'t>(
        &self,
        source: &'t Source<'s>,
        scopes: &Scopes<'s>,
        owner: Option<usize>,
        row: &Row,
    ) -> Option<&'t Row> {
        let function = scopes.all.first()?;
        let straight = self.arrivals.straight(&function.ranges, row.address);
        let (start, exit) = match straight {
            Some(straight) if straight.branches => (straight.start, straight.exit),
            Some(_) => return None,
            // Without code, what follows at the address may be a branch.
            None => (row.address, row.address),
        };
        let rows = source.table.between(start, exit);
        let branch = rows.last()?;
        let same_line = |other: &Row| (other.file, other.line) == (branch.file, branch.line);
        let began = rows
            .iter()
            .rfind(|other| other.is_statement && same_line(other))?;
        let is_before = (began.address, began.view) < (row.address, row.view);
        let is_other = (row.file, row.line) != (branch.file, branch.line);
        let is_called_there = scopes.outwards(owner).any(|scope| {
            scope
                .called
                .is_some_and(|called| (called.file, called.line) == (branch.file, branch.line))
        });
        (is_before && is_other && !is_called_there).then_some(began)
    }

    /// The unwind tables.
    pub fn frames(&self) -> Result<&Frames<'s>> {
        if let Some(frames) = self.frames.get() {
            return Ok(frames);
        }
        let mut sections = self.image.sections.iter();
        let eh = sections.find(|section| section.name == ".eh_frame");
        let eh = eh.map_or(0, |section| section.address);
        let frames = Frames::read(self.debug, self.image.arch, eh)?;
        Ok(self.frames.get_or_init(|| frames))
    }

    /// ferroprobe's own judgement of locations.
    pub fn boundaries(&self) -> &Boundaries<'s, 's> {
        self.boundaries.get_or_init(|| Boundaries::new(self.image))
    }

    /// The line of the function in whose text `line` is: the last before it on which a function
    /// is defined. Functions of C do not nest.
    pub fn text_of(&self, source: &Source<'s>, line: Line) -> Option<Line> {
        let path = source.table.path(line.file)?;
        let declarations = self.declarations(path);
        let behind = declarations.partition_point(|start| *start <= line.line);
        let start = declarations.get(behind.checked_sub(1)?)?;
        Some(Line {
            file: line.file,
            line: *start,
        })
    }

    /// The lines of the file at `path` on which functions are defined, ascending.
    pub fn declarations(&self, path: &str) -> Rc<Vec<u32>> {
        if let Some(known) = self.declarations.borrow().get(path) {
            return known.clone();
        }
        let lines = Rc::new(self.index.declarations(path));
        self.declarations
            .borrow_mut()
            .insert(path.into(), lines.clone());
        lines
    }

    /// The function, of those whose code is at the address of `row`, in whose text the line of
    /// the row is: the innermost one, `None` if there is none.
    pub fn owner(&self, source: &Source<'s>, scopes: &Scopes<'s>, row: &Row) -> Option<usize> {
        let line = Line {
            file: row.file,
            line: row.line,
        };
        let text = self.text_of(source, line)?;
        let path = source.table.path(text.file)?;
        let mut functions = scopes.functions_at(row.address).into_iter();
        functions.find(|at| {
            let declared = scopes.all.get(*at).and_then(|scope| scope.declared);
            declared.is_some_and(|declared| {
                declared.line == text.line
                    && (declared.file == text.file
                        || source.table.path(declared.file) == Some(path))
            })
        })
    }
}
