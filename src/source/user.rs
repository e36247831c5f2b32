// SPDX-License-Identifier: GPL-2.0

//! Locations in programs and libraries.
//!
//! The kernel takes any offset, and looks at the instruction when a program maps it. So a location
//! is judged here as far as the file has symbols. A file without them, or of another machine, is
//! left to the kernel.

mod point;

use crate::{
    engine::{
        code::{
            elf::{Elf, ElfError, ElfSymbol, FileBytes},
            placement::{Facts, JudgedFunction, Judgement, Placement, Refuser, Verdict, Why},
        },
        definition::{ast::Definition, file_place::FilePlace},
        refusal::error::{Errno, Error as Refusal, Kind},
        util::text::Plain,
    },
    kapi::{c_string::c_string, context, uprobe::ProgramFile},
    source::{
        functions,
        machine::{errno, MACHINE},
    },
    sys::Vec,
};
use core::fmt;
use kernel::prelude::*;

/// Maximum number of bytes of a function that are judged.
const MAX_FUNCTION: u64 = 1 << 18;

/// Maximum number of offsets that a refusal names.
const MAX_NAMED: usize = 4;

/// A location in a program or library.
pub(super) struct InProgram {
    pub(super) program: ProgramFile,
    /// The offset in the file.
    pub(super) offset: u64,
    /// The offset in the file of the reference counter; 0 if there is none.
    pub(super) counter: u64,
    /// Whether a function is known to begin there.
    pub(super) at_entry: bool,
    /// Where the arguments of a static point are.
    pub(super) arguments: Option<Vec<u8>>,
}

/// The contents of a file.
struct Contents<'a>(&'a ProgramFile);

impl FileBytes for Contents<'_> {
    fn read(&self, offset: u64, out: &mut [u8]) -> Option<usize> {
        // A large file takes long.
        if context::is_being_killed() {
            return None;
        }
        context::cond_resched();
        self.0.read(offset, out).ok()
    }
}

/// Finds and judges `place`, the location of `definition`.
///
/// # Errors
///
/// `FILE_NOT_FOUND`, `NO_REGULAR_FILE`; `NO_FILE_SYMBOL`, `NON_UNIQ_SYMBOL`, of points, too;
/// `BAD_UPROBE_OFFS` behind the end of the file, `BAD_REFCNT` likewise; `BAD_INSN_BNDRY`, `BAD_PLACE`
/// and `BAD_RETPROBE` for locations that the kernel would accept, but where the probe could not work;
/// `NO_MEMORY`, with `EINTR` if the task is being killed.
///
/// Context: process, may sleep.
#[inline(never)]
pub(super) fn find(definition: &Definition, place: &FilePlace) -> Result<InProgram, Refusal> {
    let at = definition.place_at;
    let program = open(place, at)?;
    let is_offset = place.symbol.is_none() && place.point.is_none();
    if is_offset && place.offset >= program.size() {
        return Err(behind_end(Kind::BadUprobeOffs, &program, at));
    }
    if place.counter > 0 && place.counter >= program.size() {
        return Err(behind_end(Kind::BadRefcnt, &program, at));
    }
    if let Some(name) = &place.point {
        let found = point::find(definition, (place, name), program);
        return if context::is_being_killed() {
            Err(functions::killed(at))
        } else {
            found
        };
    }
    let located = locate(definition, place, &program);
    // What is not read is not judged.
    if context::is_being_killed() {
        return Err(functions::killed(at));
    }
    let (offset, at_entry) = located?;
    Ok(InProgram {
        program,
        offset,
        counter: place.counter,
        at_entry,
        arguments: None,
    })
}

fn open(place: &FilePlace, at: usize) -> Result<ProgramFile, Refusal> {
    let path = c_string(&place.path).ok_or(Refusal::new(Kind::NoMemory, at))?;
    ProgramFile::open(&path).map_err(|error| match errno(error) {
        Errno::ENOMEM => Refusal::new(Kind::NoMemory, at),
        _ if error == EISDIR => Refusal::new(Kind::NoRegularFile, at),
        number => Refusal::new(Kind::FileNotFound, at).with_errno(number),
    })
}

