// SPDX-License-Identifier: GPL-2.0

//! Kernel variables with members, and per-CPU variables.

use super::compile::Compiler;
use super::members::{index, TypeWalk};
use super::program::{Hop, LoadOrigin};
use super::target::CpuInstance;
use crate::engine::language::lex::{self, Span};
use crate::engine::program::btf::BtfValue;
use crate::engine::refusal::error::{Error, Kind};
use crate::engine::util::text::Plain;
use crate::sys::Vec;

impl<'b> Compiler<'_, 'b> {
    /// Begins `walk` with the kernel variable `name`, and the CPU that the start of `path` may
    /// select. Returns the members behind it.
    #[inline(never)]
    pub(super) fn variable<'p>(
        &mut self,
        walk: &mut TypeWalk<'b>,
        name: Span<'_>,
        path: Span<'p>,
    ) -> Result<Option<Span<'p>>, Error> {
        if let Some(address) = self.dotted(name, path)? {
            walk.origin = LoadOrigin::Immediate(address);
            walk.at = name.at;
            walk.links.push(Hop::Read {
                offset: 0,
                user: false,
            })?;
            return Ok(None);
        }
        let Some(address) = self.target.symbols.address(name.bytes) else {
            return Err(self.no_data_symbol(name.bytes, name.at));
        };
        let value = self.target.btf;
        let value = value.and_then(|btf| btf.per_cpu_variable(name.bytes));
        let is_per_cpu = value.is_some() || self.target.symbols.is_per_cpu(address);
        if !is_per_cpu {
            return Err(no_type(name, path));
        }
        if path.first() != Some(b'[') {
            return Err(which_cpu(name, path, value));
        }
        let (cpu, rest) = index(path).map_err(|error| match error.kind {
            Kind::BadArrayNum => error.with_detail(format_args!(
                "it is the number of a CPU: write this_cpu_ptr(@{}) for this one",
                Plain(name.bytes)
            )),
            _ => error,
        })?;
        let place = match self.target.symbols.of_cpu(address, cpu) {
            CpuInstance::At(place) => place,
            CpuInstance::Last(last) => {
                let error = path.skip(1).error(Kind::BadArrayNum);
                return Err(error.with_detail(format_args!("the last CPU is {last}")));
            }
        };
        walk.origin = LoadOrigin::Immediate(place);
        walk.at = name.at;
        match (value, rest.bytes.is_empty()) {
            (None, false) => Err(no_type(name, path)),
            (value, is_end) => {
                walk.links.push(Hop::Read {
                    offset: 0,
                    user: false,
                })?;
                walk.value = value;
                let rest = rest.strip(b"->").unwrap_or(rest);
                Ok(Some(rest).filter(|_| !is_end))
            }
        }
    }
}

impl Compiler<'_, '_> {
    /// Returns the address of the symbol `name.path`, as clang calls static variables of functions:
    /// `FUNCTION.VARIABLE`. `None` if there is none.
    fn dotted(&mut self, name: Span<'_>, path: Span<'_>) -> Result<Option<u64>, Error> {
        if path.first() != Some(b'.') || path.find(b'[').is_some() {
            return Ok(None);
        }
        let sign = path.find_by(|b| matches!(b, b'+' | b'-'));
        let end = sign.unwrap_or(path.bytes.len());
        let offset = match path.skip(end).bytes {
            [] => Some(0),
            offset => lex::signed(offset.strip_prefix(b"+").unwrap_or(offset)),
        };
        let mut symbol = Vec::from_slice(name.bytes)?;
        for &byte in path.take(end).bytes {
            symbol.push(byte)?;
        }
        let address = self.target.symbols.address(&symbol);
        Ok(address
            .zip(offset)
            .map(|(at, by)| at.wrapping_add_signed(by)))
    }
}

/// Returns the refusal of members of a variable without a known type.
#[cold]
#[inline(never)]
fn no_type(name: Span<'_>, path: Span<'_>) -> Error {
    let error = path.error(Kind::NoPtrStrct);
    let (name, text) = (Plain(name.bytes), Plain(path.bytes));
    match path.first() {
        Some(b'[') => error.with_detail(format_args!(
            "the kernel's types do not tell of it: write @{name}+OFFSET, with the offset of the \
             element in bytes"
        )),
        _ => error.with_detail(format_args!(
            "the kernel's types do not tell of it: write (struct NAME *)@{name}{text}"
        )),
    }
}

/// Returns the refusal of a per-CPU variable without a CPU.
#[cold]
#[inline(never)]
fn which_cpu(name: Span<'_>, path: Span<'_>, value: Option<BtfValue<'_>>) -> Error {
    let members = path.strip(b".").or(path.strip(b"->")).unwrap_or(path);
    let is_structure = value.is_some_and(|value| value.is_structure());
    let (arrow, how) = match is_structure {
        true => (".", "ptr"),
        false => ("->", "read"),
    };
    path.error(Kind::NoPtrStrct).with_detail(format_args!(
        "each CPU has one: write @{name}[CPU]{arrow}{members}, or this_cpu_{how}(@{name})->{members}",
        name = Plain(name.bytes),
        members = Plain(members.bytes),
    ))
}
