// SPDX-License-Identifier: GPL-2.0

//! Where a variable is at a location of a probe, as far as that is certain.

use super::variable::Variable;
use crate::debug::{attribute, inherited, unsigned, Debug, Unit};
use crate::error::Result;
use crate::lines::find::Location;
use crate::place::eval::{self, Context};
use crate::place::loclist::{self, Moment, Rows};
use crate::place::{Base, Number, Place, Sum};
use crate::refuse;
use crate::scope::{Kind as ScopeKind, Scope};
use crate::session::Session;
use crate::types;
use gimli::{constants as dw, AttributeValue};

/// Where `variable` is at the location.
pub fn place<'s>(
    session: &Session<'s>,
    location: &Location<'s>,
    variable: &Variable<'s>,
) -> Result<Place> {
    let (debug, unit) = (session.debug, &location.source.unit);
    let entry = unit.entry(variable.entry)?;
    let found = loclist::Location::read(debug, unit, &entry)?;
    let moment = location.moment;
    let expression = match &found {
        loclist::Location::Constant(value) => {
            check_constant(unit, variable)?;
            return constant(*value);
        }
        found => found.at(moment, rows(location, variable, moment))?,
    };
    if matches!(found, loclist::Location::Listed(..)) {
        check_tracking(debug, unit)?;
    }
    let frame = Frame {
        session,
        location,
        function: location.scopes.get(0)?,
    };
    let context = Context {
        debug,
        unit,
        frame_base: &|| frame.base(),
        cfa: &|| session.frames()?.cfa(moment.0),
        at_entry: location.is_entry(),
    };
    let place = eval::run(&context, expression)?;
    if let (loclist::Location::Fixed(_), Place::Memory(address)) = (&found, &place) {
        frame.check_fixed(variable, address)?;
    }
    Ok(place)
}

/// Refuses a constant that need not hold everywhere: GCC calls so a variable that has one known
/// value, even if it has it, or any, only from some line on. A parameter has it from the beginning.
fn check_constant(unit: &Unit<'_>, variable: &Variable<'_>) -> Result<()> {
    let entry = unit.entry(variable.entry)?;
    let kind = inherited(unit, &entry, dw::DW_AT_type)?;
    let is_const = match kind {
        Some(AttributeValue::UnitRef(offset)) => types::is_const(unit, offset)?,
        _ => false,
    };
    if !is_const && !variable.is_parameter {
        refuse!("it is a constant somewhere in its block, and the compiler does not say where");
    }
    Ok(())
}

/// What is known of the rows at `moment`.
pub fn rows(location: &Location<'_>, variable: &Variable<'_>, moment: Moment) -> Rows {
    let owner = location
        .owner
        .and_then(|owner| location.scopes.all.get(owner));
    let begins = owner.is_some_and(|owner| owner.start == Some(moment));
    let inlined = owner.is_some_and(|owner| owner.kind == ScopeKind::Inlined);
    let last = location.source.table.last_at(moment.0);
    Rows {
        is_last: last.is_none_or(|last| last.view <= moment.1),
        is_jumped_over: location.is_jumped_over,
        is_argument: variable.is_parameter && inlined && begins,
    }
}

/// Refuses what GCC says of variables if it has not followed their values.
fn check_tracking<'s>(debug: &Debug<'s>, unit: &Unit<'s>) -> Result<()> {
    const OPTION: &str = "-fno-var-tracking-assignments";

    let mut tree = unit.entries_tree(None)?;
    let root = tree.root()?;
    let producer = debug.text(unit, attribute(root.entry(), dw::DW_AT_producer)?);
    if producer.is_some_and(|producer| producer.contains(OPTION)) {
        refuse!("the file was compiled with {OPTION}, without which GCC loses track of variables");
    }
    Ok(())
}

/// The function whose code it is, for what is in its frame.
struct Frame<'a, 's> {
    session: &'a Session<'s>,
    location: &'a Location<'s>,
    function: &'a Scope<'s>,
}

impl Frame<'_, '_> {
    fn base(&self) -> Result<Sum> {
        let (debug, unit) = (self.session.debug, &self.location.source.unit);
        let entry = unit.entry(self.function.entry)?;
        let Some(AttributeValue::Exprloc(expression)) = attribute(&entry, dw::DW_AT_frame_base)?
        else {
            refuse!("the frame of the function is not described");
        };
        let context = Context {
            debug,
            unit,
            frame_base: &|| refuse!("damaged debug information: a frame base of itself"),
            cfa: &|| self.session.frames()?.cfa(self.location.moment.0),
            at_entry: false,
        };
        match eval::run(&context, expression)? {
            // A register of a frame base is the address itself.
            Place::Value(Number::Whole(sum)) | Place::Memory(sum) => Ok(sum),
            _ => refuse!("the frame of the function is described in an unknown way"),
        }
    }

    /// A variable that is always at one place has its value only after it was stored there.
    fn check_fixed(&self, variable: &Variable<'_>, address: &Sum) -> Result<()> {
        let in_frame = matches!(address.base, Some(Base::Register(_)));
        if !in_frame {
            return Ok(());
        }
        if !variable.is_parameter {
            let own_line = variable.declared.is_some() && variable.declared == self.location.line;
            if own_line {
                refuse!("its own line is about to run, so it has no value yet: take a later line");
            }
            return Ok(());
        }
        // What the caller has pushed is above the frame, and there from the beginning.
        let moment = self.location.moment;
        let frame = self.session.frames()?.cfa(moment.0)?;
        let above = frame.base == address.base && address.offset >= frame.offset;
        if above || self.is_behind_prologue(moment) {
            return Ok(());
        }
        refuse!("the function has not stored it in its place yet: take a later line");
    }

    /// Whether the moment is behind the second row of the function, where debuggers take the
    /// prologue to end.
    fn is_behind_prologue(&self, moment: Moment) -> bool {
        let Some((start, _)) = self.function.start else {
            return false;
        };
        if self.function.kind != ScopeKind::Function {
            return false;
        }
        let rows = self.location.source.table.rows.iter();
        let mut later = rows.filter(|row| {
            row.is_statement && row.address > start && self.function.contains(row.address)
        });
        later
            .next()
            .is_some_and(|second| moment.0 >= second.address)
    }
}

fn constant(value: crate::debug::Value<'_>) -> Result<Place> {
    let bytes = match value {
        AttributeValue::Block(block) => block.slice().to_vec(),
        AttributeValue::Sdata(value) => value.to_le_bytes().to_vec(),
        value => match unsigned(value) {
            Some(value) => value.to_le_bytes().to_vec(),
            None => refuse!("it is a constant in an unknown form"),
        },
    };
    Ok(Place::Bytes(bytes))
}
