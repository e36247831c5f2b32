// SPDX-License-Identifier: GPL-2.0

//! Writes an object as a fetch argument.

use super::access::Object;
use super::kind::Wanted;
use crate::arch::Arch;
use crate::error::{Refusal, Result};
use crate::place::{Base, Number, Place, Sum};
use crate::refuse;
use crate::symbols::Symbols;
use crate::types::{Kind, Type};

/// How deep a definition may nest.
const DEEPEST: usize = 8;
/// Characters of an argument.
const LONGEST: usize = 255;

/// What names registers and data in definitions.
pub struct Names<'a, 'd> {
    /// The architecture.
    pub arch: Arch,
    /// The symbols.
    pub symbols: &'a Symbols<'a, 'd>,
}

/// An argument of a definition, without its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetch {
    /// What is fetched.
    pub text: String,
    /// Its type.
    pub kind: String,
}

impl Names<'_, '_> {
    /// `object` as `wanted`, or as the type that it has.
    pub fn fetch(&self, object: &Object, wanted: Option<&str>) -> Result<Fetch> {
        let wanted = wanted.map(Wanted::parse).transpose()?;
        let fetch = match (&wanted, object.bits) {
            (Some(Wanted::Text(name)), None) => self.text(object, name)?,
            (Some(Wanted::Array(_, size, count)), None) => {
                let whole = size
                    .checked_mul(*count)
                    .filter(|whole| *whole <= object.kind.size);
                if whole.is_none() {
                    refuse!(
                        "it has {} bytes, fewer than were asked for",
                        object.kind.size
                    );
                }
                self.memory(
                    object,
                    &wanted.map(|wanted| wanted.text()).unwrap_or_default(),
                )?
            }
            (_, Some(bits)) => self.bit_field(object, bits, wanted.as_ref())?,
            (None, None) => self.number(object, &Wanted::of(&object.kind)?)?,
            (Some(wanted), None) => self.number(object, wanted)?,
        };
        if fetch.text.len() + 1 + fetch.kind.len() > LONGEST {
            refuse!("its definition has more than {LONGEST} characters");
        }
        Ok(fetch)
    }

    /// A number, at most as wide as the object.
    fn number(&self, object: &Object, wanted: &Wanted) -> Result<Fetch> {
        if matches!(wanted, Wanted::Array(..) | Wanted::Text(_)) {
            return self.memory(object, &wanted.text());
        }
        let size = wanted.size();
        let truth = matches!(object.kind.kind, Kind::Integer { truth: true, .. });
        if let Kind::Other(what) = object.kind.kind {
            refuse!("it is {what}, which cannot be fetched");
        }
        if size > object.kind.size {
            refuse!(
                "it has {} bytes, fewer than {}",
                object.kind.size,
                wanted.text()
            );
        }
        let (place, start) = object.part()?;
        let kind = wanted.text();
        match place {
            Place::Memory(_) => self.memory(object, &kind),
            Place::Bytes(known) => constant(&known, start, size, &object.kind, kind),
            Place::Value(Number::Whole(Sum { base: None, offset })) => {
                constant(&offset.to_le_bytes(), start, size, &object.kind, kind)
            }
            Place::Value(Number::Whole(Sum {
                base: Some(base),
                offset: 0,
            })) => self.whole(&base, start, (wanted, truth)),
            Place::Value(Number::Whole(sum)) => Err(self.sum_refused(&sum)),
            Place::Value(Number::Narrow { of, bits, signed }) => {
                self.narrow(&of, (bits, signed), start, (wanted, truth))
            }
            Place::Pieces(_) => refuse!("it is in pieces of pieces"),
        }
    }

    /// A part of a base of 64 bits.
    fn whole(&self, base: &Base, start: u64, wanted: (&Wanted, bool)) -> Result<Fetch> {
        let (wanted, truth) = wanted;
        let size = wanted.size();
        if start.saturating_add(size * 8) > 64 {
            refuse!("it has more than the 64 bits of a register");
        }
        if let Base::Load(address) = base {
            let address = address.as_ref().clone().plus(byte(start)?);
            return Ok(Fetch {
                text: self.read(&address, false)?,
                kind: wanted.text(),
            });
        }
        let kind = match (wanted, start) {
            // As for a variable: the other bits are anything.
            (Wanted::Number('u', 1), start) if truth => format!("b1@{start}/64"),
            (_, 0) => wanted.text(),
            (Wanted::Number('u', size), start) => format!("b{}@{start}/64", size * 8),
            _ => refuse!("it is in the upper bits of a register, of which only numbers without sign can be fetched: ask for one, such as :u{}", size * 8),
        };
        Ok(Fetch {
            text: self.base(base)?,
            kind,
        })
    }

