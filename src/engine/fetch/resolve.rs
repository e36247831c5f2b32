// SPDX-License-Identifier: GPL-2.0

//! What an argument's expression means: where its value comes from, the reads
//! that lead to what is recorded, and the type of that.

use super::{Compiler, Constant, Link, Origin, Store};
use crate::engine::arch::{Arch, ArgumentPlace};
use crate::engine::ast::{Action, Argument, Cast, Expression, Source, Step};
use crate::engine::btf::{Function, Value};
use crate::engine::error::{Errno, Error, Kind};
use crate::engine::lex::{self, Span};
use crate::engine::text::Plain;
use crate::engine::types::{Bits, PathOf, Type, Width};
use crate::sys::Vec;

/// An argument reduced to what a program needs.
pub(super) struct Shape {
    pub(super) origin: Origin,
    pub(super) links: Vec<Link>,
    pub(super) store: Store,
    pub(super) base: Type,
}

/// A value on its way from the source to what is recorded.
struct Walk<'a> {
    origin: Origin,
    links: Vec<Link>,
    /// What BTF knows about the value.
    value: Option<Value<'a>>,
    /// Set when the value is the address of this structure, of no declared
    /// pointer type.
    structure: Option<Value<'a>>,
    /// Offset and size in bits of the last member, if it is a bitfield.
    bits: Option<(u8, u8)>,
    /// Column of the last part looked at.
    at: usize,
}

