// SPDX-License-Identifier: GPL-2.0

//! Fields of other events as arguments of an attached probe.
//!
//! A field of the event that causes the hit is in the register with its index, a field of the event
//! that began a pair in a register from [`FIRST_BEGUN`] on. For a text, the register has its
//! address.

use crate::engine::definition::ast::{Argument, Definition, Origin, PairSide, Step, StepKind};
use crate::engine::definition::parse::BEGIN;
use crate::engine::definition::task::{self, TaskNumber};
use crate::engine::language::lex::Span;
use crate::engine::language::types::Type;
use crate::engine::pairs::{MAX_PAIR_WORDS, PAIR_TEXT_WORDS};
use crate::engine::record::{Field, Layout};
use crate::engine::refusal::error::{Error, Kind};
use crate::engine::refusal::suggest::suggest;
use crate::sys::Vec;

/// Maximum number of texts of the other event that one probe's arguments can name. They are copied
/// at each hit of the other event.
pub const MAX_TEXTS: usize = 4;

/// The register of a beginning's first value.
pub const FIRST_BEGUN: u8 = 128;

/// The register of the duration of a pair, in nanoseconds.
pub const PAIR_DURATION: u8 = 255;

/// The fields that a probe takes from the events it is attached to.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Indices of the texts of the event that causes the hit.
    pub texts: Vec<u8>,
    /// The fields of the event that begins a pair.
    pub begun: Vec<BegunField>,
}

/// Size and sign of a number, in a byte: the number of bits that it lacks to 64, plus 1 if it is
/// signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldShape(u8);

impl FieldShape {
    /// Returns the size and the sign of a field of type `base`.
    pub fn of(base: Type) -> Self {
        let unused = 64u8.wrapping_sub(base.size().wrapping_mul(8));
        Self(unused | u8::from(base.is_signed()))
    }

    /// Returns whether it has a sign.
    pub fn is_signed(self) -> bool {
        self.0 & 1 != 0
    }

    /// Truncates `value` to the field's size, and sign-extends it if the field is signed.
    ///
    /// Context: any.
    #[inline(always)]
    pub fn cut(self, value: u64) -> u64 {
        let unused = u32::from(self.0 & !1);
        if unused == 0 {
            return value;
        }
        let high = value.wrapping_shl(unused);
        match self.is_signed() {
            // CAST: Extends the sign.
            true => (high as i64).wrapping_shr(unused) as u64,
            false => high.wrapping_shr(unused),
        }
    }
}

/// A field of the event that begins a pair, or what its task has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BegunField {
    /// Its index, or what takes its place: [`task::PID`], [`task::TGID`] or [`task::COMM`].
    pub index: u8,
    /// Size and sign, of a number.
    pub shape: FieldShape,
    /// Whether it is a text.
    pub is_text: bool,
    /// How a number is shown: as the argument that uses it, or as in its own event.
    pub shown: Type,
    /// Index of its first word among a beginning's values.
    pub start: u8,
}

impl BegunField {
    /// Returns the number of its words.
    pub fn words(&self) -> usize {
        match self.is_text {
            true => PAIR_TEXT_WORDS,
            false => 1,
        }
    }
}

/// A key of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairKey {
    /// The field with this index, and its size and sign.
    Field(u8, FieldShape),
    /// `common_pid`.
    Pid,
    /// `common_cpu`.
    Cpu,
}

/// Resolves the fields that `definition` names: in `layout`, of the event that causes its hits, and
/// in `begin`, of the event that begins the pair.
///
/// # Errors
///
/// `BAD_ATTACH_ARG`; `TOO_MANY_ARGS` if there is not enough room; `NO_MEMORY`.
#[inline(never)]
pub fn attach(
    definition: &mut Definition,
    layout: &Layout,
    begin: Option<&Layout>,
) -> Result<Taken, Error> {
    let mut taken = Taken::default();
    for arg in definition.args.iter_mut() {
        resolve(arg, (layout, begin), &mut taken)?;
    }
    Ok(taken)
}

