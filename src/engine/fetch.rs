// SPDX-License-Identifier: GPL-2.0

//! Compiles the fetch arguments of a definition to a program that
//! [`exec`](super::exec) runs at each hit.
//!
//! All that can be known is settled here: symbols become addresses, arguments
//! become registers, every offset in the record is computed and checked, so
//! that running needs no decision that depends on the text. The common shapes
//! (a register, memory behind one register, the task's name) are one compact
//! operation each; all others go through [`General`].
//!
//! Compiling allocates and looks symbols up: process context only.

use super::arch::{Arch, ArgumentPlace};
use super::ast::{Action, Argument, Definition, Expression, Source, Step};
use super::error::{Error, Kind};
use super::lex;
use super::record::{self, Faults, Field, Layout, COMM_LEN};
use super::text::Plain;
use super::types::{Bits, PathOf, Type, TypeSpec};
use crate::sys::Vec;

/// Looks data symbols up.
pub trait Symbols {
    /// The address of the symbol called `name`, or `None`.
    fn address(&mut self, name: &[u8]) -> Option<u64>;
}

/// Offsets of the members that lead to a path's last component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathOffsets {
    /// Of `d_name.name` in `struct dentry`.
    pub dentry_name: u32,
    /// Of `f_path.dentry` in `struct file`.
    pub file_dentry: u32,
}

/// What compiling needs to know about the kernel and the probe's place.
pub struct Target<'a> {
    /// The architecture.
    pub arch: Arch,
    /// Whether the place is the entry of a function.
    pub at_entry: bool,
    /// Looks up the symbols of `@SYMBOL`.
    pub symbols: &'a mut dyn Symbols,
    /// For `%pd` and `%pD`.
    pub paths: PathOffsets,
}

/// Bytes that a program writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Exactly so many: the record can be built in place.
    Fixed(usize),
    /// Not more than so many: built elsewhere, then copied.
    UpTo(usize),
}

/// Where a value comes from, as far as it is known before the hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Register(u8),
    Stack(u16),
    Immediate(u64),
    EntryData(u16),
    ReturnAddress,
    Current,
}

/// A step from one value to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    Read { offset: i64, user: bool },
    ThisCpu,
}

/// A string that is part of the definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Constant {
    /// Where it starts in the program's texts.
    pub(super) start: u16,
    /// Its length with its NUL.
    pub(super) len: u16,
    /// Where it goes in the record.
    pub(super) at: u16,
}

/// What is recorded of the last value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Store {
    Value {
        bits: Option<Bits>,
        width: u8,
    },
    Memory {
        offset: i64,
        user: bool,
        width: u8,
        bits: Option<Bits>,
        count: u8,
    },
    Text {
        offset: i64,
        user: bool,
    },
    Texts {
        offset: i64,
        user_pointers: bool,
        user: bool,
        count: u8,
    },
    Symbol,
    Constant(Constant),
}

impl Store {
    /// Bytes in the fixed part of the record.
    pub(super) fn size(self) -> u16 {
        match self {
            Store::Value { width, .. } => u16::from(width),
            Store::Memory { width, count, .. } => u16::from(width).saturating_mul(count.into()),
            Store::Texts { count, .. } => u16::from(count).saturating_mul(4),
            Store::Text { .. } | Store::Symbol | Store::Constant(_) => 4,
        }
    }

    /// Number of texts whose length is known only at the hit.
    fn texts(self) -> u16 {
        match self {
            Store::Texts { count, .. } => u16::from(count),
            Store::Text { .. } | Store::Symbol => 1,
            Store::Value { .. } | Store::Memory { .. } | Store::Constant(_) => 0,
        }
    }
}

/// An argument of any shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct General {
    pub(super) origin: Origin,
    /// Range of the program's links.
    pub(super) links: (u16, u16),
    pub(super) store: Store,
    pub(super) dst: u16,
    /// Its fault bit, if it can fail.
    pub(super) fault: u8,
    /// Texts that later arguments will write.
    pub(super) texts_behind: u16,
}

/// One operation: fetches one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// A register as a 64-bit value.
    Register { reg: u8, dst: u16 },
    /// Memory at a register plus an offset.
    Memory {
        reg: u8,
        size: u8,
        fault: u8,
        dst: u16,
        offset: i32,
    },
    /// The task's name: 16 bytes at `at`, and the word at `dst`.
    Comm { dst: u16, at: u16 },
    /// The general argument of this index.
    General(u16),
}

