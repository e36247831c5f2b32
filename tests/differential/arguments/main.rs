// SPDX-License-Identifier: GPL-2.0

//! Compares where ferroprobe takes the arguments of each function from, by the kernel's types (BTF)
//! and the calling convention, with where the debug information says that they are when the function
//! begins. `qemu/test-arguments` runs it.

use ferroprobe_engine::engine::code::arch::calling::ArgumentPlace;
use ferroprobe_engine::engine::code::arch::Arch as EngineArch;
use ferroprobe_engine::engine::program::btf::{Btf, BtfFunction, Index};
use ferroprobe_engine::engine::program::calling::PassedArguments;
use ferroprobe_tools::arch::Arch;
use ferroprobe_tools::data::Data;
use ferroprobe_tools::debug::{number, Debug, Entry, Sections, Slice, Unit};
use ferroprobe_tools::error::{Refusal, Result};
use ferroprobe_tools::image::Image;
use ferroprobe_tools::place::loclist::Location;
use ferroprobe_tools::refuse;
use gimli::{constants as dw, Expression, Operation};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

/// Where a part of a parameter is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// In a register of that number in DWARF.
    Register(u16),
    /// So many bytes from the first word of the stack that can have an argument.
    Stack(i64),
    /// In memory, to which a register points.
    Pointed(u16),
    /// Elsewhere, or the debug information does not know.
    Unknown,
}

/// The parts of a parameter, each with the byte at which it begins.
type Parts = Vec<(u64, Part)>;

/// The parts that `expression` describes, where the frame begins at the first word of the arguments.
fn parts(unit: &Unit<'_>, expression: Expression<Slice<'_>>) -> Result<Parts> {
    let (mut parts, mut last, mut at) = (Vec::new(), Part::Unknown, 0);
    let mut operations = expression.operations(unit.encoding());
    let mut count = 0;
    let mut is_pieces = false;
    while let Some(operation) = operations.next()? {
        count += 1;
        match operation {
            Operation::Register { register } => last = Part::Register(register.0),
            Operation::FrameOffset { offset } => last = Part::Stack(offset),
            Operation::RegisterOffset {
                register,
                offset: 0,
                ..
            } => last = Part::Pointed(register.0),
            Operation::Piece {
                size_in_bits,
                bit_offset: None,
            } => {
                parts.push((at, last));
                (last, count, is_pieces) = (Part::Unknown, 0, true);
                at += size_in_bits / 8;
            }
            _ => last = Part::Unknown,
        }
        if count > 1 {
            last = Part::Unknown;
        }
    }
    if !is_pieces {
        parts.push((0, last));
    }
    Ok(parts)
}

/// Where the parameter of `entry` is at `address`.
fn known<'s>(
    debug: &Debug<'s>,
    unit: &Unit<'s>,
    entry: &Entry<'_, '_, 's>,
    address: u64,
) -> Result<Parts> {
    let mut is_fixed = false;
    let expression = match Location::read(debug, unit, entry)? {
        Location::Fixed(expression) => {
            is_fixed = true;
            Some(expression)
        }
        Location::Listed(spans, _) => {
            let mut spans = spans.iter();
            let span = spans.find(|span| span.start <= (address, 0) && (address, 0) < span.end);
            span.map(|span| span.expression)
        }
        Location::Constant(_) | Location::Removed => None,
    };
    let Some(expression) = expression else {
        return Ok(Vec::new());
    };
    let mut all = parts(unit, expression)?;
    if is_fixed {
        // Its home, in the function's own frame or by an address that the function keeps: it is there
        // once the function has put it there.
        all.retain(|(_, part)| !matches!(part, Part::Stack(..0) | Part::Pointed(_)));
    }
    Ok(all)
}

/// The number of the word that a register has of the arguments, `None` if it has none.
fn word_of(arch: Arch, register: u16) -> Option<u16> {
    match (arch, register) {
        (Arch::X86_64, register) => {
            let order = [5, 4, 1, 2, 8, 9];
            let at = order.iter().position(|known| *known == register)?;
            u16::try_from(at).ok()
        }
        (Arch::Arm64, 0..=7) => Some(register),
        (Arch::Arm64, _) => None,
    }
}

