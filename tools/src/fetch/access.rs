// SPDX-License-Identifier: GPL-2.0

//! From a variable to a part of it, step by step.

use super::expression::Step;
use crate::debug::{Debug, Unit};
use crate::error::{Refusal, Result};
use crate::place::{Base, Number, Place, Sum};
use crate::refuse;
use crate::types::{self, Kind, Type};

/// An object: a variable, a part of one, or what a pointer points to.
#[derive(Debug, Clone)]
pub struct Object {
    /// Where the variable is.
    pub place: Place,
    /// Where in it the object begins, in bits.
    pub start: u64,
    /// How many bits it has, if it is a bit field.
    pub bits: Option<u64>,
    /// Its type.
    pub kind: Type,
    /// Whether it is in user memory.
    pub user: bool,
    /// How many bits the variable has.
    pub whole: u64,
    /// Whether the function is about to run its first instruction.
    pub at_entry: bool,
}

impl Object {
    /// How many bits it has.
    pub fn width(&self) -> u64 {
        self.bits.unwrap_or(self.kind.size.saturating_mul(8))
    }

    /// Where its bits are: a place that is not in pieces, and where in it they begin.
    ///
    /// GCC follows variables that are numbers through all its passes, but a structure in a register
    /// only by the name of the register: when a part of it is taken out in place, it still says
    /// that the register has it all. So a part of a register is refused, except at the
    /// function's entry, where the calling convention says what registers have.
    pub fn part(&self) -> Result<(Place, u64)> {
        let (place, start, whole) = find(&self.place, self.start, self.width(), self.whole)?;
        let in_register = match &place {
            Place::Value(Number::Whole(sum)) => matches!(sum.base, Some(Base::Register(_))),
            Place::Value(Number::Narrow { of, .. }) => matches!(of, Base::Register(_)),
            _ => false,
        };
        if in_register && !self.at_entry && self.width() < whole {
            refuse!("it is a part of a structure in a register, which compilers do not follow reliably: take it at the function's entry");
        }
        Ok((place, start))
    }
}

/// Takes `steps` from `object`; with `user`, the last pointer points to user memory.
pub fn walk<'s>(
    debug: &Debug<'s>,
    unit: &Unit<'s>,
    mut object: Object,
    steps: &[Step],
    user: bool,
) -> Result<Object> {
    let last = steps.iter().rposition(|step| !matches!(step, Step::Dot(_)));
    let mut path = String::new();
    for (at, step) in steps.iter().enumerate() {
        let user = user && last == Some(at);
        let failed = |refusal: Refusal| match path.as_str() {
            "" => refusal,
            path => refusal.about(path),
        };
        object = match step {
            Step::Arrow(name) => {
                let pointed = follow(debug, unit, &object, 0, user).map_err(failed)?;
                member(debug, unit, pointed, name).map_err(failed)?
            }
            Step::Dot(name) => {
                if matches!(object.kind.kind, Kind::Pointer(_)) {
                    refuse!("it is a pointer: write ->{name}");
                }
                member(debug, unit, object, name).map_err(failed)?
            }
            Step::Index(index) => element(debug, unit, object, *index, user).map_err(failed)?,
        };
        path = match step {
            Step::Arrow(name) | Step::Dot(name) => name.clone(),
            Step::Index(index) => format!("[{index}]"),
        };
    }
    Ok(object)
}

/// The member of a structure that has only one, as large as itself, such as `kuid_t`; any other
/// object as it is.
pub fn only_member<'s>(debug: &Debug<'s>, unit: &Unit<'s>, mut object: Object) -> Result<Object> {
    while object.kind.kind == Kind::Structure {
        let Some(only) = types::only_member(debug, unit, object.kind.entry)? else {
            break;
        };
        let kind = types::read(debug, unit, only)?;
        if kind.size != object.kind.size {
            break;
        }
        object.kind = kind;
    }
    Ok(object)
}

/// What `object` points to, or the element `index` behind that.
fn follow<'s>(
    debug: &Debug<'s>,
    unit: &Unit<'s>,
    object: &Object,
    index: u64,
    user: bool,
) -> Result<Object> {
    let Kind::Pointer(target) = object.kind.kind else {
        refuse!("it is no pointer");
    };
    let Some(target) = target else {
        refuse!("it is a void pointer: nothing is known of what it points to");
    };
    let kind = types::read(debug, unit, target)?;
    let offset = match index {
        0 => 0,
        _ if kind.size == 0 => refuse!("the size of what it points to is not known"),
        _ => index
            .checked_mul(kind.size)
            .and_then(|at| i64::try_from(at).ok())
            .ok_or_else(too_far)?,
    };
    if object.user {
        refuse!("a pointer in user memory can be followed only once");
    }
    let address = address(object)?.plus(offset);
    if address.base.is_none() {
        refuse!("it is the constant {:#x}", address.offset);
    }
    Ok(Object {
        place: Place::Memory(address),
        start: 0,
        bits: None,
        kind,
        user,
        ..*object
    })
}