/// Compiled fetch arguments.
///
/// # Invariants
///
/// Every range of bytes that an operation writes, other than text whose
/// length is known only at the hit, lies below `fixed`, and `fixed` is at most
/// [`record::MAX_SIZE`].
#[derive(Debug, PartialEq, Eq)]
pub struct Program {
    pub(super) ops: Vec<Op>,
    pub(super) general: Vec<General>,
    pub(super) links: Vec<Link>,
    pub(super) texts: Vec<u8>,
    pub(super) entry: Vec<Origin>,
    pub(super) faults: Option<Faults>,
    pub(super) fixed: u16,
    dynamic: bool,
    layout: Layout,
}

impl Program {
    /// Bytes of the record, from its common header on.
    ///
    /// May run in any context.
    #[inline]
    pub fn size(&self) -> Size {
        if self.dynamic {
            Size::UpTo(record::MAX_SIZE)
        } else {
            Size::Fixed(usize::from(self.fixed))
        }
    }

    /// The layout of the record.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Number of words that [`capture`](super::exec::capture) saves at entry.
    pub fn entry_words(&self) -> usize {
        self.entry.len()
    }
}

/// Room for a task's name.
const COMM_SPACE: u16 = 16;
const _: () = assert!(COMM_SPACE as usize == COMM_LEN);

/// Least room for one text: empty, its NUL, and what tells that it fits.
const MIN_TEXT: usize = 3;

/// Most links of one argument.
const MAX_LINKS: usize = 16;

/// Compiles the arguments of `definition`.
///
/// # Errors
///
/// The kinds about symbols, parameters, places and sizes.
pub fn compile(definition: &Definition, target: &mut Target<'_>) -> Result<Program, Error> {
    let is_return = definition.kind.is_return();
    let layout = Layout {
        is_return,
        fields: Vec::new(),
        faults: None,
    };
    let mut compiler = Compiler {
        offset: layout.start(),
        fault_bits: 0,
        is_return,
        program: Program {
            ops: Vec::new(),
            general: Vec::new(),
            links: Vec::new(),
            texts: Vec::new(),
            entry: Vec::new(),
            faults: None,
            fixed: 0,
            dynamic: false,
            layout,
        },
        target,
    };
    for arg in &definition.args {
        compiler.argument(arg)?;
    }
    compiler.finish(definition)
}

/// An argument reduced to origin, links and store.
struct Shape {
    origin: Origin,
    links: Vec<Link>,
    store: Store,
}

struct Compiler<'a, 'b> {
    offset: usize,
    fault_bits: u16,
    is_return: bool,
    program: Program,
    target: &'a mut Target<'b>,
}

impl Compiler<'_, '_> {
    /// Compiles one argument and gives it its place in the record.
    fn argument(&mut self, arg: &Argument) -> Result<(), Error> {
        let shape = match arg.expression.source {
            Source::Comm => None,
            _ => Some(self.shape(arg)?),
        };
        let dst = self.place(arg, shape.as_ref().map_or(4, |shape| shape.store.size()))?;
        let fault = shape.as_ref().and_then(|shape| self.fault_bit(shape));
        self.program.layout.fields.push(Field {
            name: Vec::from_slice(&arg.name)?,
            base: arg.spec.base,
            count: arg.spec.count,
            offset: dst,
            fault,
        })?;
        let op = match shape {
            None => Op::Comm { dst, at: 0 },
            Some(shape) => {
                self.program.dynamic |= shape.store.texts() > 0;
                match compact(&shape, dst, fault.unwrap_or(0)) {
                    Some(op) => op,
                    None => self.general(&shape, dst, fault.unwrap_or(0))?,
                }
            }
        };
        self.program.ops.push(op)?;
        Ok(())
    }

    /// Takes the next `size` bytes of the record's fixed part.
    fn place(&mut self, arg: &Argument, size: u16) -> Result<u16, Error> {
        let too_big = || Error::new(Kind::EventTooBig, arg.text_at);
        let dst = u16::try_from(self.offset).map_err(|_| too_big())?;
        self.offset = self.offset.saturating_add(usize::from(size));
        if self.offset.saturating_sub(self.program.layout.start()) > record::MAX_ARGS_SIZE {
            return Err(too_big());
        }
        Ok(dst)
    }

    /// The next fault bit, for an argument that can fail and does not show it
    /// by an empty `__data_loc`.
    fn fault_bit(&mut self, shape: &Shape) -> Option<u8> {
        let reads = shape
            .links
            .iter()
            .any(|link| matches!(link, Link::Read { .. }));
        let can_fail = match shape.store {
            Store::Memory { .. } => true,
            Store::Value { .. } => reads,
            _ => false,
        };
        if !can_fail {
            return None;
        }
        let bit = u8::try_from(self.fault_bits).ok()?;
        self.fault_bits = self.fault_bits.saturating_add(1);
        Some(bit)
    }

