// SPDX-License-Identifier: GPL-2.0

//! Compiles a definition to a program: every argument gets its operation and its offset in
//! the record.

use super::program::{
    Chain, Comm, General, Hop, Load, LoadOrigin, Op, Program, Steps, Store, TextAt, WordRead,
};
use super::target::Target;
use crate::engine::definition::ast::{self, Argument, Definition};
use crate::engine::definition::kind::ProbeKind;
use crate::engine::language::types::Type;
use crate::engine::program::btf::BtfFunction;
use crate::engine::record::{self, Faults, Field, Layout, Name, COMM_LEN};
use crate::engine::refusal::error::{Error, Kind};
use crate::sys::{Box, Vec};

/// Number of bytes of a comm.
const COMM_SPACE: u16 = 16;
const _: () = assert!(COMM_SPACE as usize == COMM_LEN);

/// Least room for one text: an empty one with its NUL, and the byte that shows that it fits.
const MIN_TEXT: usize = 3;

/// Maximum number of links of one argument.
pub(super) const MAX_LINKS: usize = 16;

/// Compiles the arguments of `definition` to the program that fetches them, and to their layout in
/// a record.
///
/// # Errors
///
/// The kinds about symbols, parameters, locations and sizes.
pub fn compile(
    definition: &Definition,
    target: &mut Target<'_>,
) -> Result<(Box<Program>, Layout), Error> {
    let kind = definition.kind;
    let layout = Layout::of(kind.class);
    let mut compiler = Compiler {
        offset: layout.start(),
        fault_bits: 0,
        kind,
        function: None,
        program: Box::new(Program::empty())?,
        layout,
        target,
    };
    for arg in &definition.args {
        compiler.argument(arg)?;
    }
    compiler.finish(definition)?;
    Ok((compiler.program, compiler.layout))
}

/// An argument, reduced to what a program needs.
pub(super) struct ArgumentShape {
    pub(super) origin: LoadOrigin,
    pub(super) links: Vec<Hop>,
    pub(super) store: Store,
    pub(super) base: Type,
}

/// Makes the reads of `links` those of user memory. Returns the same of `store`.
#[inline(never)]
pub(super) fn of_user(links: &mut Vec<Hop>, store: Store) -> Store {
    for link in links.iter_mut() {
        if let Hop::Read { user, .. } = link {
            *user = true;
        }
    }
    store.of_user()
}

pub(super) struct Compiler<'a, 'b> {
    offset: usize,
    fault_bits: u16,
    pub(super) kind: ProbeKind,
    /// The function in BTF, once it has been looked up.
    pub(super) function: Option<Option<BtfFunction<'b>>>,
    /// Boxed: it is large, and passed on to where hits use it.
    pub(super) program: Box<Program>,
    pub(super) layout: Layout,
    pub(super) target: &'a mut Target<'b>,
}

