// SPDX-License-Identifier: GPL-2.0

//! The map of a function in a file: for people, in columns, or one JSON object
//! a line.

use crate::elf::{Elf, Symbol};
use crate::facts::{self, NearWays};
use crate::{number, ArchName, Failure};
use clap::{Args, ValueEnum};
use ferroprobe_engine::engine::code::arch::isa::{Flow, Insn, MAX_INSN_LEN};
use ferroprobe_engine::engine::code::arch::Arch;
use ferroprobe_engine::engine::code::insn::{arm64, x86};
use ferroprobe_engine::engine::code::placement::{
    Boundary, Facts, JudgedFunction, Placement, Refuser, Region, Verdict,
};
use serde::Serialize;
use std::io::{self, IsTerminal, Write};
use std::ops::Range;
use std::path::PathBuf;

/// What `map` is told.
#[derive(Args)]
pub(crate) struct Arguments {
    /// A kernel (vmlinux, or vmlinuz as booted) or a module (.ko)
    pub(crate) file: PathBuf,
    /// A function's name, or an address within one
    symbol: String,
    /// Fail unless the file is for this architecture
    #[arg(long)]
    arch: Option<ArchName>,
    /// Take the symbols from this copy of /proc/kallsyms or System.map: for a
    /// kernel that was stripped of its own
    #[arg(long, value_name = "FILE")]
    symbols: Option<PathBuf>,
    /// Print one JSON object for each instruction
    #[arg(long)]
    json: bool,
    /// Colour what cannot be probed
    #[arg(
        long,
        value_name = "WHEN",
        num_args = 0..=1,
        require_equals = true,
        default_value = "auto",
        default_missing_value = "always"
    )]
    color: When,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum When {
    /// If the output is a terminal
    Auto,
    Always,
    Never,
}

/// Prints the maps of all functions of the name asked for.
pub(crate) fn run(arguments: &Arguments, data: &[u8], out: &mut impl Write) -> Result<(), Failure> {
    let named = |failure: Failure| format!("{}: {failure}", arguments.file.display());
    let mut elf = Elf::parse(data).map_err(named)?;
    if arguments
        .arch
        .is_some_and(|arch| Arch::from(arch) != elf.arch)
    {
        return Err(named("made for the other architecture".into()).into());
    }
    if let Some(symbols) = &arguments.symbols {
        let text = String::from_utf8(crate::read(symbols)?)?;
        elf.take_symbols(&text)
            .map_err(|failure| format!("{}: {failure}", symbols.display()))?;
    }
    let regions = facts::regions(&elf);
    let ways = facts::Ways::of(&elf);
    for (name, place) in functions(&elf, &arguments.symbol).map_err(named)? {
        let bytes = elf.bytes(&place).ok_or("a function without bytes")?;
        let near = facts::near(&regions, &place);
        let ways = ways.near(&elf, &place, &bytes, name.as_bytes());
        let function = JudgedFunction {
            name: name.as_bytes(),
            address: place.start,
            bytes: &bytes,
            arch: elf.arch,
            facts: facts_of(&elf, &near, &ways),
        };
        print(arguments, &function, out)?;
    }
    Ok(())
}

/// What holds for kernels of the file's kind.
pub(crate) fn facts_of<'a>(elf: &Elf<'_>, regions: &'a [Region], ways: &'a NearWays) -> Facts<'a> {
    Facts {
        patches: &[],
        foreign: &[],
        all_patches_known: true,
        regions,
        kprobes_on_ftrace: elf.arch == Arch::X86_64,
        cfi: ways.cfi,
        call_ops: ways.call_ops,
        next: &ways.next,
        landings: &ways.landings,
        no_return: &ways.no_return,
    }
}

/// The functions that `wanted` names, each with its place.
fn functions(elf: &Elf<'_>, wanted: &str) -> Result<Vec<(String, Range<u64>)>, Failure> {
    let by_address = wanted
        .starts_with("0x")
        .then(|| number(wanted))
        .transpose()?;
    let symbols: Vec<&Symbol> = match by_address {
        Some(address) => {
            let before = elf
                .symbols
                .iter()
                .filter(|symbol| symbol.address <= address);
            let found = before.last().filter(|_| elf.is_code(address));
            vec![found.ok_or_else(|| format!("{wanted} is in no function"))?]
        }
        None => elf.named(wanted).collect(),
    };
    if symbols.is_empty() {
        return Err(match elf.symbols.is_empty() {
            true => "it has no symbols: give some with --symbols".into(),
            false => format!("there is no symbol {wanted}").into(),
        });
    }
    let code = symbols.into_iter().filter(|symbol| symbol.is_code);
    let found: Vec<_> = code
        .filter_map(|symbol| Some((symbol.name.clone(), elf.function(symbol.address)?)))
        .collect();
    match found.is_empty() {
        true => Err(format!("{wanted} is data, not a function").into()),
        false => Ok(found),
    }
}