    /// Appends an argument that has no compact form.
    fn general(&mut self, shape: &Shape, dst: u16, fault: u8) -> Result<Op, Error> {
        let program = &mut self.program;
        let too_big = |_| Error::new(Kind::TooManyOps, 0);
        let first = u16::try_from(program.links.len()).map_err(too_big)?;
        program.links.extend_from_slice(&shape.links)?;
        let last = u16::try_from(program.links.len()).map_err(too_big)?;
        let index = u16::try_from(program.general.len()).map_err(too_big)?;
        program.general.push(General {
            origin: shape.origin,
            links: (first, last),
            store: shape.store,
            dst,
            fault,
            texts_behind: 0,
        })?;
        Ok(Op::General(index))
    }

    /// Places the fault bits and the texts of known length, and counts the
    /// texts behind each argument.
    fn finish(mut self, definition: &Definition) -> Result<Program, Error> {
        let at = definition
            .args
            .last()
            .map_or(definition.place_at, |arg| arg.text_at);
        let too_big = || Error::new(Kind::EventTooBig, at);
        if self.fault_bits > 0 {
            let size = Faults::size_for(self.fault_bits).ok_or_else(too_big)?;
            let offset = u16::try_from(self.offset).map_err(|_| too_big())?;
            self.program.faults = Some(Faults { offset, size });
            self.offset = self.offset.saturating_add(usize::from(size));
        }
        let mut end = u16::try_from(self.offset).map_err(|_| too_big())?;
        for op in self.program.ops.iter_mut() {
            if let Op::Comm { at, .. } = op {
                *at = end;
                end = end.checked_add(COMM_SPACE).ok_or_else(too_big)?;
            }
        }
        let mut texts = 0u16;
        for arg in self.program.general.iter_mut().rev() {
            arg.texts_behind = texts;
            texts = texts.saturating_add(arg.store.texts());
            if let Store::Constant(constant) = &mut arg.store {
                constant.at = end;
                end = end.checked_add(constant.len).ok_or_else(too_big)?;
            }
        }
        let least = usize::from(texts)
            .saturating_mul(MIN_TEXT)
            .saturating_add(usize::from(end));
        if least > record::MAX_SIZE {
            return Err(too_big());
        }
        self.program.fixed = end;
        self.program.layout.faults = self.program.faults;
        Ok(self.program)
    }

