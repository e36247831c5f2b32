// SPDX-License-Identifier: GPL-2.0

//! Runs a location expression on symbols.

mod arithmetic;

use self::arithmetic::{binary, computed, name, plus, unary, Item};
use super::{Base, Number, Piece, Place, Sum};
use crate::debug::{Debug, Slice, Unit};
use crate::error::{Refusal, Result};
use crate::refuse;
use crate::types::{self, Kind};
use gimli::{Expression, Operation, UnitOffset};

/// What an expression depends on besides its operations.
pub struct Context<'a, 's> {
    /// The debug information.
    pub debug: &'a Debug<'s>,
    /// The unit of the expression.
    pub unit: &'a Unit<'s>,
    /// The frame base of the function, for what is relative to it.
    pub frame_base: &'a dyn Fn() -> Result<Sum>,
    /// The canonical frame address.
    pub cfa: &'a dyn Fn() -> Result<Sum>,
    /// Whether the function is about to run its first instruction, so that registers have the
    /// values of its entry.
    pub at_entry: bool,
}

/// Says where the variable is that `expression` locates.
pub fn run<'s>(context: &Context<'_, 's>, expression: Expression<Slice<'s>>) -> Result<Place> {
    let mut machine = Machine {
        context,
        stack: Vec::new(),
        pieces: Vec::new(),
        bits: 0,
    };
    machine.run(expression)
}

struct Machine<'a, 's> {
    context: &'a Context<'a, 's>,
    stack: Vec<Item>,
    pieces: Vec<Piece>,
    /// How many bits the pieces have.
    bits: u64,
}

/// What a simple location description left.
enum Simple {
    /// An address is on the stack, or nothing.
    Stack,
    Place(Place),
    /// Why it cannot be read.
    Lost(String),
}