#[cold]
#[inline(never)]
fn behind_end(kind: Kind, program: &ProgramFile, at: usize) -> Refusal {
    let size = program.size();
    Refusal::new(kind, at).with_detail(format_args!("the file has {size} bytes"))
}

/// Returns the offset of the location in the file, and whether it is at a function's entry.
#[inline(never)]
fn locate(
    definition: &Definition,
    place: &FilePlace,
    program: &ProgramFile,
) -> Result<(u64, bool), Refusal> {
    let at = definition.place_at;
    let contents = Contents(program);
    let elf = match Elf::open(&contents, MACHINE.arch) {
        Ok(elf) => elf,
        Err(ElfError::NoMemory) => return Err(Refusal::new(Kind::NoMemory, at)),
        Err(_) if place.symbol.is_none() => return Ok((place.offset, false)),
        Err(error) => return Err(no_symbols(place, error, at)),
    };
    let (symbol, offset) = match &place.symbol {
        Some(name) => {
            let symbol = only(&elf, place, name, at)?;
            if symbol.is_resolver {
                return Err(resolver(&symbol, name, at));
            }
            let offset = symbol.offset.checked_add(place.offset);
            let offset = offset.ok_or(Refusal::new(Kind::BadUprobeOffs, at))?;
            if symbol.size > 0 && place.offset >= symbol.size {
                return Err(Refusal::new(Kind::BadPlace, at).with_detail(format_args!(
                    "{} ends at {:+#x}",
                    Plain(name),
                    symbol.size
                )));
            }
            (Some(symbol), offset)
        }
        None => {
            let symbol = match elf.function_at(place.offset) {
                Ok(symbol) => symbol,
                Err(ElfError::NoMemory) => return Err(Refusal::new(Kind::NoMemory, at)),
                // As if it had none.
                Err(_) => None,
            };
            (symbol, place.offset)
        }
    };
    if !elf.is_code(offset) {
        return Err(Refusal::new(Kind::BadPlace, at).with_detail(format_args!(
            "the file has no code at {offset:#x} ({})",
            Refuser::Us
        )));
    }
    check_alignment(offset, at)?;
    let Some(symbol) = symbol else {
        return Ok((offset, false));
    };
    let at_entry = judge(definition, &elf, (&symbol, offset), &contents)?;
    Ok((offset, at_entry))
}

/// Refuses an offset at which no instruction can be.
fn check_alignment(offset: u64, at: usize) -> Result<(), Refusal> {
    let length = MACHINE.arch.isa().fixed_len();
    match length.is_some_and(|length| offset.checked_rem(length as u64) != Some(0)) {
        true => Err(Refusal::new(Kind::BadInsnBndry, at)),
        false => Ok(()),
    }
}

/// Returns the symbol called `name`. A global one is preferred, as by the linker.
fn only(elf: &Elf<'_>, place: &FilePlace, name: &[u8], at: usize) -> Result<ElfSymbol, Refusal> {
    let found = elf.named(name);
    let found = found.map_err(|error| no_symbols(place, error, at))?;
    let mut global = found.iter().filter(|symbol| symbol.is_global);
    match (&*found, global.next(), global.next()) {
        ([one], ..) | (_, Some(one), None) => Ok(*one),
        ([], ..) => Err(
            Refusal::new(Kind::NoFileSymbol, at).with_detail(format_args!(
                "{} has no function {}",
                Plain(&place.path),
                Plain(name)
            )),
        ),
        _ => Err(several(&found, at)),
    }
}

/// Returns the refusal of `symbol`, the resolver of `name`, which is called once, and has other
/// arguments.
#[cold]
#[inline(never)]
fn resolver(symbol: &ElfSymbol, name: &[u8], at: usize) -> Refusal {
    Refusal::new(Kind::BadPlace, at).with_detail(format_args!(
        "a program chooses its {} when it starts: write the offset of the chosen function, or \
         {:#x} for what chooses it",
        Plain(name),
        symbol.offset
    ))
}