    /// The low bits of a base, extended.
    fn narrow(
        &self,
        of: &Base,
        (bits, signed): (u32, bool),
        start: u64,
        (wanted, truth): (&Wanted, bool),
    ) -> Result<Fetch> {
        let size = wanted.size();
        let have = u64::from(bits);
        if start != 0 {
            refuse!("it is a part of a number that is computed");
        }
        if size * 8 <= have {
            return self.whole(of, 0, (wanted, truth));
        }
        let kind = match (wanted, signed, have) {
            // Without a sign the upper bits are zero, whatever the type is.
            (Wanted::Number('s' | 'u', _), false, 8 | 16 | 32) => format!("u{have}"),
            // One bit of a truth value, whose container does not matter.
            (Wanted::Bits(1, 0, 8), false, _) => wanted.text(),
            (Wanted::Number('x', _), false, 8 | 16 | 32) => format!("x{have}"),
            (Wanted::Number(..), false, _) => format!("b{have}@0/64"),
            (Wanted::Number('s', _), true, 8 | 16 | 32) => format!("s{have}"),
            _ => refuse!("it is computed from {have} bits here, which a definition cannot do"),
        };
        let text = match of {
            Base::Load(address) => self.read(address, false)?,
            of => self.base(of)?,
        };
        Ok(Fetch { text, kind })
    }

    /// A bit field, with the smallest aligned container that has all of it.
    fn bit_field(&self, object: &Object, bits: u64, wanted: Option<&Wanted>) -> Result<Fetch> {
        let unsigned = match (&object.kind.kind, wanted) {
            (_, Some(Wanted::Number('u' | 'x', _))) => true,
            (Kind::Integer { signed, .. }, None) => !signed,
            (_, None) => refuse!("it is a bit field of an unknown type"),
            (_, Some(_)) => refuse!(
                "a bit field can be fetched as a number without sign only: leave its type out"
            ),
        };
        if !unsigned {
            refuse!("it is a bit field with a sign, which b{bits}@ would lose: ask for the bits with :u{}", (object.kind.size * 8).max(8));
        }
        let (place, start) = object.part()?;
        let in_container = |container: u64| {
            let first = start / container * container;
            (start + bits <= first + container).then_some((container, first))
        };
        match place {
            Place::Memory(address) => {
                let mut containers = [8, 16, 32, 64].into_iter();
                let Some((container, first)) = containers.find_map(in_container) else {
                    refuse!("it is a bit field that crosses words");
                };
                Ok(Fetch {
                    text: self.read(&address.plus(byte(first)?), object.user)?,
                    kind: format!("b{bits}@{}/{container}", start - first),
                })
            }
            Place::Value(Number::Whole(Sum {
                base: Some(base),
                offset: 0,
            })) if start + bits <= 64 => Ok(Fetch {
                text: match &base {
                    Base::Load(address) => self.read(address, false)?,
                    base => self.base(base)?,
                },
                kind: format!("b{bits}@{start}/64"),
            }),
            _ => refuse!("it is a bit field of something that is computed"),
        }
    }

    /// Text: characters in memory, or what a pointer to them points to.
    fn text(&self, object: &Object, name: &str) -> Result<Fetch> {
        let address = match &object.kind.kind {
            Kind::Array { .. }
                if object.kind.size > 0 || matches!(object.place, Place::Memory(_)) =>
            {
                return self.memory(object, name);
            }
            Kind::Pointer(_) => {
                let (place, start) = object.part()?;
                match (place, start) {
                    (Place::Memory(address), start) => {
                        if object.user {
                            refuse!("a pointer in user memory can be followed only once");
                        }
                        Sum::base(Base::Load(Box::new(address.plus(byte(start)?))))
                    }
                    (Place::Value(Number::Whole(sum)), 0) if sum.base.is_some() => sum,
                    _ => refuse!("where its text is cannot be fetched"),
                }
            }
            _ => refuse!("it is neither a pointer nor an array, so it is no text"),
        };
        Ok(Fetch {
            text: self.read(&address, name == "ustring")?,
            kind: name.into(),
        })
    }

