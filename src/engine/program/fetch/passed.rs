// SPDX-License-Identifier: GPL-2.0

//! Arguments and results at the places that the calling convention gives them, and members of
//! structures that are passed by value.

use super::by_value::{no_part, ValueWords};
use super::compile::Compiler;
use super::members::{dotted, LowBits, TypeWalk};
use super::program::{Hop, LoadOrigin};
use super::target;
use crate::engine::code::arch::calling::{ArgumentPlace, ResultPlace};
use crate::engine::code::arch::point::{point_argument, NoPointArgument, PointPlace};
use crate::engine::code::arch::EntryPlace;
use crate::engine::definition::kind::ArgumentsFrom;
use crate::engine::language::lex::Span;
use crate::engine::program::btf::BtfValue;
use crate::engine::program::calling::{self, PassedArguments};
use crate::engine::refusal::error::{Error, Kind};
use crate::engine::util::text::Plain;

/// Number of bits of a word.
const WORD: u32 = 64;

/// How an argument is passed.
#[derive(Clone, Copy)]
enum HowPassed {
    /// Its function is unknown: guess as the kernel does.
    Guessed,
    Known(ArgumentPlace),
    /// Its function is known, but not how it is passed.
    Unknown,
}

impl<'b> Compiler<'_, 'b> {
    /// Returns whether the arguments are those of a tracepoint.
    pub(super) fn are_passed(&self) -> bool {
        self.kind.arguments == ArgumentsFrom::Passed
    }

    /// Begins `walk` with argument `n` of the function, counted from zero; a return probe saves it
    /// at entry. `value` is its type, if known. `is_followed` says whether members are used, or the
    /// whole structure.
    #[inline(never)]
    pub(super) fn passed(
        &mut self,
        walk: &mut TypeWalk<'b>,
        (n, value): (u16, Option<BtfValue<'b>>),
        is_followed: bool,
    ) -> Result<(), Error> {
        let at = walk.at;
        if self.kind.is_user && self.kind.is_return {
            return Err(Error::new(Kind::NofentryArgs, at).with_detail(format_args!(
                "the kernel keeps none until the return: probe the entry, too"
            )));
        }
        if !self.are_passed() && !self.kind.is_return && !self.target.at_entry {
            let error = Error::new(Kind::NofentryArgs, at);
            return Err(match self.kind.is_in_function() {
                true => error,
                false => error.with_detail(format_args!("no function begins: write registers")),
            });
        }
        let structure = value.filter(|value| value.is_structure());
        walk.low = structure.as_ref().and_then(low_bits);
        let (first, is_pointed) = match self.how_passed(n)? {
            HowPassed::Guessed => {
                walk.origin = self.guessed(n, at)?;
                return Ok(());
            }
            HowPassed::Known(ArgumentPlace::Words { first, .. }) => (first, false),
            HowPassed::Known(ArgumentPlace::Pointed(word)) => (word, true),
            HowPassed::Known(ArgumentPlace::Nothing) => {
                return Err(Error::new(Kind::NosupBtfarg, at)
                    .with_detail(format_args!("it is empty, and not passed")));
            }
            HowPassed::Unknown => return Err(unknown(at)),
        };
        let is_on_stack = first >= self.target.arch.isa().argument_registers();
        let is_in_memory = is_pointed || (is_on_stack && !self.are_passed());
        if structure.is_none() || !(is_pointed || is_followed) {
            walk.origin = self.word(first, at)?;
        } else if !is_in_memory || self.kind.is_return {
            let words = match is_pointed {
                true => ValueWords::Behind(first),
                false => ValueWords::Arguments(first),
            };
            walk.origin = self.word_of(words, 0, at)?;
            walk.words = Some(words);
        } else {
            let isa = self.target.arch.isa();
            let offset = match (is_pointed, isa.argument_word(first)) {
                (false, EntryPlace::Stack(n)) => {
                    walk.origin = LoadOrigin::Register(isa.stack_register());
                    i64::from(n).saturating_mul(8)
                }
                _ => {
                    walk.origin = self.word(first, at)?;
                    0
                }
            };
            walk.links.push(Hop::Read {
                offset,
                user: false,
            })?;
            // Otherwise only its first word is recorded, which has no type.
            walk.value = walk.value.filter(|_| is_followed);
        }
        Ok(())
    }

    /// Begins `walk` with argument `n` of the static point that is probed, counted from zero.
    #[inline(never)]
    pub(super) fn of_point(&mut self, walk: &mut TypeWalk<'b>, n: u16) -> Result<(), Error> {
        let at = walk.at;
        let places = self.target.point.unwrap_or_default();
        let isa = self.target.arch.isa();
        let argument = point_argument(places, n.into(), &|text| isa.operand(text));
        let argument = argument.map_err(|why| no_argument(why, at))?;
        match argument.place {
            PointPlace::Register(register) => walk.origin = LoadOrigin::Register(register),
            PointPlace::Memory { register, offset } => {
                walk.origin = LoadOrigin::Register(register);
                walk.links.push(Hop::Read { offset, user: true })?;
            }
            PointPlace::Constant(value) => {
                // CAST: The same bits.
                walk.origin = LoadOrigin::Immediate(value as u64);
            }
        }
        walk.low = (argument.size < 8).then_some(LowBits {
            offset: 0,
            width: argument.size.saturating_mul(8),
            signed: argument.is_signed,
        });
        Ok(())
    }

    /// Begins `walk` with the return value.
    #[inline(never)]
    pub(super) fn result(
        &mut self,
        walk: &mut TypeWalk<'b>,
        is_followed: bool,
    ) -> Result<(), Error> {
        let (at, isa) = (walk.at, self.target.arch.isa());
        walk.origin = LoadOrigin::Register(isa.return_register());
        let Some(function) = self.function() else {
            return Ok(());
        };
        let Some(value) = function.returned() else {
            return Err(Error::new(Kind::BadBtfTid, at));
        };
        if value.is_void() {
            return Err(Error::new(Kind::NoRetval, at));
        }
        walk.value = Some(value);
        let structure = Some(value).filter(|value| value.is_structure());
        walk.low = structure.as_ref().and_then(low_bits);
        match calling::returned(self.target.arch, &function)? {
            None => return Err(unknown(at)),
            Some(ResultPlace::Registers(_)) => {
                walk.words = structure.map(|_| ValueWords::Result);
                return Ok(());
            }
            Some(ResultPlace::Memory) => {}
            Some(ResultPlace::MemoryAtEntry(register)) => {
                let saved = self.saved(LoadOrigin::Register(register), at)?;
                walk.origin = LoadOrigin::EntryData(saved);
            }
        }
        if is_followed {
            walk.links.push(Hop::Read {
                offset: 0,
                user: false,
            })?;
        }
        Ok(())
    }

    /// Begins `walk` with the member that the start of `path` leads to, in a structure passed by
    /// value in `words`. Returns the rest of the path.
    #[inline(never)]
    pub(super) fn part<'p>(
        &mut self,
        walk: &mut TypeWalk<'b>,
        words: ValueWords,
        path: Span<'p>,
    ) -> Result<Option<Span<'p>>, Error> {
        let structure = walk.value.take();
        let Some((structure, path)) = structure.zip(path.strip(b".")) else {
            return Err(path.error(Kind::NoPtrStrct).with_detail(format_args!(
                "it is passed by value, and is no pointer: write . for a member"
            )));
        };
        let found = dotted(structure, path)?;
        walk.at = found.at;
        let (word, offset) = (found.bit_offset / WORD, found.bit_offset % WORD);
        let bits = match found.bit_size {
            Some(bits) => Some(u32::from(bits)),
            None => found.value.bytes().and_then(|size| size.checked_mul(8)),
        };
        let width = bits.filter(|bits| *bits > 0 && offset.saturating_add(*bits) <= WORD);
        let Some(width) = width.filter(|_| !found.value.is_array()) else {
            return Err(no_part(found.value, walk.at));
        };
        let word = u16::try_from(word).map_err(|_| no_part(found.value, walk.at))?;
        walk.origin = self.word_of(words, word, walk.at)?;
        walk.value = Some(found.value);
        let signed = found.value.printed().is_some_and(|base| base.is_signed());
        // CAST: at most 64.
        walk.low = (width < WORD).then_some(LowBits {
            offset: offset as u8,
            width: width as u8,
            signed,
        });
        Ok(found.rest)
    }

    /// Returns how argument `n` of the function is passed.
    #[inline(never)]
    fn how_passed(&mut self, n: u16) -> Result<HowPassed, Error> {
        let Some(function) = self.function() else {
            return Ok(HowPassed::Guessed);
        };
        // A tracepoint's probe has one argument of its own before these.
        let mut n = n.saturating_add(u16::from(self.are_passed()));
        let mut all = PassedArguments::of(self.target.arch, &function)?;
        while let Some((_, passed)) = all.take()? {
            match n.checked_sub(1) {
                None => return Ok(passed.map_or(HowPassed::Unknown, HowPassed::Known)),
                Some(left) => n = left,
            }
        }
        Ok(match all.behind(n) {
            Some(first) => HowPassed::Known(ArgumentPlace::Words { first, count: 1 }),
            None => HowPassed::Unknown,
        })
    }

    /// Returns the origin of argument `n` of an unknown function.
    fn guessed(&mut self, n: u16, at: usize) -> Result<LoadOrigin, Error> {
        match self.are_passed() {
            true => self.word(n.saturating_add(1), at),
            false => self.at_entry(self.target.arch.isa().argument(n), at),
        }
    }

    /// Returns the origin of word `n` of the arguments.
    fn word(&mut self, n: u16, at: usize) -> Result<LoadOrigin, Error> {
        if self.are_passed() {
            // The first word is the probe's own argument.
            let index = n.checked_sub(1).and_then(|n| u8::try_from(n).ok());
            let index = index.filter(|n| *n < target::MAX_TRACEPOINT_ARGUMENTS);
            return index
                .map(LoadOrigin::Register)
                .ok_or(Error::new(Kind::BadArgNum, at));
        }
        self.at_entry(self.target.arch.isa().argument_word(n), at)
    }

    /// Returns the origin of word `n` of the structure in `words`.
    fn word_of(&mut self, words: ValueWords, n: u16, at: usize) -> Result<LoadOrigin, Error> {
        match words {
            ValueWords::Arguments(first) => self.word(first.saturating_add(n), at),
            ValueWords::Behind(word) => {
                let place = self.target.arch.isa().argument_word(word);
                let EntryPlace::Register(reg) = place else {
                    return Err(Error::new(Kind::NosupBtfarg, at).with_detail(format_args!(
                        "it is in memory, whose address is on the stack: probe the entry of the function"
                    )));
                };
                let offset = i32::from(n).saturating_mul(8);
                self.saved(LoadOrigin::Behind { reg, offset }, at)
                    .map(LoadOrigin::EntryData)
            }
            ValueWords::Result => {
                let registers = self.target.arch.isa().return_registers();
                let register = registers.get(usize::from(n)).copied();
                register
                    .map(LoadOrigin::Register)
                    .ok_or(Error::new(Kind::BadBtfTid, at))
            }
        }
    }

    /// Returns the origin of the value at `place` when the function begins.
    fn at_entry(&mut self, place: EntryPlace, at: usize) -> Result<LoadOrigin, Error> {
        let origin = at_entry(place);
        match self.kind.is_return {
            false => Ok(origin),
            true => self.saved(origin, at).map(LoadOrigin::EntryData),
        }
    }
}