impl<'s> Machine<'_, 's> {
    fn run(&mut self, expression: Expression<Slice<'s>>) -> Result<Place> {
        let mut operations = expression.operations(self.context.unit.encoding());
        let mut simple = Simple::Stack;
        while let Some(operation) = operations.next()? {
            match operation {
                Operation::Piece {
                    size_in_bits,
                    bit_offset,
                } => {
                    let place = self.finish(std::mem::replace(&mut simple, Simple::Stack))?;
                    self.pieces.push(Piece {
                        bits: size_in_bits,
                        start: bit_offset.unwrap_or(0),
                        place,
                    });
                    self.bits = self.bits.saturating_add(size_in_bits);
                    self.stack.clear();
                }
                Operation::Register { register } => {
                    let base = Sum::base(Base::Register(register.0));
                    simple = Simple::Place(Place::Value(Number::Whole(base)));
                }
                Operation::ImplicitValue { data } => {
                    simple = Simple::Place(Place::Bytes(data.slice().to_vec()));
                }
                Operation::StackValue => match self.pop()? {
                    Item::Number(number) => simple = Simple::Place(Place::Value(number)),
                    Item::Shifted(..) => return Err(computed("DW_OP_shl")),
                },
                Operation::ImplicitPointer { .. } => {
                    simple = Simple::Lost("a pointer to something that is in no memory".into());
                }
                operation => {
                    if !matches!(simple, Simple::Stack) {
                        refuse!("a location with something behind its end");
                    }
                    self.step(operation)?;
                }
            }
        }
        if !self.pieces.is_empty() {
            if !matches!(simple, Simple::Stack) || !self.stack.is_empty() {
                refuse!("a location with something behind its pieces");
            }
            return Ok(Place::Pieces(std::mem::take(&mut self.pieces)));
        }
        self.finish(simple)?.map_err(Refusal::new)
    }

    fn finish(&mut self, simple: Simple) -> Result<std::result::Result<Place, String>> {
        Ok(match simple {
            Simple::Place(place) => Ok(place),
            Simple::Lost(why) => Err(why),
            Simple::Stack if self.stack.is_empty() => Err("the compiler removed it here".into()),
            Simple::Stack => Ok(Place::Memory(self.pop()?.into_sum()?)),
        })
    }

    fn pop(&mut self) -> Result<Item> {
        let item = self.stack.pop();
        item.ok_or_else(|| Refusal::new("damaged debug information: an empty stack"))
    }

    fn step(&mut self, operation: Operation<Slice<'s>>) -> Result<()> {
        let item = match operation {
            Operation::RegisterOffset {
                register,
                offset,
                base_type,
            } => {
                let base = Base::Register(register.0);
                match base_type.0 {
                    0 => Item::sum(Sum::base(base).plus(offset)),
                    _ => self.narrow(base, base_type)?,
                }
            }
            Operation::FrameOffset { offset } => {
                Item::sum((self.context.frame_base)()?.plus(offset))
            }
            Operation::CallFrameCFA => Item::sum((self.context.cfa)()?),
            Operation::Address { address } => Item::sum(Sum::base(Base::Symbol(address))),
            Operation::AddressIndex { index } => {
                let (debug, unit) = (self.context.debug, self.context.unit);
                Item::sum(Sum::base(Base::Symbol(
                    debug.of(unit).address(unit, index)?,
                )))
            }
            // CAST: the stack has 64 bits, whatever their sign.
            Operation::UnsignedConstant { value } => Item::constant(value as i64),
            Operation::SignedConstant { value } => Item::constant(value),
            Operation::TypedLiteral { base_type, value } => self.literal(base_type, value)?,
            // CAST: as above.
            Operation::PlusConstant { value } => plus(self.pop()?, value as i64)?,
            Operation::Plus
            | Operation::Minus
            | Operation::Mul
            | Operation::And
            | Operation::Or
            | Operation::Xor
            | Operation::Shl
            | Operation::Shr
            | Operation::Shra => {
                let right = self.pop()?;
                let left = self.pop()?;
                binary(&operation, left, right)?
            }
            Operation::Neg | Operation::Not => unary(&operation, self.pop()?)?,
            Operation::Deref {
                base_type,
                size,
                space: false,
            } => self.deref(base_type, size)?,
            Operation::Convert { base_type } => {
                let item = self.pop()?;
                self.convert(item, base_type)?
            }
            Operation::EntryValue { expression } => self.entry_value(expression)?,
            Operation::Nop => return Ok(()),
            Operation::TLS => refuse!("a variable of a thread, which a kernel does not have"),
            other => return Err(computed(name(&other))),
        };
        self.stack.push(item);
        Ok(())
    }

    /// The low bits of a base, as many as an integer type has.
    fn narrow(&self, of: Base, base_type: UnitOffset) -> Result<Item> {
        let (bits, signed) = self.integer(base_type)?;
        Ok(Item::Number(match bits {
            64 => Number::Whole(Sum::base(of)),
            _ => Number::Narrow { of, bits, signed },
        }))
    }

    /// The width of a base type, and whether it has a sign.
    fn integer(&self, base_type: UnitOffset) -> Result<(u32, bool)> {
        let found = types::read(self.context.debug, self.context.unit, base_type)?;
        match (&found.kind, found.size) {
            (Kind::Integer { signed, .. }, size @ (1 | 2 | 4 | 8)) => {
                Ok((size as u32 * 8, *signed))
            }
            _ => Err(computed("a number that is no integer of 64 bits")),
        }
    }

    fn literal(&self, base_type: UnitOffset, value: Slice<'s>) -> Result<Item> {
        let (bits, signed) = self.integer(base_type)?;
        let mut bytes = [0; 8];
        match bytes.get_mut(..value.len()) {
            Some(low) if value.len() as u32 * 8 == bits => low.copy_from_slice(value.slice()),
            _ => refuse!("a constant that does not have the size of its type"),
        }
        let shift = 64 - bits;
        let raw = u64::from_le_bytes(bytes);
        // CAST: the stack has 64 bits, whatever their sign.
        Ok(Item::constant(match signed {
            true => (raw << shift) as i64 >> shift,
            false => raw as i64,
        }))
    }

    fn deref(&mut self, base_type: UnitOffset, size: u8) -> Result<Item> {
        let address = self.pop()?.into_sum()?;
        let load = Base::Load(Box::new(address));
        if base_type.0 != 0 {
            return self.narrow(load, base_type);
        }
        Ok(Item::Number(match size {
            8 => Number::Whole(Sum::base(load)),
            1 | 2 | 4 => Number::Narrow {
                of: load,
                bits: u32::from(size) * 8,
                signed: false,
            },
            _ => return Err(computed("DW_OP_deref_size")),
        }))
    }

    /// To another width: what is cut off must be the high bits.
    fn convert(&self, item: Item, base_type: UnitOffset) -> Result<Item> {
        // 0 is the generic type, of 64 bits.
        let (bits, signed) = match base_type.0 {
            0 => (64, false),
            _ => self.integer(base_type)?,
        };
        if let Some(value) = item.as_constant() {
            let shift = 64 - bits;
            // CAST: a conversion keeps the bits.
            return Ok(Item::constant(match signed {
                true => value << shift >> shift,
                false => ((value as u64) << shift >> shift) as i64,
            }));
        }
        match item {
            Item::Number(Number::Whole(sum)) if bits == 64 => Ok(Item::sum(sum)),
            Item::Number(Number::Whole(Sum {
                base: Some(of),
                offset: 0,
            })) => Ok(Item::Number(Number::Narrow { of, bits, signed })),
            // A wider one has the same value, unless a negative number loses its sign.
            Item::Number(Number::Narrow {
                of,
                bits: have,
                signed: sign,
            }) if have < bits && (bits == 64 || !sign || signed) => {
                Ok(Item::Number(Number::Narrow {
                    of,
                    bits: have,
                    signed: sign,
                }))
            }
            Item::Number(Number::Narrow { of, bits: have, .. }) if have >= bits => {
                Ok(Item::Number(Number::Narrow { of, bits, signed }))
            }
            _ => Err(computed("DW_OP_convert")),
        }
    }

    fn entry_value(&mut self, expression: Slice<'s>) -> Result<Item> {
        let mut operations = Expression(expression).operations(self.context.unit.encoding());
        let (first, second) = (operations.next()?, operations.next()?);
        let (Some(Operation::Register { register }), None) = (first, second) else {
            return Err(computed("DW_OP_entry_value of more than a register"));
        };
        if !self.context.at_entry {
            refuse!("only the caller knows it here: it is what the function was called with (DW_OP_entry_value), so take it at the function's entry");
        }
        Ok(Item::sum(Sum::base(Base::Register(register.0))))
    }
}