impl<'b> Compiler<'_, 'b> {
    /// Reduces an argument to origin, links and store.
    pub(super) fn shape(&mut self, arg: &Argument) -> Result<Shape, Error> {
        if let Source::Text(text) = &arg.expression.source {
            return self.constant(arg, text);
        }
        let mut walk = self.source(&arg.expression)?;
        for step in &arg.expression.steps {
            self.step(&mut walk, step)?;
        }
        self.path(arg, &mut walk)?;
        let (base, bits) = recorded_type(arg, &mut walk)?;
        if walk.links.len() > super::MAX_LINKS {
            return Err(Error::new(Kind::TooManyOps, arg.text_at));
        }
        let Walk {
            origin, mut links, ..
        } = walk;
        let store = store(arg, base, bits, origin, &mut links)?;
        Ok(Shape {
            origin,
            links,
            store,
            base,
        })
    }

    /// Keeps the text of `\"..."` and its NUL.
    fn constant(&mut self, arg: &Argument, text: &[u8]) -> Result<Shape, Error> {
        let too_big = |_| Error::new(Kind::EventTooBig, arg.text_at);
        let start = u16::try_from(self.program.texts.len()).map_err(too_big)?;
        self.program.texts.extend_from_slice(text)?;
        self.program.texts.push(0)?;
        let len = u16::try_from(text.len().saturating_add(1)).map_err(too_big)?;
        let store = Store::Constant(Constant { start, len, at: 0 });
        let origin = Origin::Immediate(0);
        Ok(Shape {
            origin,
            links: Vec::new(),
            store,
            base: Type::String,
        })
    }

    /// The function whose entry or return is probed, if BTF knows it. Looked
    /// for once, as that takes a walk over all types.
    fn function(&mut self) -> Option<Function<'b>> {
        if let Some(known) = self.function {
            return known;
        }
        let name = self.target.function;
        let found = self
            .target
            .btf
            .zip(name)
            .and_then(|(btf, name)| btf.function(name));
        self.function = Some(found);
        found
    }

    fn source(&mut self, expression: &Expression) -> Result<Walk<'b>, Error> {
        let at = expression.source_at;
        let arch = self.target.arch;
        let (mut value, mut structure) = (None, None);
        let origin = match &expression.source {
            Source::Register(reg) => Origin::Register(*reg),
            Source::StackPointer => Origin::Register(arch.stack_register()),
            Source::Stack(n) => Origin::Stack(*n),
            Source::Argument(n) => self.function_argument(*n, at)?,
            Source::ReturnValue => {
                value = self.returned(at)?;
                Origin::Register(arch.return_register())
            }
            Source::Current => {
                let wanted = matches!(
                    expression.steps.first(),
                    Some(Step {
                        action: Action::Members(_),
                        ..
                    })
                );
                let btf = self.target.btf.filter(|_| wanted);
                structure = btf.and_then(|btf| btf.structure(b"task_struct"));
                Origin::Current
            }
            Source::Immediate(value) => Origin::Immediate(*value),
            Source::Symbol { name, offset } => match self.target.symbols.address(name) {
                Some(address) => Origin::Immediate(address.wrapping_add_signed(*offset)),
                None => {
                    let error = Error::new(Kind::NoDataSymbol, at);
                    return Err(error.with_detail(format_args!("{}", Plain(name))));
                }
            },
            Source::Name(name) => {
                let origin;
                (origin, value) = self.name(name, at)?;
                origin
            }
            Source::AllArguments => return Err(Error::new(Kind::NosupBtfarg, at)),
            Source::Comm | Source::Text(_) => return Err(Error::new(Kind::BadFetchArg, at)),
        };
        Ok(Walk {
            origin,
            links: Vec::new(),
            value,
            structure,
            bits: None,
            at,
        })
    }

    /// The type of the return value, if BTF knows it.
    fn returned(&mut self, at: usize) -> Result<Option<Value<'b>>, Error> {
        let Some(function) = self.function() else {
            return Ok(None);
        };
        match function.returned() {
            None => Err(Error::new(Kind::BadBtfTid, at)),
            Some(value) if value.is_void() => Err(Error::new(Kind::NoRetval, at)),
            value => Ok(value),
        }
    }

    /// Argument `n` of the function, counted from zero; a return probe saves
    /// it at entry.
    fn function_argument(&mut self, n: u16, at: usize) -> Result<Origin, Error> {
        let origin = match self.target.arch.argument(n) {
            ArgumentPlace::Register(reg) => Origin::Register(reg),
            ArgumentPlace::Stack(n) => Origin::Stack(n),
            ArgumentPlace::Zero => Origin::Immediate(0),
        };
        if !self.is_return {
            return match self.target.at_entry {
                true => Ok(origin),
                false => Err(Error::new(Kind::NofentryArgs, at)),
            };
        }
        let entry = &mut self.program.entry;
        let slot = match entry.iter().position(|saved| *saved == origin) {
            Some(slot) => slot,
            None => {
                entry.push(origin)?;
                entry.len().saturating_sub(1)
            }
        };
        let slot = u16::try_from(slot).map_err(|_| Error::new(Kind::BadArgNum, at))?;
        Ok(Origin::EntryData(slot))
    }

    /// A bare name: a parameter, or the dialect of 2009.
    fn name(&mut self, name: &[u8], at: usize) -> Result<(Origin, Option<Value<'b>>), Error> {
        let here = self.is_return || self.target.at_entry;
        let function = self.function();
        let mut n = 0u16;
        for parameter in function
            .filter(|_| here)
            .iter()
            .flat_map(|f| f.parameters())
        {
            if parameter.name == name {
                return Ok((self.function_argument(n, at)?, Some(parameter.value)));
            }
            n = n.saturating_add(1);
        }
        if let Some(origin) = self.dialect(name, at)? {
            return Ok((origin, None));
        }
        let any = function.is_some_and(|f| f.parameters().next().is_some());
        Err(Error::new(
            match (self.target.btf.is_some() && here, any) {
                (false, _) => Kind::NosupBtfarg,
                (true, false) => Kind::NoBtfEntry,
                (true, true) => Kind::NoBtfarg,
            },
            at,
        ))
    }

    /// A name of the dialect of 2009: `aN`, `sN`, `sa`, `rv`, `ra`, `rNAME`.
    fn dialect(&mut self, name: &[u8], at: usize) -> Result<Option<Origin>, Error> {
        let arch = self.target.arch;
        let number = |digits: &[u8]| lex::decimal(digits).and_then(|n| u16::try_from(n).ok());
        Ok(match name {
            b"rv" if self.is_return => Some(Origin::Register(arch.return_register())),
            b"rv" => return Err(Error::new(Kind::RetvalOnProbe, at)),
            b"ra" if self.is_return => Some(Origin::ReturnAddress),
            b"ra" if self.target.at_entry => Some(match arch {
                Arch::X86_64 => Origin::Stack(0),
                Arch::Arm64 => Origin::Register(30),
            }),
            b"sa" => Some(Origin::Register(arch.stack_register())),
            [b'a', digits @ ..] => match number(digits) {
                Some(n) => Some(self.function_argument(n, at)?),
                None => None,
            },
            [b's', digits @ ..] => number(digits).map(Origin::Stack),
            [b'r', register @ ..] => {
                let register = arch.register(register).or(arch.register(name));
                register.map(Origin::Register)
            }
            _ => None,
        })
    }

    fn step(&self, walk: &mut Walk<'b>, step: &Step) -> Result<(), Error> {
        walk.at = step.at;
        match &step.action {
            Action::Dereference { offset, user } => {
                walk.links.push(Link::Read {
                    offset: *offset,
                    user: *user,
                })?;
                walk.forget();
            }
            Action::ThisCpu => {
                walk.links.push(Link::ThisCpu)?;
                walk.forget();
            }
            Action::Members(path) => {
                if walk.value.is_none() && walk.structure.is_none() {
                    let kind = match self.target.btf {
                        Some(_) => Kind::NoBtfEntry,
                        None => Kind::NosupBtfarg,
                    };
                    return Err(Error::new(kind, step.at));
                }
                walk.members(
                    Span {
                        bytes: path,
                        at: step.at,
                    },
                    0,
                )?;
            }
            Action::Cast(cast) => self.cast(walk, cast, step.at)?,
        }
        Ok(())
    }

    /// Follows members of the structure that the value is said to point at.
    fn cast(&self, walk: &mut Walk<'b>, cast: &Cast, at: usize) -> Result<(), Error> {
        let Some(btf) = self.target.btf else {
            let open = cast.structure_at.saturating_sub(1);
            return Err(Error::new(Kind::NosupBtfarg, open).with_errno(Errno::EOPNOTSUPP));
        };
        let Some(structure) = btf.structure(&cast.structure) else {
            return Err(Error::new(Kind::NoPtrStrct, cast.structure_at));
        };
        let inside = match &cast.field {
            Some(field) => {
                let field = Span {
                    bytes: field,
                    at: cast.field_at,
                };
                cast_offset(structure, field)?
            }
            None => 0,
        };
        walk.structure = Some(structure);
        walk.members(
            Span {
                bytes: &cast.members,
                at,
            },
            inside,
        )
    }

    /// The links from a dentry or file to its name.
    fn path(&self, arg: &Argument, walk: &mut Walk<'b>) -> Result<(), Error> {
        let Some(of) = arg.spec.path else {
            return Ok(());
        };
        let paths = self.target.paths;
        let read = |offset: u32| Link::Read {
            offset: i64::from(offset),
            user: false,
        };
        if of == PathOf::File {
            walk.links.push(read(paths.file_dentry))?;
        }
        walk.links.push(read(paths.dentry_name))?;
        walk.links.push(read(0))?;
        walk.forget();
        Ok(())
    }
}