/// Returns the refusal of a name of several symbols.
#[cold]
#[inline(never)]
fn several(found: &[ElfSymbol], at: usize) -> Refusal {
    let refusal = Refusal::new(Kind::NonUniqSymbol, at);
    refusal.with_detail(format_args!("write an offset:{}", Offsets(found)))
}

/// Displays the offsets of symbols, each behind a blank.
struct Offsets<'a>(&'a [ElfSymbol]);

impl fmt::Display for Offsets<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for symbol in self.0.iter().take(MAX_NAMED) {
            write!(f, " {:#x}", symbol.offset)?;
        }
        f.write_str(if self.0.len() > MAX_NAMED { " ..." } else { "" })
    }
}

/// Returns the refusal of a symbol of a file whose symbols cannot be read.
#[cold]
#[inline(never)]
fn no_symbols(place: &FilePlace, error: ElfError, at: usize) -> Refusal {
    match error {
        ElfError::NoMemory => Refusal::new(Kind::NoMemory, at),
        error => Refusal::new(Kind::NoFileSymbol, at).with_detail(format_args!(
            "{} {}: write PATH:OFFSET",
            Plain(&place.path),
            error.describe()
        )),
    }
}

/// Judges `offset`, in the function `symbol`. Returns whether it is the function's entry.
#[inline(never)]
fn judge(
    definition: &Definition,
    elf: &Elf<'_>,
    (symbol, offset): (&ElfSymbol, u64),
    contents: &Contents<'_>,
) -> Result<bool, Refusal> {
    let at = definition.place_at;
    let behind = offset.saturating_sub(symbol.offset);
    let size = symbol.size.min(MAX_FUNCTION);
    let name = elf
        .name_of(symbol)
        .map_err(|_| Refusal::new(Kind::NoMemory, at))?;
    let Some(there) = usize::try_from(behind).ok().filter(|_| behind < size) else {
        // Without a size, only the beginning is certain.
        return check_entry(definition, &name, behind == 0);
    };
    let mut bytes: Vec<u8> = Vec::new();
    for _ in 0..size {
        bytes.push(0)?;
    }
    match contents.read(symbol.offset, &mut bytes) {
        Some(read) if read == bytes.len() => {}
        _ => return check_entry(definition, &name, behind == 0),
    }
    let placement = Placement::of(JudgedFunction {
        name: &name,
        address: symbol.offset,
        bytes: &bytes,
        arch: MACHINE.arch,
        facts: Facts {
            all_patches_known: true,
            ..Facts::default()
        },
    });
    let at_entry = check_entry(definition, &name, placement.is_entry(there))?;
    let verdict = match placement.judge(there)?.verdict {
        Verdict::Refused { why, .. } if is_of_programs(&why) => Some((Refuser::Us, why)),
        _ => {
            let rest = bytes.get(there..).unwrap_or_default();
            let reason = MACHINE.arch.isa().user_refusal(rest);
            reason.map(|reason| (Refuser::Kernel, Why::Insn(reason)))
        }
    };
    let Some((by, why)) = verdict else {
        return Ok(at_entry);
    };
    let kind = match why {
        Why::Inside(_) => Kind::BadInsnBndry,
        _ => Kind::BadPlace,
    };
    let judgement = Judgement {
        name: &name,
        offset: there,
        verdict: Verdict::Refused { by, why },
    };
    Err(Refusal::new(kind, at).with_detail(format_args!("{judgement}")))
}

/// Returns `at_entry`, whether the location is at the entry of the function `name`. A return probe
/// must be there.
fn check_entry(definition: &Definition, name: &[u8], at_entry: bool) -> Result<bool, Refusal> {
    if definition.kind.is_return && !at_entry {
        let refusal = Refusal::new(Kind::BadRetprobe, definition.place_at);
        return Err(refusal.with_detail(format_args!("{} begins at +0x0", Plain(name))));
    }
    Ok(at_entry)
}

/// Returns whether a reason to refuse a location in the kernel is one in a program, too.
fn is_of_programs(why: &Why) -> bool {
    matches!(
        why,
        Why::Inside(_) | Why::Undecodable { .. } | Why::Literal | Why::ExclusiveSequence { .. }
    )
}