impl Compiler<'_, '_> {
    /// Compiles one argument and assigns its offset in the record.
    #[inline(never)]
    fn argument(&mut self, arg: &Argument) -> Result<(), Error> {
        let shape = match arg.expression.origin {
            ast::Origin::Comm => None,
            _ => Some(self.shape(arg)?),
        };
        let dst = self.place(arg, shape.as_ref().map_or(4, |shape| shape.store.size()))?;
        let base = shape.as_ref().map_or(Type::STRING, |shape| shape.base);
        let fault = self.fault_bit(base);
        self.layout.fields.push(Field {
            name: Name::new(&arg.name)?,
            base,
            count: arg.spec.count,
            offset: dst,
            fault,
        })?;
        let op = match shape {
            None => Op::Comm(Comm { dst, at: 0 }),
            Some(shape) => {
                self.program.dynamic |= shape.store.texts() > 0;
                let bit = fault.unwrap_or(0);
                match (compact(&shape, dst, bit), chain(&shape, dst, bit)) {
                    (Some(op), _) => op,
                    (None, Some(chain)) => self.chain(chain)?,
                    (None, None) => self.general(&shape, dst, fault)?,
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
        if self.offset.saturating_sub(self.layout.start()) > record::MAX_ARGS_SIZE {
            return Err(too_big());
        }
        Ok(dst)
    }

    /// Takes the next fault bit. Texts need none: an empty `__data_loc` shows a failed read.
    ///
    /// Arguments that read no memory have a fault bit, too: the layout must depend on names and
    /// types alone, because another probe with the same names and types may be appended to the
    /// event.
    fn fault_bit(&mut self, base: Type) -> Option<u8> {
        if base.is_text() {
            return None;
        }
        let bit = u8::try_from(self.fault_bits).ok()?;
        self.fault_bits = self.fault_bits.saturating_add(1);
        Some(bit)
    }

    /// Appends a chain.
    fn chain(&mut self, chain: Chain) -> Result<Op, Error> {
        let program = &mut *self.program;
        let too_big = |_| Error::new(Kind::TooManyOps, 0);
        let index = u16::try_from(program.chains.len()).map_err(too_big)?;
        program.others = true;
        program.chains.push(chain)?;
        Ok(Op::Chain(index))
    }

    /// Appends an argument that has no compact form.
    #[inline(never)]
    fn general(&mut self, shape: &ArgumentShape, dst: u16, fault: Option<u8>) -> Result<Op, Error> {
        let program = &mut *self.program;
        let too_big = |_| Error::new(Kind::TooManyOps, 0);
        let first = u16::try_from(program.links.len()).map_err(too_big)?;
        program.links.extend_from_slice(&shape.links)?;
        let last = u16::try_from(program.links.len()).map_err(too_big)?;
        let index = u16::try_from(program.general.len()).map_err(too_big)?;
        program.others = true;
        program.only_text = if index == 0 { text_at(shape) } else { None };
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

    /// Assigns the offsets of the fault bits and of the texts of known length, and counts
    /// the texts behind each argument.
    fn finish(&mut self, definition: &Definition) -> Result<(), Error> {
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
        let program = &mut *self.program;
        for op in program.ops.iter_mut() {
            let at = match op {
                Op::Comm(Comm { at, .. }) => Some((at, COMM_SPACE)),
                Op::General(index) => match program.general.get_mut(usize::from(*index)) {
                    Some(General {
                        store: Store::FixedText { at, .. },
                        ..
                    }) => Some((at, COMM_SPACE)),
                    Some(General {
                        store: Store::Whole { at, size, .. },
                        ..
                    }) => Some((at, *size)),
                    Some(General {
                        store: Store::Changes { at, size, .. },
                        ..
                    }) => Some((at, size.saturating_mul(2))),
                    _ => None,
                },
                _ => None,
            };
            if let Some((at, size)) = at {
                *at = end;
                end = end.checked_add(size).ok_or_else(too_big)?;
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
        let program = &mut *self.program;
        program.only_whole = program.chains.is_empty()
            && matches!(
                *program.general,
                [General {
                    store: Store::Whole { .. },
                    ..
                }]
            );
        self.program.fixed = end;
        self.layout.faults = self.program.faults;
        Ok(())
    }

    /// Lists the compact operations by shape.
    fn sort(&mut self) -> Result<(), Error> {
        let program = &mut *self.program;
        for op in &program.ops {
            match *op {
                Op::Load(load) if load.width == 8 => program.words.push(load)?,
                Op::Load(load) => program.narrow.push(load)?,
                Op::Read(read) => program.reads.push(read)?,
                Op::Comm(comm) => program.comms.push(comm)?,
                Op::Chain(_) | Op::General(_) => {}
            }
        }
        Ok(())
    }
}

/// Returns the compact operation for a shape, if there is one.
#[inline(never)]
fn compact(shape: &ArgumentShape, dst: u16, fault: u8) -> Option<Op> {
    let LoadOrigin::Register(reg) = shape.origin else {
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
            Some(Op::Read(WordRead {
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

/// Returns the chain for a shape, if it is one.
fn chain(shape: &ArgumentShape, dst: u16, fault: u8) -> Option<Chain> {
    match shape.store {
        Store::Memory {
            offset,
            user: false,
            width,
            bits: None,
            count: 1,
        } => Some(Chain {
            steps: Steps::of(shape.origin, &shape.links, offset)?,
            dst,
            width,
            fault,
        }),
        _ => None,
    }
}

/// Returns the location of a string that is easy to find.
fn text_at(shape: &ArgumentShape) -> Option<TextAt> {
    match shape.store {
        Store::Text { offset, user } => Some(TextAt {
            steps: Steps::of(shape.origin, &shape.links, offset)?,
            user,
        }),
        _ => None,
    }
}