impl Walk<'_> {
    /// Drops what was known about the type: the value is another one now.
    fn forget(&mut self) {
        self.value = None;
        self.structure = None;
        self.bits = None;
    }

    /// Follows `path`, members joined by `.` and `->`. The value points
    /// `inside` bytes into the first structure.
    fn members(&mut self, path: Span<'_>, inside: u32) -> Result<(), Error> {
        let mut inside = i64::from(inside);
        let mut rest = Some(path);
        while let Some(path) = rest {
            self.at = path.at;
            let structure = match (self.structure.take(), self.value.take()) {
                (Some(structure), _) => structure,
                (None, value) => match value.and_then(|value| value.pointee()) {
                    None => return Err(Error::new(Kind::NoPtrStrct, path.at)),
                    Some(None) => return Err(Error::new(Kind::BadBtfTid, path.at)),
                    Some(Some(pointee)) => pointee,
                },
            };
            let found = dotted(structure, path)?;
            self.at = found.at;
            let offset = i64::from(found.bit_offset / 8).saturating_sub(inside);
            self.links.push(Link::Read {
                offset,
                user: false,
            })?;
            self.value = Some(found.value);
            // CAST: a remainder of 8.
            self.bits = found
                .bit_size
                .map(|size| ((found.bit_offset % 8) as u8, size));
            inside = 0;
            rest = found.rest;
        }
        Ok(())
    }
}

/// A member found by its dotted path.
struct Found<'a, 'p> {
    bit_offset: u32,
    bit_size: Option<u8>,
    value: Value<'a>,
    /// Column of its name.
    at: usize,
    /// What follows behind `->`.
    rest: Option<Span<'p>>,
}

/// Finds the member to which the dotted part of `path` leads.
fn dotted<'a, 'p>(structure: Value<'a>, path: Span<'p>) -> Result<Found<'a, 'p>, Error> {
    let (mut structure, mut path) = (structure, path);
    let mut bit_offset = 0u32;
    loop {
        let end = path
            .find_by(|b| b == b'.' || b == b'-')
            .unwrap_or(path.bytes.len());
        let (name, behind) = (path.take(end), path.skip(end));
        let arrow = behind.strip(b"->");
        if behind.first() == Some(b'-') && arrow.is_none() {
            return Err(behind.error(Kind::BadHyphen));
        }
        if !structure.is_structure() {
            return Err(name.error(Kind::BadBtfTid));
        }
        let member = structure
            .member(name.bytes)
            .ok_or(name.error(Kind::NoBtfField))?;
        let sum = bit_offset.checked_add(member.bit_offset);
        bit_offset = sum.ok_or(name.error(Kind::BadBtfTid))?;
        let (bit_size, value, at) = (member.bit_size, member.value, name.at);
        match behind.strip(b".") {
            None => {
                return Ok(Found {
                    bit_offset,
                    bit_size,
                    value,
                    at,
                    rest: arrow,
                })
            }
            Some(next) => (structure, path) = (value, next),
        }
    }
}