/// Whether `part`, which begins at byte `at` of a parameter, is where `passed` says; `None` if the
/// debug information does not know.
fn agrees(arch: Arch, passed: ArgumentPlace, at: u64, part: Part) -> Option<bool> {
    let registers: u16 = match arch {
        Arch::X86_64 => 6,
        Arch::Arm64 => 8,
    };
    let n = u16::try_from(at / 8).ok()?;
    Some(match (part, passed) {
        (Part::Unknown, _) => return None,
        (_, ArgumentPlace::Nothing) => false,
        (Part::Pointed(register), ArgumentPlace::Pointed(word)) => {
            word_of(arch, register) == Some(word)
        }
        (Part::Stack(offset), ArgumentPlace::Words { first, .. }) => {
            let word = i64::from(first) - i64::from(registers);
            word >= 0 && offset == word * 8 + i64::try_from(at).ok()?
        }
        (Part::Register(register), ArgumentPlace::Words { first, count }) => {
            n < count && at % 8 == 0 && word_of(arch, register) == Some(first + n)
        }
        _ => false,
    })
}

/// What was found.
#[derive(Default)]
struct Tally {
    functions: u64,
    agree: u64,
    by_value: u64,
    behind: u64,
    not_known: u64,
    refused: u64,
    differ: BTreeMap<String, Vec<String>>,
}

struct Comparison<'a, 's> {
    arch: Arch,
    engine: EngineArch,
    /// The functions of the kernel's types, the first of each name.
    functions: BTreeMap<&'a [u8], BtfFunction<'a>>,
    debug: &'a Debug<'s>,
    /// The names of functions by their addresses.
    names: BTreeMap<u64, Vec<&'s str>>,
    tally: Tally,
}

impl<'s> Comparison<'_, 's> {
    fn unit(&mut self, unit: &Unit<'s>) -> Result<()> {
        let mut entries = unit.entries();
        let mut found = Vec::new();
        while let Some((_, entry)) = entries.next_dfs()? {
            if entry.tag() == dw::DW_TAG_subprogram {
                found.extend(number_of(self.debug, unit, entry)?.map(|at| (entry.offset(), at)));
            }
        }
        for (offset, address) in found {
            let mut parameters = Vec::new();
            let mut tree = unit.entries_tree(Some(offset))?;
            let mut children = tree.root()?.children();
            while let Some(child) = children.next()? {
                let entry = child.entry();
                if entry.tag() == dw::DW_TAG_formal_parameter {
                    let name = self.debug.name(unit, entry).unwrap_or_default();
                    parameters.push((name, known(self.debug, unit, entry, address)?));
                }
            }
            for name in self.names.get(&address).cloned().unwrap_or_default() {
                self.function(name, &parameters)?;
            }
        }
        Ok(())
    }

    fn function(&mut self, name: &str, parameters: &[(&str, Parts)]) -> Result<()> {
        let Some(function) = self.functions.get(name.as_bytes()).copied() else {
            return Ok(());
        };
        let memory = |_| Refusal::new("no memory");
        let tally = &mut self.tally;
        tally.functions += 1;
        let mut all = PassedArguments::of(self.engine, &function).map_err(memory)?;
        let mut n = 0;
        while let Some((parameter, passed)) = all.take().map_err(memory)? {
            let own = String::from_utf8_lossy(parameter.name);
            let mut known = parameters.iter().filter(|(name, _)| *name == own);
            let parts = known.next().map_or(&[][..], |(_, parts)| parts);
            let Some(passed) = passed else {
                tally.refused += 1;
                n += 1;
                continue;
            };
            let verdicts = parts
                .iter()
                .map(|(at, part)| agrees(self.arch, passed, *at, *part));
            let verdicts: Vec<bool> = verdicts.flatten().collect();
            let is_plain = passed == (ArgumentPlace::Words { first: n, count: 1 });
            if verdicts.contains(&false) {
                let sort = match (parameter.value.is_structure(), is_plain) {
                    (true, _) => "a structure",
                    (false, false) => "behind a structure",
                    (false, true) => "plain",
                };
                let words = format!("{name} {own}: {passed:?}, known {parts:?}");
                tally.differ.entry(sort.into()).or_default().push(words);
            } else if verdicts.is_empty() {
                tally.not_known += 1;
            } else {
                tally.agree += 1;
                tally.by_value += u64::from(parameter.value.is_structure());
                tally.behind += u64::from(!is_plain && !parameter.value.is_structure());
            }
            n += 1;
        }
        Ok(())
    }
}