/// Turns `arg` into an argument that is fetched from a register.
fn resolve(
    arg: &mut Argument,
    (layout, begin): (&Layout, Option<&Layout>),
    taken: &mut Taken,
) -> Result<(), Error> {
    let Origin::Field(name) = &arg.expression.origin else {
        return Ok(());
    };
    let begun = name.strip_prefix(BEGIN).zip(begin);
    let (wanted, of) = begun.unwrap_or((name, layout));
    let mut fields = (0u8..=u8::MAX).zip(&of.fields);
    let found = fields.find(|(_, field)| *field.name == *wanted);
    let (index, base) = match (found, begun) {
        (Some((index, field)), _) => {
            check(arg, field, of.is_list(index))?;
            (index, field.base)
        }
        (None, Some(_)) => {
            let Some((index, base)) = of_beginning(wanted) else {
                return Err(no_field(arg, (wanted, true), of));
            };
            if !arg.spec.explicit {
                arg.spec.base = base;
            }
            (index, base)
        }
        (None, None) => {
            return match &**name {
                b"comm" | b"COMM" => comm(arg),
                b"duration" if begin.is_some() => duration(arg),
                name => match TaskNumber::named(name) {
                    Some(which) => of_task(arg, which),
                    None => Err(no_field(arg, (wanted, false), of)),
                },
            };
        }
    };
    let is_text = base.is_text();
    let register = match begun {
        Some(_) => left(arg, (index, base), taken)?,
        None => {
            if is_text {
                copied(arg, index, taken)?;
            }
            index
        }
    };
    arg.expression.origin = Origin::Register(register);
    if is_text && !arg.spec.explicit {
        arg.spec.base = Type::STRING;
    }
    if arg.spec.base.is_string() && arg.expression.steps.is_empty() {
        arg.expression.steps.push(Step {
            action: StepKind::Dereference {
                offset: 0,
                user: false,
            },
            at: arg.text_at,
        })?;
    }
    if is_text {
        // It is a copy in kernel memory, wherever the text was.
        in_kernel(arg);
    }
    Ok(())
}

/// What the task of a beginning has, by its names: what takes the place of an index, and its type.
const OF_BEGINNING: [(&[u8], u8, Type); 4] = [
    (b"common_pid", task::PID, Type::S32),
    (b"common_tgid", task::TGID, Type::S32),
    (b"common_comm", task::COMM, Type::STRING),
    (b"comm", task::COMM, Type::STRING),
];

fn of_beginning(name: &[u8]) -> Option<(u8, Type)> {
    let mut all = OF_BEGINNING.iter();
    all.find(|(known, ..)| *known == name)
        .map(|&(_, index, base)| (index, base))
}

/// Returns the name of what takes the place of an index in [`BegunField`].
pub fn name_of_beginning(index: u8) -> Option<&'static [u8]> {
    let mut all = OF_BEGINNING.iter();
    all.find(|(_, known, _)| *known == index)
        .map(|(name, ..)| *name)
}

/// Adds a text of the event that causes the hits to the copied ones.
fn copied(arg: &Argument, index: u8, taken: &mut Taken) -> Result<(), Error> {
    if taken.texts.contains(&index) {
        return Ok(());
    }
    if taken.texts.len() >= MAX_TEXTS {
        let refusal = Error::new(Kind::TooManyArgs, arg.at);
        return Err(refusal.with_detail(format_args!("at most {MAX_TEXTS} texts of an event")));
    }
    Ok(taken.texts.push(index)?)
}

/// Adds a field of type `base` to the values of the pair's beginning. Returns its register.
fn left(arg: &Argument, (index, base): (u8, Type), taken: &mut Taken) -> Result<u8, Error> {
    let register = |n: usize| FIRST_BEGUN.saturating_add(u8::try_from(n).unwrap_or(u8::MAX));
    let is_whole = arg.expression.steps.is_empty() && arg.spec.explicit;
    let shown = Some(arg.spec.base).filter(|base| is_whole && base.is_number());
    let mut known = taken.begun.iter();
    if let Some(n) = known.position(|begun| begun.index == index) {
        return Ok(register(n));
    }
    let words = taken.begun.iter().map(BegunField::words);
    let start = words.fold(0, usize::saturating_add);
    let begun = BegunField {
        index,
        shape: FieldShape::of(base),
        is_text: base.is_text(),
        shown: shown.unwrap_or(base),
        start: u8::try_from(start).unwrap_or(u8::MAX),
    };
    if start.saturating_add(begun.words()) > MAX_PAIR_WORDS {
        let refusal = Error::new(Kind::TooManyArgs, arg.at);
        return Err(refusal.with_detail(format_args!(
            "a beginning leaves at most {MAX_PAIR_WORDS} numbers; a text takes the room of \
             {PAIR_TEXT_WORDS}"
        )));
    }
    taken.begun.push(begun)?;
    Ok(register(taken.begun.len().saturating_sub(1)))
}