fn print(
    arguments: &Arguments,
    function: &JudgedFunction<'_>,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let colored = match arguments.color {
        When::Auto => io::stdout().is_terminal(),
        When::Always => true,
        When::Never => false,
    };
    let no_memory = |_| "no memory";
    let placement = Placement::of(*function);
    if !arguments.json {
        let name = String::from_utf8_lossy(function.name);
        let size = function.bytes.len();
        writeln!(out, "# {name} at {:#x}, {size} bytes", function.address)?;
        writeln!(
            out,
            "# offset   len  {:<30} {:<10} verdict",
            "bytes", "insn"
        )?;
    }
    for boundary in placement.map() {
        let boundary = boundary.map_err(no_memory)?;
        let end = boundary.offset + boundary.len;
        let bytes = function.bytes.get(boundary.offset..end).unwrap_or_default();
        if arguments.json {
            serde_json::to_writer(&mut *out, &Line::of(&placement, &boundary, bytes))?;
            writeln!(out)?;
        } else {
            print_row(&boundary, bytes, colored, out)?;
        }
    }
    Ok(())
}

/// So many bytes of an instruction are shown; x86 ones can have more.
const SHOWN: usize = 10;

fn print_row(
    boundary: &Boundary,
    bytes: &[u8],
    colored: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut shown: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    if shown.len() > SHOWN {
        shown.truncate(SHOWN - 1);
        shown.push("..".into());
    }
    let (start, end) = match (&boundary.verdict, colored) {
        (_, false) => ("", ""),
        (Verdict::Probeable, true) => ("\x1b[32m", "\x1b[0m"),
        (
            Verdict::Refused {
                by: Refuser::Kernel,
                ..
            },
            true,
        ) => ("\x1b[31m", "\x1b[0m"),
        (
            Verdict::Refused {
                by: Refuser::Us, ..
            },
            true,
        ) => ("\x1b[33m", "\x1b[0m"),
    };
    // The engine's line, with the bytes let in behind the length.
    let line = boundary.to_string();
    let (place, rest) = line.split_at_checked(LENGTH_END).unwrap_or((&line, ""));
    let bytes = shown.join(" ");
    writeln!(out, "{start}  {place}  {bytes:<29}{rest}{end}")
}

/// Where the length ends in a line of the map, which the engine prints.
const LENGTH_END: usize = 12;

/// An instruction of the map for programs.
#[derive(Serialize)]
struct Line<'a> {
    function: String,
    address: String,
    offset: usize,
    len: usize,
    bytes: String,
    mnemonic: &'a str,
    class: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    probeable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused_by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl Line<'_> {
    fn of(placement: &Placement<'_>, boundary: &Boundary, bytes: &[u8]) -> Self {
        let function = placement.function();
        let address = function.address.wrapping_add(boundary.offset as u64);
        let (refused_by, reason) = match boundary.verdict {
            Verdict::Probeable => (None, None),
            Verdict::Refused { by, why } => {
                let by = match by {
                    Refuser::Kernel => "kernel",
                    Refuser::Us => "ferroprobe",
                };
                (Some(by), Some(why.to_string()))
            }
        };
        Self {
            function: String::from_utf8_lossy(function.name).into_owned(),
            address: format!("{address:#x}"),
            offset: boundary.offset,
            len: boundary.len,
            bytes: bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
            mnemonic: boundary.mnemonic,
            class: describe(placement, boundary),
            target: target(boundary.insn, address).map(|to| format!("{to:#x}")),
            probeable: boundary.verdict.is_probeable(),
            refused_by,
            reason,
        }
    }
}

/// The kind of an instruction in a few words.
fn describe(placement: &Placement<'_>, boundary: &Boundary) -> &'static str {
    const NONE: &str = "no instruction";

    if boundary.insn.is_none() {
        return NONE;
    }
    let mut original = [0; MAX_INSN_LEN];
    let len = placement.original(boundary.offset, &mut original);
    let original = original.get(..len).unwrap_or_default();
    match placement.function().arch {
        Arch::X86_64 => x86::decode(original).map_or(NONE, |insn| insn.class().describe()),
        Arch::Arm64 => match arm64::word_at(original, 0).map(arm64::class) {
            None => NONE,
            Some(class) => match class {
                arm64::Arm64Class::Ordinary => "an ordinary instruction",
                arm64::Arm64Class::Nop => "a nop",
                arm64::Arm64Class::LandingPad => "a landing pad",
                arm64::Arm64Class::Hint => "a hint",
                arm64::Arm64Class::Branch { .. } => "a relative branch",
                arm64::Arm64Class::ConditionalBranch { .. } => "a conditional branch",
                arm64::Arm64Class::Call { .. } => "a relative call",
                arm64::Arm64Class::IndirectBranch => "an indirect branch",
                arm64::Arm64Class::IndirectCall => "an indirect call",
                arm64::Arm64Class::Return => "a return",
                arm64::Arm64Class::ExceptionReturn => "a return from an exception",
                arm64::Arm64Class::Breakpoint { .. } => "a breakpoint",
                arm64::Arm64Class::Exception => "an exception",
                arm64::Arm64Class::Undefined => "an undefined-instruction trap",
                arm64::Arm64Class::LoadExclusive => "a load-exclusive",
                arm64::Arm64Class::StoreExclusive => "a store-exclusive",
                arm64::Arm64Class::ClearExclusive => "a clear of the exclusive monitor",
                arm64::Arm64Class::Atomic => "an atomic",
                arm64::Arm64Class::Literal => "relative to the program counter",
            },
        },
    }
}

/// Where a relative branch at `address` goes.
fn target(insn: Option<Insn>, address: u64) -> Option<u64> {
    let insn = insn?;
    let end = address.wrapping_add(insn.len as u64);
    match insn.flow {
        Flow::Branch(distance) | Flow::Jump(distance) | Flow::Call(distance) => {
            Some(end.wrapping_add_signed(distance))
        }
        Flow::Next | Flow::Away => None,
    }
}
