// SPDX-License-Identifier: GPL-2.0

//! Finds the tracepoint of a definition.

use crate::{
    engine::{
        definition::ast::{Definition, Place, Which},
        program::{btf::declare::Parameters, fetch::MAX_TRACEPOINT_ARGUMENTS},
        refusal::{
            error::{Errno, Error as Refusal, Kind},
            suggest::distance::Nearest,
        },
        util::{glob, text::Plain},
    },
    kapi::{
        context::is_being_killed,
        tracepoint::{self, Tracepoint, Tracepoints, Unsupported},
    },
    source::types,
    sys::{AllocError, Vec},
};
use core::fmt;
use kernel::prelude::*;

const _: () = assert!(tracepoint::MAX_ARGUMENTS == MAX_TRACEPOINT_ARGUMENTS as usize);

/// Prefix of the stub function, which has the type of a tracepoint's probes.
const STUB: &[u8] = b"__probestub_";

/// A tracepoint and the name of its stub function.
pub(crate) struct Point {
    pub(super) tracepoint: Tracepoint,
    pub(super) function: Vec<u8>,
}

/// Looks up the tracepoint of `definition`. Returns `None` if no loaded code has it: it may belong
/// to a module.
///
/// # Errors
///
/// `NO_TRACEPOINT` if tracepoints with similar names exist, or if the kernel's tracepoints
/// cannot be probed.
///
/// Context: process, may sleep.
pub(super) fn find(
    definition: &Definition,
    tracepoints: &Tracepoints,
) -> Result<Option<Point>, Refusal> {
    let at = definition.place_at;
    let refusal = || Refusal::new(Kind::NoTracepoint, at);
    let name = match &definition.place {
        Place::Symbol { name, .. } => name,
        _ => return Err(refusal()),
    };
    tracepoint::support().map_err(|reason| {
        let reason = match reason {
            Unsupported::None => "this kernel has none (CONFIG_TRACEPOINTS)",
            Unsupported::Cfi => {
                "this kernel checks the type of each probe (CONFIG_CFI), and has no ftrace \
                 (CONFIG_DYNAMIC_FTRACE), which would report them"
            }
        };
        refusal().with_detail(format_args!("{reason}"))
    })?;
    let found = tracepoints.find(name);
    if let Some(tracepoint) = found.map_err(|_| Refusal::new(Kind::NoMemory, at))? {
        let is_reported = tracepoint.is_reported();
        if !is_reported.map_err(|_| Refusal::new(Kind::NoMemory, at))? {
            let refusal = refusal().with_errno(Errno::EOPNOTSUPP);
            return Err(refusal.with_detail(format_args!(
                "this kernel checks the type of each probe (CONFIG_CFI), and ftrace does not \
                 report this one's stub, which has its type"
            )));
        }
        let mut function = Vec::from_slice(STUB)?;
        function.extend_from_slice(name)?;
        return Ok(Some(Point {
            tracepoint,
            function,
        }));
    }
    let mut nearest = Nearest::to(name);
    tracepoints.each(|other, _| nearest.consider(other.to_bytes()));
    if nearest.is_none() {
        return Ok(None);
    }
    Err(refusal().with_detail(format_args!(
        "did you mean {nearest}? (load the module first if one has it)"
    )))
}

/// Returns a location for each tracepoint that `definition`, a pattern, matches.
///
/// # Errors
///
/// `NO_TRACEPOINT` if there are none, or too many.
///
/// Context: process, may sleep.
pub(crate) fn each(
    definition: &Definition,
    tracepoints: &Tracepoints,
) -> Result<Vec<Place>, Refusal> {
    /// Maximum number of tracepoints of one definition.
    const MAX: usize = 512;

    let refusal = || Refusal::new(Kind::NoTracepoint, definition.place_at);
    let mut places = Vec::new();
    let Place::Symbol { name: pattern, .. } = &definition.place else {
        return Ok(places);
    };
    let mut result = Ok(());
    tracepoints.each(|name, _| {
        if result.is_ok() && glob::matches(pattern, name.to_bytes()) {
            result = Vec::from_slice(name.to_bytes()).and_then(|name| {
                places.push(Place::Symbol {
                    name,
                    which: Which::Only,
                    offset: 0,
                })
            });
        }
    });
    result?;
    match places.len() {
        0 => Err(refusal().with_detail(format_args!(
            "none matches {}, see available_tracepoints",
            Plain(pattern)
        ))),
        count if count > MAX => Err(refusal().with_detail(format_args!(
            "{count} match {}, where at most {MAX} can",
            Plain(pattern)
        ))),
        _ => Ok(places),
    }
}

/// Writes the tracepoints, one a line: `NAME(TYPE NAME, ...)`. The line of a module's
/// tracepoint ends in `[MODULE]`. If there is no type information, a line has only the name.
///
/// # Errors
///
/// The errors of `out`, also when there is no memory.
///
/// Context: process, may sleep.
pub(crate) fn write_all(
    tracepoints: &Tracepoints,
    types: &mut types::Cache,
    out: &mut dyn fmt::Write,
) -> fmt::Result {
    let mut modules: Vec<Option<Vec<u8>>> = Vec::new();
    modules.push(None).map_err(no_memory)?;
    let mut result = Ok(());
    tracepoints.each(|_, module| {
        let name = module.map(|name| name.to_bytes());
        let is_known = modules.iter().any(|known| known.as_deref() == name);
        if result.is_ok() && !is_known {
            result = name
                .map(Vec::from_slice)
                .transpose()
                .and_then(|name| modules.push(name));
        }
    });
    result.map_err(no_memory)?;
    for module in &modules {
        if is_being_killed() {
            return Err(fmt::Error);
        }
        let module = module.as_deref();
        let written = types.with(module, |btf| {
            // If the module has no type information, this is the kernel's.
            let Some(btf) = btf.filter(|btf| btf.is_module() == module.is_some()) else {
                return Ok(false);
            };
            let (mut result, mut any) = (Ok(()), false);
            btf.each_function(STUB, |name, function| {
                any = true;
                if result.is_ok() {
                    let parameters = Parameters::of(&function, 1).map_err(no_memory);
                    result = parameters.and_then(|parameters| {
                        write!(out, "{}({parameters})", Plain(name))?;
                        end(module, out)
                    });
                }
            });
            result.map(|()| any)
        });
        if written.map_err(no_memory)?? {
            continue;
        }
        let mut result = Ok(());
        tracepoints.each(|name, of| {
            if result.is_ok() && of.map(|of| of.to_bytes()) == module {
                result = write!(out, "{}", Plain(name.to_bytes())).and_then(|()| end(module, out));
            }
        });
        result?;
    }
    Ok(())
}

/// Writes the end of a tracepoint's line.
fn end(module: Option<&[u8]>, out: &mut dyn fmt::Write) -> fmt::Result {
    match module {
        Some(module) => writeln!(out, " [{}]", Plain(module)),
        None => out.write_char('\n'),
    }
}

fn no_memory(_: AllocError) -> fmt::Error {
    fmt::Error
}