/// Resolves the keys of `side` in `layout`, of its event.
///
/// # Errors
///
/// `BAD_ATTACH_ARG`; `NO_MEMORY`.
pub fn pair_keys(side: &PairSide, layout: &Layout) -> Result<Vec<PairKey>, Error> {
    let mut keys = Vec::new();
    // The column behind the parenthesis.
    let names = side.group.len().saturating_add(side.event.len());
    let mut at = side.at.saturating_add(names).saturating_add(2);
    for name in &side.keys {
        keys.push(key(Span { bytes: name, at }, layout)?)?;
        at = at.saturating_add(name.len()).saturating_add(1);
    }
    Ok(keys)
}

fn key(name: Span<'_>, layout: &Layout) -> Result<PairKey, Error> {
    let mut fields = (0u8..=u8::MAX).zip(&layout.fields);
    if let Some((index, field)) = fields.find(|(_, field)| *field.name == *name.bytes) {
        if field.count.is_some() || field.base.is_text() {
            let refusal = name.error(Kind::BadAttachArg);
            return Err(refusal.with_detail(format_args!("a key is a number")));
        }
        let shape = FieldShape::of(field.base);
        return Ok(PairKey::Field(index, shape));
    }
    match name.bytes {
        b"common_pid" => Ok(PairKey::Pid),
        b"common_cpu" => Ok(PairKey::Cpu),
        _ => Err(suggest(
            name.error(Kind::BadAttachArg),
            name.bytes,
            |each| {
                layout.fields.iter().for_each(|field| each(&field.name));
                each(b"common_pid");
                each(b"common_cpu");
            },
        )),
    }
}

/// Makes `arg`, a text, read its copy.
fn in_kernel(arg: &mut Argument) {
    if arg.spec.base == Type::USER_STRING {
        arg.spec.base = Type::STRING;
    }
    if let Some(Step {
        action: StepKind::Dereference { user, .. },
        ..
    }) = arg.expression.steps.first_mut()
    {
        *user = false;
    }
}

/// Turns `arg` into the comm of the task.
fn comm(arg: &mut Argument) -> Result<(), Error> {
    if !arg.expression.steps.is_empty() {
        return Err(Error::new(Kind::CommCantDeref, arg.text_at));
    }
    if arg.spec.explicit && arg.spec.base != Type::STRING {
        return Err(Error::new(Kind::NeedStringType, arg.type_at));
    }
    arg.expression.origin = Origin::Comm;
    arg.spec.base = Type::STRING;
    Ok(())
}

/// Turns `arg` into a number of the task.
fn of_task(arg: &mut Argument, which: TaskNumber) -> Result<(), Error> {
    let why = which
        .why_missing()
        .or(match arg.expression.steps.is_empty() {
            true => None,
            false => Some(which.no_address()),
        });
    if let Some(why) = why {
        let refusal = Error::new(Kind::BadVar, arg.expression.source_at);
        return Err(refusal.with_detail(format_args!("{why}")));
    }
    arg.expression.origin = Origin::Task(which);
    if !arg.spec.explicit {
        arg.spec.base = which.base();
    }
    Ok(())
}

/// Turns `arg` into the duration of the pair.
fn duration(arg: &mut Argument) -> Result<(), Error> {
    if !arg.expression.steps.is_empty() {
        let refusal = Error::new(Kind::BadVar, arg.expression.source_at);
        return Err(refusal.with_detail(format_args!("a time is no address")));
    }
    arg.expression.origin = Origin::Register(PAIR_DURATION);
    Ok(())
}

/// Checks that `field` is a single value.
fn check(arg: &Argument, field: &Field, is_list: bool) -> Result<(), Error> {
    match field.count {
        None if field.base.is_structure() => {
            let refusal = Error::new(Kind::BadAttachArg, arg.expression.source_at);
            Err(refusal.with_detail(format_args!("a structure is no single value")))
        }
        None if !is_list => Ok(()),
        _ => {
            let refusal = Error::new(Kind::BadAttachArg, arg.expression.source_at);
            Err(refusal.with_detail(format_args!("an array is no single value")))
        }
    }
}

#[cold]
#[inline(never)]
fn no_field(arg: &Argument, (name, is_begun): (&[u8], bool), layout: &Layout) -> Error {
    let refusal = Error::new(Kind::BadAttachArg, arg.expression.source_at);
    suggest(refusal, name, |each| {
        layout.fields.iter().for_each(|field| each(&field.name));
        match is_begun {
            true => OF_BEGINNING.iter().for_each(|(name, ..)| each(name)),
            false => each(b"comm"),
        }
    })
}