    /// Reduces an argument to origin, links and store.
    fn shape(&mut self, arg: &Argument) -> Result<Shape, Error> {
        let expression = &arg.expression;
        if let Source::Text(text) = &expression.source {
            return self.constant(arg, text);
        }
        let origin = self.origin(expression)?;
        let mut links = Vec::new();
        for step in &expression.steps {
            links.push(self.link(step)?)?;
        }
        self.path(arg.spec, &mut links)?;
        if links.len() > MAX_LINKS {
            return Err(Error::new(Kind::TooManyOps, arg.text_at));
        }
        let store = store(arg, origin, &mut links)?;
        Ok(Shape {
            origin,
            links,
            store,
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
        Ok(Shape {
            origin: Origin::Immediate(0),
            links: Vec::new(),
            store,
        })
    }

    /// The links from a dentry or file to its name.
    fn path(&self, spec: TypeSpec, links: &mut Vec<Link>) -> Result<(), Error> {
        let Some(of) = spec.path else { return Ok(()) };
        let paths = self.target.paths;
        let read = |offset: u32| Link::Read {
            offset: i64::from(offset),
            user: false,
        };
        if of == PathOf::File {
            links.push(read(paths.file_dentry))?;
        }
        links.push(read(paths.dentry_name))?;
        links.push(read(0))?;
        Ok(())
    }

    fn link(&self, step: &Step) -> Result<Link, Error> {
        match &step.action {
            Action::Dereference { offset, user } => Ok(Link::Read {
                offset: *offset,
                user: *user,
            }),
            Action::ThisCpu => Ok(Link::ThisCpu),
            Action::Members(_) | Action::Cast { .. } => Err(Error::new(Kind::NosupBtfarg, step.at)),
        }
    }

    fn origin(&mut self, expression: &Expression) -> Result<Origin, Error> {
        let at = expression.source_at;
        let arch = self.target.arch;
        match &expression.source {
            Source::Register(reg) => Ok(Origin::Register(*reg)),
            Source::StackPointer => Ok(Origin::Register(arch.stack_register())),
            Source::Stack(n) => Ok(Origin::Stack(*n)),
            Source::Argument(n) => self.function_argument(*n, at),
            Source::ReturnValue => Ok(Origin::Register(arch.return_register())),
            Source::Current => Ok(Origin::Current),
            Source::Immediate(value) => Ok(Origin::Immediate(*value)),
            Source::Symbol { name, offset } => {
                match self.target.symbols.address(name) {
                    Some(address) => Ok(Origin::Immediate(address.wrapping_add_signed(*offset))),
                    None => Err(Error::new(Kind::NoDataSymbol, at)
                        .with_detail(format_args!("{}", Plain(name)))),
                }
            }
            Source::Name(name) => self.name(name, at),
            Source::AllArguments => Err(Error::new(Kind::NosupBtfarg, at)),
            Source::Comm | Source::Text(_) => Err(Error::new(Kind::BadFetchArg, at)),
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

    /// A bare name, in the dialect of 2009: `aN`, `sN`, `sa`, `rv`, `ra`,
    /// `rNAME`.
    fn name(&mut self, name: &[u8], at: usize) -> Result<Origin, Error> {
        let arch = self.target.arch;
        let unknown = Error::new(Kind::NosupBtfarg, at);
        let number = |digits: &[u8]| lex::decimal(digits).and_then(|n| u16::try_from(n).ok());
        match name {
            b"rv" if self.is_return => Ok(Origin::Register(arch.return_register())),
            b"rv" => Err(Error::new(Kind::RetvalOnProbe, at)),
            b"ra" if self.is_return => Ok(Origin::ReturnAddress),
            b"ra" if self.target.at_entry => Ok(match arch {
                Arch::X86_64 => Origin::Stack(0),
                Arch::Arm64 => Origin::Register(30),
            }),
            b"sa" => Ok(Origin::Register(arch.stack_register())),
            [b'a', digits @ ..] if number(digits).is_some() => {
                self.function_argument(number(digits).unwrap_or(0), at)
            }
            [b's', digits @ ..] if number(digits).is_some() => {
                Ok(Origin::Stack(number(digits).unwrap_or(0)))
            }
            [b'r', register @ ..] => match arch.register(register).or(arch.register(name)) {
                Some(register) => Ok(Origin::Register(register)),
                None => Err(unknown),
            },
            _ => Err(unknown),
        }
    }
}

/// Chooses what is recorded, taking the last link where the type reads it
/// itself.
fn store(arg: &Argument, origin: Origin, links: &mut Vec<Link>) -> Result<Store, Error> {
    let spec = arg.spec;
    let last = links.last().copied();
    match spec.base {
        Type::String | Type::Ustring => {
            let ustring = spec.base == Type::Ustring;
            let (offset, user) = match (last, origin) {
                (Some(Link::Read { offset, user }), _) => (offset, user),
                (None, Origin::Immediate(_)) if spec.count.is_none() => (0, false),
                _ => return Err(Error::new(Kind::BadString, arg.type_at)),
            };
            links.pop();
            Ok(match spec.count {
                None => Store::Text {
                    offset,
                    user: user || ustring,
                },
                Some(count) => Store::Texts {
                    offset,
                    user_pointers: user,
                    user: user || ustring,
                    count,
                },
            })
        }
        Type::Symstr => {
            let source = &arg.expression.source;
            let fits = match last {
                Some(Link::Read { user, .. }) => !user,
                Some(Link::ThisCpu) => false,
                None => !matches!(
                    source,
                    Source::StackPointer | Source::Current | Source::Immediate(_)
                ),
            };
            match spec.count {
                _ if !fits => Err(Error::new(Kind::BadSymstring, arg.type_at)),
                Some(_) => Err(Error::new(Kind::BadString, arg.type_at)),
                None => Ok(Store::Symbol),
            }
        }
        base => match (last, spec.count) {
            (Some(Link::Read { offset, user }), count) => {
                links.pop();
                let count = count.unwrap_or(1);
                Ok(Store::Memory {
                    offset,
                    user,
                    width: base.size(),
                    bits: spec.bits,
                    count,
                })
            }
            (_, None) => Ok(Store::Value {
                bits: spec.bits,
                width: base.size(),
            }),
            (_, Some(_)) => Err(Error::new(Kind::BadString, arg.type_at)),
        },
    }
}

/// The compact operation for a shape, if there is one.
fn compact(shape: &Shape, dst: u16, fault: u8) -> Option<Op> {
    let Origin::Register(reg) = shape.origin else {
        return None;
    };
    if !shape.links.is_empty() {
        return None;
    }
    match shape.store {
        Store::Value {
            bits: None,
            width: 8,
        } => Some(Op::Register { reg, dst }),
        Store::Memory {
            offset,
            user: false,
            width,
            bits: None,
            count: 1,
        } => {
            let offset = i32::try_from(offset).ok()?;
            Some(Op::Memory {
                reg,
                size: width,
                fault,
                dst,
                offset,
            })
        }
        _ => None,
    }
}