/// Returns the refusal of an argument that a static point does not have, or not where it can be
/// read.
#[cold]
#[inline(never)]
fn no_argument(why: NoPointArgument<'_>, at: usize) -> Error {
    let error = Error::new(Kind::BadArgNum, at);
    match why {
        NoPointArgument::Count(count) => {
            error.with_detail(format_args!("the static point has {count}"))
        }
        NoPointArgument::Operand(text) => error.with_detail(format_args!(
            "it is at {}, which is neither a register nor memory at one",
            Plain(text)
        )),
    }
}

/// Returns the load of the value at `place` at function entry.
pub(super) fn at_entry(place: EntryPlace) -> LoadOrigin {
    match place {
        EntryPlace::Register(register) => LoadOrigin::Register(register),
        EntryPlace::Stack(n) => LoadOrigin::Stack(n),
        EntryPlace::Zero => LoadOrigin::Immediate(0),
    }
}

/// Returns the bits of a value that is shorter than a word. Calling conventions leave the other
/// bits of its register undefined.
pub(super) fn low_bits(value: &BtfValue<'_>) -> Option<LowBits> {
    let signed = value
        .unwrapped()
        .printed()
        .is_some_and(|base| base.is_signed());
    match value.size()? {
        size @ 1..=7 => Some(LowBits {
            offset: 0,
            width: size.saturating_mul(8),
            signed,
        }),
        _ => None,
    }
}

/// Returns the refusal of `.` behind the value called `name`, which is not a structure.
#[cold]
#[inline(never)]
pub(super) fn no_dot(
    value: Option<BtfValue<'_>>,
    name: &dyn core::fmt::Display,
    path: Span<'_>,
) -> Error {
    let error = path.error(Kind::NosupDatArg);
    let pointee = value.and_then(|value| value.pointee()).flatten();
    let Some(structure) = pointee.filter(|pointee| pointee.is_structure()) else {
        return error.with_detail(format_args!(
            "it is neither a structure nor a pointer to one"
        ));
    };
    match dotted(structure, path) {
        Ok(_) => error.with_detail(format_args!("write {name}->{}", Plain(path.bytes))),
        Err(_) => error.with_detail(format_args!(
            "it is a pointer to a struct {of}, which has no such member: write {name}->MEMBER",
            of = Plain(structure.structure_name().unwrap_or_default())
        )),
    }
}

/// Returns the refusal of an argument or result at an unknown place.
#[cold]
#[inline(never)]
fn unknown(at: usize) -> Error {
    Error::new(Kind::NosupBtfarg, at).with_detail(format_args!(
        "where it is passed is not known: it, or what is before it, is a floating-point number or a vector"
    ))
}