    /// What is in memory, as the type `kind`.
    fn memory(&self, object: &Object, kind: &str) -> Result<Fetch> {
        let (place, start) = object.part()?;
        let Place::Memory(address) = place else {
            refuse!("it is not in memory, so it cannot be fetched as {kind}");
        };
        Ok(Fetch {
            text: self.read(&address.plus(byte(start)?), object.user)?,
            kind: kind.into(),
        })
    }

    /// A read of the memory at `address`.
    fn read(&self, address: &Sum, user: bool) -> Result<String> {
        self.read_at_depth(address, user, 1)
    }

    fn read_at_depth(&self, address: &Sum, user: bool, depth: usize) -> Result<String> {
        if depth > DEEPEST {
            refuse!("it takes more than {DEEPEST} reads, one inside the other");
        }
        let inner = match &address.base {
            None => refuse!("it is at the constant address {:#x}", address.offset),
            // CAST: addresses wrap.
            Some(Base::Symbol(start)) => {
                let address = start.wrapping_add(address.offset as u64);
                return Ok(format!("@{}", self.symbols.data(address)?));
            }
            Some(Base::Register(number)) => self.register(*number)?,
            Some(Base::Load(inner)) => self.read_at_depth(inner, false, depth + 1)?,
        };
        let sign = if address.offset < 0 { '-' } else { '+' };
        let user = if user { "u" } else { "" };
        let offset = address.offset.unsigned_abs();
        Ok(format!("{sign}{user}{offset}({inner})"))
    }

    /// Where a structure or an array is, in words.
    pub fn aggregate(&self, place: &Place) -> Result<String> {
        Ok(match place {
            Place::Memory(address) => self.read(address, false)?,
            Place::Value(Number::Whole(Sum {
                base: Some(base),
                offset: 0,
            })) => self.base(base)?,
            Place::Value(_) => refuse!("it is computed here"),
            Place::Bytes(_) => "a constant".into(),
            Place::Pieces(_) => "in pieces".into(),
        })
    }

    fn base(&self, base: &Base) -> Result<String> {
        match base {
            Base::Register(number) => self.register(*number),
            Base::Load(address) => self.read(address, false),
            Base::Symbol(_) => refuse!("it is the address of a variable or function of the kernel, which differs from boot to boot"),
        }
    }

    fn register(&self, number: u16) -> Result<String> {
        match self.arch.register(number) {
            Some(name) => Ok(format!("%{name}")),
            None => {
                refuse!("it is in register {number} of DWARF, which a definition does not have")
            }
        }
    }

    fn sum_refused(&self, sum: &Sum) -> Refusal {
        let base = match &sum.base {
            Some(Base::Register(number)) => self.register(*number).unwrap_or_default(),
            Some(Base::Symbol(_)) => {
                return Refusal::new("it is the address of a variable or function of the kernel, which differs from boot to boot");
            }
            Some(Base::Load(_)) => "a word in memory".into(),
            None => String::new(),
        };
        Refusal::new(format!(
            "its value is {base}{:+}, a sum, which a definition cannot compute; what it points to can be fetched",
            sum.offset
        ))
    }
}

/// Where in bytes something begins.
fn byte(bits: u64) -> Result<i64> {
    if bits % 8 != 0 {
        refuse!("it does not begin at a byte");
    }
    i64::try_from(bits / 8).map_err(|_| Refusal::new("it is too far away"))
}

/// A constant of `size` bytes, with the sign that the type of C gives it.
fn constant(known: &[u8], start: u64, size: u64, kind: &Type, wanted: String) -> Result<Fetch> {
    let start = usize::try_from(byte(start)?).unwrap_or(usize::MAX);
    let end = start.saturating_add(usize::try_from(size).unwrap_or(usize::MAX));
    let Some(found) = known.get(start..end) else {
        refuse!("damaged debug information: a constant that is too short");
    };
    let mut bytes = [0; 8];
    if let Some(low) = bytes.get_mut(..found.len()) {
        low.copy_from_slice(found);
    }
    let raw = u64::from_le_bytes(bytes);
    let signed = matches!(kind.kind, Kind::Integer { signed: true, .. });
    let text = match signed {
        true => {
            let shift = 64_u64.saturating_sub(size * 8);
            // CAST: extends the sign.
            format!("\\{}", (raw << shift) as i64 >> shift)
        }
        false => format!("\\{raw}"),
    };
    Ok(Fetch { text, kind: wanted })
}