/// The offset in bytes of `field`, at which a cast value points.
fn cast_offset(structure: Value<'_>, field: Span<'_>) -> Result<u32, Error> {
    let found = dotted(structure, field)?;
    if found.bit_offset % 8 != 0 || found.bit_size.is_some() {
        return Err(Error::new(Kind::TypecastNotAligned, found.at));
    }
    match found.rest {
        None => Ok(found.bit_offset / 8),
        Some(rest) => Err(Error::new(
            Kind::TypecastBadArrow,
            rest.at.saturating_sub(2),
        )),
    }
}

/// The type to record: the user's, or BTF's where the user gave none. Appends
/// the read that text behind a pointer needs.
fn recorded_type(arg: &Argument, walk: &mut Walk<'_>) -> Result<(Type, Option<Bits>), Error> {
    let (spec, Some(value)) = (arg.spec, walk.value) else {
        return Ok((arg.spec.base, arg.spec.bits));
    };
    if spec.explicit {
        if matches!(spec.base, Type::String | Type::Ustring) && !value.is_text() {
            if !value.is_text_pointer() {
                return Err(Error::new(Kind::BadType4str, walk.at));
            }
            let user = spec.base == Type::Ustring;
            walk.links.push(Link::Read { offset: 0, user })?;
        }
        return Ok((spec.base, spec.bits));
    }
    let base = value.printed().unwrap_or(Type::DEFAULT);
    match walk.bits {
        None => Ok((base, None)),
        Some((offset, width)) => {
            let ty = bitfield_type(base, offset, width);
            let base = ty.ok_or(Error::new(Kind::BadBitfield, walk.at))?;
            Ok((
                base,
                Some(Bits {
                    width,
                    offset,
                    signed: base.is_signed(),
                }),
            ))
        }
    }
}

/// The type as wide as `base` at least, in which the bitfield lies whole.
fn bitfield_type(base: Type, offset: u8, width: u8) -> Option<Type> {
    let end = offset.checked_add(width)?;
    let widths = [Width::W8, Width::W16, Width::W32, Width::W64];
    let fits = |w: &Width| w.bits() >= end && w.bytes() >= base.size();
    let container = widths.into_iter().find(fits)?;
    Some(match base {
        Type::Signed(_) => Type::Signed(container),
        Type::Hex(_) => Type::Hex(container),
        _ => Type::Unsigned(container),
    })
}

/// Chooses what is recorded, taking the last link where the type reads it
/// itself.
fn store(
    arg: &Argument,
    base: Type,
    bits: Option<Bits>,
    origin: Origin,
    links: &mut Vec<Link>,
) -> Result<Store, Error> {
    let count = arg.spec.count;
    let last = links.last().copied();
    let wrong = |kind| Err(Error::new(kind, arg.type_at));
    match base {
        Type::String | Type::Ustring => {
            let ustring = base == Type::Ustring;
            let (offset, user_pointers) = match (last, origin) {
                (Some(Link::Read { offset, user }), _) => (offset, user),
                (None, Origin::Immediate(_)) if count.is_none() => (0, false),
                _ => return wrong(Kind::BadString),
            };
            links.pop();
            let user = user_pointers || ustring;
            Ok(match count {
                None => Store::Text { offset, user },
                Some(count) => Store::Texts {
                    offset,
                    user_pointers,
                    user,
                    count,
                },
            })
        }
        Type::Symstr => {
            let constant = matches!(
                arg.expression.source,
                Source::StackPointer | Source::Current | Source::Immediate(_)
            );
            match last {
                Some(Link::Read { user: true, .. } | Link::ThisCpu) => wrong(Kind::BadSymstring),
                None if constant => wrong(Kind::BadSymstring),
                _ if count.is_some() => wrong(Kind::BadString),
                _ => Ok(Store::Symbol),
            }
        }
        base => match (last, count) {
            (Some(Link::Read { offset, user }), count) => {
                links.pop();
                let count = count.unwrap_or(1);
                Ok(Store::Memory {
                    offset,
                    user,
                    width: base.size(),
                    bits,
                    count,
                })
            }
            (_, None) => Ok(Store::Value {
                bits,
                width: base.size(),
            }),
            (_, Some(_)) => wrong(Kind::BadString),
        },
    }
}