fn too_far() -> Refusal {
    Refusal::new("the index is too large")
}

/// The 64 bits of a pointer.
fn address(object: &Object) -> Result<Sum> {
    match object.part()? {
        (Place::Memory(address), start) => {
            Ok(Sum::base(Base::Load(Box::new(address.plus(bytes(start)?)))))
        }
        (Place::Value(Number::Whole(sum)), 0) => Ok(sum),
        (
            Place::Value(Number::Whole(Sum {
                base: Some(Base::Load(address)),
                offset: 0,
            })),
            start,
        ) => Ok(Sum::base(Base::Load(Box::new(address.plus(bytes(start)?))))),
        (Place::Value(_), _) => refuse!("only a part of the pointer is there"),
        (Place::Bytes(known), start) => {
            let start = usize::try_from(start / 8).map_err(|_| too_far())?;
            let bytes = known
                .get(start..start + 8)
                .and_then(|bytes| bytes.try_into().ok());
            match bytes {
                Some(bytes) => Ok(Sum::constant(i64::from_le_bytes(bytes))),
                None => refuse!("damaged debug information: a short constant"),
            }
        }
        (Place::Pieces(_), _) => refuse!("the pointer is in several pieces"),
    }
}

/// As many bytes as `bits` are, which are whole ones.
fn bytes(bits: u64) -> Result<i64> {
    if bits % 8 != 0 {
        refuse!("it does not begin at a byte");
    }
    i64::try_from(bits / 8).map_err(|_| too_far())
}

/// The place of `bits` bits from `start` on, where in it they begin, and how many bits of the
/// variable it has.
fn find(place: &Place, start: u64, bits: u64, whole: u64) -> Result<(Place, u64, u64)> {
    let Place::Pieces(pieces) = place else {
        return Ok((place.clone(), start, whole));
    };
    let mut begin = 0_u64;
    for piece in pieces {
        let end = begin.saturating_add(piece.bits);
        if start >= begin && start < end {
            if start.saturating_add(bits) > end {
                refuse!("it is spread over several registers or words");
            }
            return match &piece.place {
                Ok(place) => Ok((place.clone(), start - begin + piece.start, piece.bits)),
                Err(why) => refuse!("{why}"),
            };
        }
        begin = end;
    }
    refuse!("the compiler removed this part of it")
}

/// The member `name` of a structure.
fn member<'s>(debug: &Debug<'s>, unit: &Unit<'s>, object: Object, name: &str) -> Result<Object> {
    match object.kind.kind {
        Kind::Structure => {}
        Kind::Other(what) => refuse!("it is {what}"),
        _ => refuse!("it is no structure, so it has no member {name}"),
    }
    let found = types::member(debug, unit, object.kind.entry, name)?;
    let Some(found) = found else {
        let structure = match object.kind.name.as_str() {
            "" => "the structure".into(),
            name => format!("struct {name}"),
        };
        refuse!("{structure} has no member {name}");
    };
    Ok(Object {
        start: object.start.saturating_add(found.start),
        bits: found.bits,
        kind: types::read(debug, unit, found.entry)?,
        ..object
    })
}

/// The element `index` of an array, or behind a pointer.
fn element<'s>(
    debug: &Debug<'s>,
    unit: &Unit<'s>,
    mut object: Object,
    index: u64,
    user: bool,
) -> Result<Object> {
    let (element, counts) = match &object.kind.kind {
        Kind::Pointer(_) => return follow(debug, unit, &object, index, user),
        Kind::Array { element, counts } => (*element, counts.clone()),
        _ => refuse!("it is neither an array nor a pointer, so it has no [{index}]"),
    };
    let mut counts = counts.into_iter();
    if let Some(Some(count)) = counts
        .next()
        .filter(|count| count.is_none_or(|count| index >= count))
    {
        refuse!(
            "it has {count} elements, the last is [{}]",
            count.saturating_sub(1)
        );
    }
    let rest: Vec<_> = counts.collect();
    let inner = types::read(debug, unit, element)?;
    let all = rest
        .iter()
        .try_fold(inner.size, |size, count| size.checked_mul((*count)?));
    let size = all.filter(|size| *size > 0);
    let Some(size) = size else {
        refuse!("the size of an element is not known");
    };
    let offset = index.checked_mul(size).and_then(|at| at.checked_mul(8));
    let start = offset.and_then(|offset| object.start.checked_add(offset));
    object.start = start.filter(|start| *start < 1 << 40).ok_or_else(too_far)?;
    object.kind = match rest.is_empty() {
        true => inner,
        false => Type {
            kind: Kind::Array {
                element,
                counts: rest,
            },
            size,
            ..object.kind
        },
    };
    Ok(object)
}
