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
//! Compiling allocates and looks symbols up: process context only. It has two
//! steps: [`expand`] replaces `$arg*` and gives `$argN` the parameter's name,
//! and what it makes of the definition is what is listed; [`compile`] makes the
//! program.

mod expand;
mod resolve;

pub use expand::expand;

use super::arch::Arch;
use super::ast::{Argument, Definition, Source};
use super::btf::{Btf, Function};
use super::error::{Error, Kind};
use super::record::{self, Faults, Field, Layout, COMM_LEN};
use super::types::{Bits, Type};
use crate::sys::Vec;
use resolve::Shape;

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
    /// Type information of the module that holds the place, or of the kernel.
    pub btf: Option<Btf<'a>>,
    /// Name of the function at whose entry or return the probe is, without
    /// its module; `None` elsewhere.
    pub function: Option<&'a [u8]>,
}

/// Bytes that a program writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Exactly so many: the record can be built in place.
    Fixed(usize),
    /// Not more than so many: built elsewhere, then copied.
    UpTo(usize),
}

/// What a program fetches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Nothing.
    Bare,
    /// All of the register of this index, to the first place for arguments.
    Register(u8),
    /// Anything else.
    Any,
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
    /// Its fault bit; a text shows a failed read without one.
    pub(super) fault: Option<u8>,
    /// Texts that later arguments will write.
    pub(super) texts_behind: u16,
}

/// A register, all of it or its low bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) dst: u16,
    pub(super) reg: u8,
    pub(super) width: u8,
}

/// Memory at a register plus an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Read {
    pub(super) offset: i32,
    pub(super) dst: u16,
    pub(super) reg: u8,
    pub(super) width: u8,
    pub(super) fault: u8,
}

/// The task's name: 16 bytes at `at`, and the word at `dst`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Comm {
    pub(super) dst: u16,
    pub(super) at: u16,
}

/// How one argument is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Load(Load),
    Read(Read),
    Comm(Comm),
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
    /// One for each argument, in order: what filters look at.
    pub(super) ops: Vec<Op>,
    // The same by shape, in the order in which they are run. A list for each
    // shape costs less at the hit than telling the shapes apart.
    /// Whole registers.
    pub(super) words: Vec<Load>,
    /// Low bytes of registers.
    pub(super) narrow: Vec<Load>,
    pub(super) reads: Vec<Read>,
    pub(super) comms: Vec<Comm>,
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

    /// What is fetched, where that can be said so.
    pub fn form(&self) -> Form {
        match *self.ops {
            [] => Form::Bare,
            [Op::Load(Load { reg, width: 8, .. })] => Form::Register(reg),
            _ => Form::Any,
        }
    }

    /// Whether all arguments are of the common shapes.
    ///
    /// May run in any context.
    #[inline(always)]
    pub fn is_compact(&self) -> bool {
        self.general.is_empty()
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
        function: None,
        program: Program {
            ops: Vec::new(),
            words: Vec::new(),
            narrow: Vec::new(),
            reads: Vec::new(),
            comms: Vec::new(),
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

struct Compiler<'a, 'b> {
    offset: usize,
    fault_bits: u16,
    is_return: bool,
    /// What BTF knows of the function, once it was looked for.
    function: Option<Option<Function<'b>>>,
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
        let base = shape.as_ref().map_or(Type::String, |shape| shape.base);
        let fault = self.fault_bit(base);
        self.program.layout.fields.push(Field {
            name: Vec::from_slice(&arg.name)?,
            base,
            count: arg.spec.count,
            offset: dst,
            fault,
        })?;
        let op = match shape {
            None => Op::Comm(Comm { dst, at: 0 }),
            Some(shape) => {
                self.program.dynamic |= shape.store.texts() > 0;
                match compact(&shape, dst, fault.unwrap_or(0)) {
                    Some(op) => op,
                    None => self.general(&shape, dst, fault)?,
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

    /// The next fault bit, for an argument that does not show a failed read by
    /// an empty `__data_loc`.
    ///
    /// Arguments that read no memory have one too: the layout must depend on
    /// names and types alone, for another probe with the same names and types
    /// may be appended to the event.
    fn fault_bit(&mut self, base: Type) -> Option<u8> {
        if base.is_text() {
            return None;
        }
        let bit = u8::try_from(self.fault_bits).ok()?;
        self.fault_bits = self.fault_bits.saturating_add(1);
        Some(bit)
    }

    /// Appends an argument that has no compact form.
    fn general(&mut self, shape: &Shape, dst: u16, fault: Option<u8>) -> Result<Op, Error> {
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
            self.offset = self.offset.saturating_add(usize::from(size.get()));
        }
        let mut end = u16::try_from(self.offset).map_err(|_| too_big())?;
        for op in self.program.ops.iter_mut() {
            if let Op::Comm(Comm { at, .. }) = op {
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
        self.sort()?;
        self.program.fixed = end;
        self.program.layout.faults = self.program.faults;
        Ok(self.program)
    }

    /// Lists the compact operations by shape.
    fn sort(&mut self) -> Result<(), Error> {
        let program = &mut self.program;
        for op in &program.ops {
            match *op {
                Op::Load(load) if load.width == 8 => program.words.push(load)?,
                Op::Load(load) => program.narrow.push(load)?,
                Op::Read(read) => program.reads.push(read)?,
                Op::Comm(comm) => program.comms.push(comm)?,
                Op::General(_) => {}
            }
        }
        Ok(())
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
        Store::Value { bits: None, width } => Some(Op::Load(Load { dst, reg, width })),
        Store::Memory {
            offset,
            user: false,
            width,
            bits: None,
            count: 1,
        } => {
            let offset = i32::try_from(offset).ok()?;
            Some(Op::Read(Read {
                offset,
                dst,
                reg,
                width,
                fault,
            }))
        }
        _ => None,
    }
}