/// Where the function of `entry` begins, `None` if it has no code.
fn number_of<'s>(
    debug: &Debug<'s>,
    unit: &Unit<'s>,
    entry: &Entry<'_, '_, 's>,
) -> Result<Option<u64>> {
    let Some(value) = entry.attr_value(gimli::DW_AT_low_pc)? else {
        // Its parts are in several ranges, of which the first has its entry.
        let mut ranges = debug.of(unit).die_ranges(unit, entry)?;
        return Ok(ranges.next()?.map(|range| range.begin));
    };
    match debug.of(unit).attr_address(unit, value)? {
        Some(address) => Ok(Some(address)),
        None => number(entry, gimli::DW_AT_low_pc),
    }
}

fn compare(vmlinux: &Path, examples: usize) -> Result<bool> {
    let data = Data::open(vmlinux)?;
    let image = Image::parse(&data)?;
    let blob = image.debug_section(".BTF")?;
    let index = Index::build(&blob, None).map_err(|_| Refusal::new("its .BTF cannot be read"))?;
    let Some(btf) = Btf::new(&blob, &index, None) else {
        refuse!("its .BTF cannot be read");
    };
    let mut functions = BTreeMap::new();
    btf.each_function(b"", |name, function| {
        functions.entry(name).or_insert(function);
    });
    let sections = Sections::load(&image)?;
    let debug = Debug::new(&sections, vmlinux)?;
    let mut names: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    for symbol in image.symbols().iter().filter(|symbol| symbol.is_code) {
        let at = names.entry(symbol.address).or_default();
        if !symbol.name.starts_with("__pfx_") && !symbol.name.starts_with('$') {
            at.push(symbol.name);
        }
    }
    let mut comparison = Comparison {
        arch: image.arch,
        engine: match image.arch {
            Arch::X86_64 => EngineArch::X86_64,
            Arch::Arm64 => EngineArch::Arm64,
        },
        functions,
        debug: &debug,
        names,
        tally: Tally::default(),
    };
    for offset in debug.unit_offsets()? {
        comparison.unit(&debug.unit(offset)?)?;
    }
    let tally = comparison.tally;
    println!("{} functions with types", tally.functions);
    println!(
        "{} parameters are where the debug information says",
        tally.agree
    );
    println!("  {} of them structures by value", tally.by_value);
    println!("  {} of them not in the word of their number", tally.behind);
    println!(
        "{} of which it does not know where they are at the entry",
        tally.not_known
    );
    println!("{} are refused", tally.refused);
    for (sort, all) in &tally.differ {
        println!("{} are elsewhere, {sort}:", all.len());
        all.iter()
            .take(examples)
            .for_each(|each| println!("  {each}"));
    }
    Ok(tally.agree > 0 && tally.differ.is_empty())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [vmlinux, examples @ ..] = arguments.as_slice() else {
        eprintln!("usage: arguments VMLINUX [EXAMPLES]");
        return ExitCode::FAILURE;
    };
    let examples = examples.first().and_then(|n| n.parse().ok()).unwrap_or(20);
    match compare(Path::new(vmlinux), examples) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(refusal) => {
            eprintln!("{refusal}");
            ExitCode::FAILURE
        }
    }
}
