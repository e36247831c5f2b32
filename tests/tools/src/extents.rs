// SPDX-License-Identifier: GPL-2.0

//! What is called probeable, beside the extents that the file's own symbols tell.
//!
//! For a kernel or module with the sizes of its symbols, and on arm64 the marks of
//! data (`$d`). The map is told nothing of these.

use crate::elf::Elf;
use crate::{facts, map, Failure};
use ferroprobe_engine::engine::code::placement::{JudgedFunction, Placement, Verdict, Why};
use std::io::Write;
use std::ops::Range;

/// What was found.
#[derive(Default)]
struct Counts {
    functions: usize,
    without_size: usize,
    probeable: usize,
    wrong: usize,
    refused: usize,
    refused_functions: usize,
}

/// Judges every function of `data`; lists what is wrong. Fails if something is
/// called probeable that is no instruction of a function.
pub(crate) fn run(data: &[u8], out: &mut impl Write) -> Result<(), Failure> {
    let elf = Elf::parse(data)?;
    let regions = facts::regions(&elf);
    let ways = facts::Ways::of(&elf);
    let mut counts = Counts::default();
    let mut last = None;
    for symbol in elf.symbols.iter().filter(|symbol| symbol.is_code) {
        if last.replace(symbol.address) == Some(symbol.address) {
            continue;
        }
        let Some(place) = elf.function(symbol.address).filter(|at| !at.is_empty()) else {
            continue;
        };
        let Some(own) = elf.extent(symbol.address) else {
            counts.without_size += 1;
            continue;
        };
        counts.functions += 1;
        let bytes = elf.bytes(&place).ok_or("a function without bytes")?;
        let near = facts::near(&regions, &place);
        let ways = ways.near(&elf, &place, &bytes, symbol.name.as_bytes());
        let function = JudgedFunction {
            name: symbol.name.as_bytes(),
            address: place.start,
            bytes: &bytes,
            arch: elf.arch,
            facts: map::facts_of(&elf, &near, &ways),
        };
        judge(&elf, &function, &own, &mut counts, out)?;
    }
    let Counts {
        functions,
        without_size,
        probeable,
        wrong,
        refused,
        refused_functions,
    } = counts;
    writeln!(
        out,
        "functions {functions} without a size {without_size} probeable {probeable} \
         of these wrong {wrong}\n\
         refused as behind the end {refused} in {refused_functions} functions"
    )?;
    match wrong {
        0 => Ok(()),
        _ => Err("something is called probeable that is no instruction".into()),
    }
}

fn judge(
    elf: &Elf<'_>,
    function: &JudgedFunction<'_>,
    own: &Range<u64>,
    counts: &mut Counts,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let no_memory = |_| "no memory";
    let placement = Placement::of(*function);
    let name = String::from_utf8_lossy(function.name);
    let mut refused = 0;
    for boundary in placement.map() {
        let boundary = boundary.map_err(no_memory)?;
        let address = function.address + boundary.offset as u64;
        let is_own = own.contains(&address) && !elf.is_marked_data(address);
        match boundary.verdict {
            Verdict::Probeable => {
                counts.probeable += 1;
                if !is_own {
                    counts.wrong += 1;
                    writeln!(out, "wrong: {name}{:+#x} {boundary}", boundary.offset)?;
                }
            }
            Verdict::Refused { why, .. } if is_own && is_end(&why) => {
                if refused == 0 {
                    writeln!(out, "refused: {name} {boundary}")?;
                }
                refused += 1;
            }
            Verdict::Refused { .. } => {}
        }
    }
    counts.refused += refused;
    counts.refused_functions += usize::from(refused > 0);
    Ok(())
}

/// Whether `why` denies that there is an instruction of the function.
fn is_end(why: &Why) -> bool {
    matches!(
        why,
        Why::Padding | Why::Behind { .. } | Why::OpsPointer | Why::TypeWord | Why::Literal
    )
}
