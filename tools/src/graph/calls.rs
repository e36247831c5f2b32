// SPDX-License-Identifier: GPL-2.0

//! The calls in a function's code: whom it calls, and where it calls through a pointer.
//!
//! A jump to the beginning of another function is a call, too: the last one of a function. What the
//! kernel calls for its own purposes is none: the thunks of indirect calls and returns, and ftrace.

use super::functions::{Function, Functions};
use super::memory::Memory;
use ferroprobe_engine::engine::code::arch::isa::{Flow, ENTRY_LEN, MAX_INSN_LEN};
use ferroprobe_engine::engine::code::arch::Arch;
use ferroprobe_engine::engine::code::insn::arm64::{self, word_at, Arm64Class};
use ferroprobe_engine::engine::code::insn::x86::{self, X86Class};
use ferroprobe_engine::engine::code::placement::{
    Boundary, Facts, JudgedFunction, Placement, Verdict, Why,
};
use std::collections::BTreeSet;

/// The names of registers in definitions, in the order of their numbers in instructions.
const X86_REGISTERS: [&str; 16] = [
    "ax", "cx", "dx", "bx", "sp", "bp", "si", "di", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
    "r15",
];

/// A call through a pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The symbol with the instruction, which may be a part of the function.
    pub symbol: String,
    /// Where it is from there.
    pub offset: u64,
    /// The register that has the pointer, or why it is not to be known.
    pub pointer: std::result::Result<String, String>,
}

/// What a function calls.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// The beginnings of functions.
    pub direct: BTreeSet<u64>,
    /// Calls through pointers.
    pub sites: Vec<Site>,
    /// Why some of the code is not known.
    pub unknown: Option<String>,
}

/// What a direct call leads to.
enum Callee<'f> {
    Function(u64),
    /// Through the pointer in a register.
    Pointer(String),
    /// A part of the function that is elsewhere.
    Part(Function<'f>),
    None,
}

/// Reads calls.
pub struct Reader<'a, 't> {
    /// The architecture of the code.
    pub arch: Arch,
    /// The kernel's memory.
    pub memory: &'a dyn Memory,
    /// Its functions.
    pub functions: &'a Functions<'t>,
}

impl<'t> Reader<'_, 't> {
    /// The calls of `function`.
    pub fn calls(&self, function: &Function<'t>) -> Calls {
        let mut calls = Calls::default();
        let mut parts = vec![*function];
        let mut read = 0;
        while let Some(part) = parts.get(read).copied() {
            read += 1;
            self.read(function, &part, &mut calls, &mut parts);
        }
        // A call of itself is none of another function.
        calls.direct.remove(&function.address);
        calls
    }

    fn read(
        &self,
        function: &Function<'t>,
        part: &Function<'t>,
        calls: &mut Calls,
        parts: &mut Vec<Function<'t>>,
    ) {
        let len = usize::try_from(part.end.saturating_sub(part.address)).unwrap_or(0);
        let Some(bytes) = self.memory.read(part.address, len) else {
            calls.unknown = Some("its code cannot be read".into());
            return;
        };
        let next = self.memory.read(part.end, MAX_INSN_LEN).unwrap_or_default();
        let judged = JudgedFunction {
            name: part.name.as_bytes(),
            address: part.address,
            bytes: &bytes,
            arch: self.arch,
            facts: Facts {
                kprobes_on_ftrace: self.arch == Arch::X86_64,
                call_ops: self.arch == Arch::Arm64,
                next: &next,
                ..Facts::default()
            },
        };
        for boundary in Placement::of(judged).map().flatten() {
            if let Verdict::Refused { why, .. } = boundary.verdict {
                if matches!(why, Why::Behind { .. } | Why::Padding) {
                    continue;
                }
            }
            let rest = bytes.get(boundary.offset..).unwrap_or_default();
            let offset = boundary.offset as u64;
            let at = part.address.wrapping_add(offset);
            let Some(insn) = boundary.insn else {
                continue;
            };
            let end = at.wrapping_add(boundary.len as u64);
            let callee = match insn.flow {
                Flow::Call(distance) => self.callee(end.wrapping_add_signed(distance)),
                Flow::Jump(distance) | Flow::Branch(distance) => {
                    let target = end.wrapping_add_signed(distance);
                    let is_own = (part.address..part.end).contains(&target)
                        || (function.address..function.end).contains(&target);
                    match is_own {
                        true => Callee::None,
                        false => self.jumped_to(target),
                    }
                }
                Flow::Next | Flow::Away => match pointer(self.arch, &boundary, rest) {
                    Some(pointer) => {
                        calls.sites.push(site(part, &boundary, pointer));
                        continue;
                    }
                    None => Callee::None,
                },
            };
            match callee {
                Callee::Function(address) => {
                    calls.direct.insert(address);
                }
                Callee::Pointer(register) => {
                    calls.sites.push(site(part, &boundary, Ok(register)));
                }
                Callee::Part(part) => {
                    if !parts.iter().any(|known| known.address == part.address) {
                        parts.push(part);
                    }
                }
                Callee::None => {}
            }
        }
    }

    /// What a jump out of the function leads to: the beginning of another one, or else of a part of
    /// this one.
    fn jumped_to(&self, target: u64) -> Callee<'t> {
        match self.functions.at(target).first() {
            Some(found) if found.name.ends_with(".cold") => Callee::Part(*found),
            Some(_) => self.callee(target),
            None => match self.veneer(target) {
                Some(behind) => self.callee(behind),
                None => Callee::None,
            },
        }
    }

    /// What a call of `target` calls.
    fn callee(&self, target: u64) -> Callee<'t> {
        let Some(found) = self.functions.entered(target) else {
            return match self.veneer(target) {
                Some(behind) if self.functions.entered(behind).is_some() => self.callee(behind),
                _ => Callee::None,
            };
        };
        let names = self.functions.at(found.address);
        if let Some(register) = names.iter().find_map(|found| thunk(found.name)) {
            return Callee::Pointer(register);
        }
        if names.iter().any(is_of_the_kernel) {
            return Callee::None;
        }
        // A static call that is not patched into its callers jumps from here.
        match names.iter().any(|found| found.name.starts_with("__SCT__")) {
            true => match self.jump(found.address) {
                Some(behind) if behind != target => self.callee(behind),
                _ => Callee::None,
            },
            false => Callee::Function(found.address),
        }
    }

    /// Whether ftrace may report the function: what it patches is at the beginning.
    pub fn is_traced(&self, function: &Function<'_>) -> bool {
        let bytes = self.memory.read(function.address, ENTRY_LEN);
        let offsets = bytes.map(|bytes| self.arch.isa().ftrace_offsets(&bytes));
        offsets.is_some_and(|offsets| offsets.iter().any(Option::is_some))
    }

    /// Where the jump at `address` goes.
    fn jump(&self, address: u64) -> Option<u64> {
        let bytes = self.memory.read(address, MAX_INSN_LEN)?;
        let insn = self.arch.isa().decode(&bytes).ok()?;
        match insn.flow {
            Flow::Jump(distance) => {
                let end = address.wrapping_add(insn.len as u64);
                Some(end.wrapping_add_signed(distance))
            }
            _ => self.veneer(address),
        }
    }

    /// Where a veneer of arm64 goes, by which modules call what is far: `adrp`, `add`, `br`, maybe
    /// behind a landing pad.
    fn veneer(&self, address: u64) -> Option<u64> {
        if self.arch != Arch::Arm64 {
            return None;
        }
        let bytes = self.memory.read(address, 16)?;
        let is_pad = matches!(arm64::class(word_at(&bytes, 0)?), Arm64Class::LandingPad);
        let from = usize::from(is_pad);
        let page = address.wrapping_add(4 * from as u64) & !0xfff;
        veneer_target(
            page,
            [
                word_at(&bytes, from)?,
                word_at(&bytes, from + 1)?,
                word_at(&bytes, from + 2)?,
            ],
        )
    }
}

/// Where `adrp x16`, `add x16, x16`, `br x16` go, the first of which is in `page`.
fn veneer_target(page: u64, words: [u32; 3]) -> Option<u64> {
    let [adrp, add, br] = words;
    if adrp & 0x9f00_001f != 0x9000_0010 || add & 0xffc0_03ff != 0x9100_0210 || br != 0xd61f_0200 {
        return None;
    }
    let pages = (adrp >> 29 & 3) | (adrp >> 5 & 0x7_ffff) << 2;
    // 21 bits with a sign.
    let pages = i64::from(i32::from_ne_bytes((pages << 11).to_ne_bytes()) >> 11);
    let page = page.wrapping_add_signed(pages << 12);
    Some(page.wrapping_add(u64::from(add >> 10 & 0xfff)))
}

/// A call through a pointer at an instruction of `part`.
fn site(
    part: &Function<'_>,
    boundary: &Boundary,
    pointer: std::result::Result<String, String>,
) -> Site {
    let pointer = match boundary.verdict {
        Verdict::Refused { why, .. } => pointer.and(Err(why.to_string())),
        Verdict::Probeable => pointer,
    };
    Site {
        symbol: part.name.into(),
        offset: boundary.offset as u64,
        pointer,
    }
}

/// The register with the pointer through which the instruction calls or jumps, if it is one that
/// does.
fn pointer(
    arch: Arch,
    boundary: &Boundary,
    bytes: &[u8],
) -> Option<std::result::Result<String, String>> {
    match arch {
        Arch::X86_64 => x86_pointer(boundary, bytes),
        Arch::Arm64 => {
            let word = word_at(bytes, 0)?;
            matches!(
                arm64::class(word),
                Arm64Class::IndirectCall | Arm64Class::IndirectBranch
            )
            .then(|| {
                // Those without authentication.
                match word & 0xffdf_fc1f {
                    0xd61f_0000 => Ok(arm64_register(word >> 5 & 31)),
                    _ => Err("the pointer is authenticated".into()),
                }
            })
        }
    }
}

fn arm64_register(number: u32) -> String {
    match number {
        30 => "lr".into(),
        number => format!("x{number}"),
    }
}

fn x86_pointer(boundary: &Boundary, bytes: &[u8]) -> Option<std::result::Result<String, String>> {
    let insn = x86::decode(bytes.get(..boundary.len)?).ok()?;
    let at = insn.opcode_at();
    let modrm = *bytes.get(at + 1)?;
    match insn.class() {
        X86Class::IndirectCall | X86Class::IndirectJump => {
            let rex = at.checked_sub(1).and_then(|at| bytes.get(at));
            let is_high = rex.is_some_and(|rex| rex & 0xf1 == 0x41);
            let number = usize::from(modrm & 7) + 8 * usize::from(is_high);
            X86_REGISTERS
                .get(number)
                .map(|register| Ok((*register).into()))
        }
        // Of a table with an index and no base: a switch.
        X86Class::IndirectJumpMemory
            if modrm & 0xc7 == 0x04 && bytes.get(at + 2).is_some_and(|sib| sib & 7 == 5) =>
        {
            None
        }
        X86Class::IndirectCallMemory | X86Class::IndirectJumpMemory => {
            Some(Err("the pointer is in memory".into()))
        }
        _ => None,
    }
}

/// The register through which a thunk of x86 calls, by its name: `__x86_indirect_thunk_rax`.
fn thunk(name: &str) -> Option<String> {
    let rest = name.strip_prefix("__x86_indirect_")?;
    let (_, register) = rest.rsplit_once("thunk_")?;
    let known = |name: &str| X86_REGISTERS.contains(&name).then(|| name.to_string());
    known(register).or_else(|| known(register.strip_prefix('r')?))
}

/// Whether the kernel has it called for its own purposes.
fn is_of_the_kernel(function: &Function<'_>) -> bool {
    const NAMES: [&str; 8] = [
        "__fentry__",
        "ftrace_caller",
        "ftrace_regs_caller",
        "ftrace_stub",
        "_mcount",
        "__stack_chk_fail",
        "its_return_thunk",
        "warn_thunk_thunk",
    ];
    NAMES.contains(&function.name)
        || function.name.ends_with("_return_thunk")
        || function.name.starts_with("__sanitizer_")
        || function
            .module
            .is_some_and(|module| module.starts_with("__builtin__"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Code at one address.
    struct Code(u64, Vec<u8>);

    impl Memory for Code {
        fn read(&self, address: u64, len: usize) -> Option<Vec<u8>> {
            let from = usize::try_from(address.checked_sub(self.0)?).ok()?;
            let rest = self.1.get(from..)?;
            Some(rest[..len.min(rest.len())].to_vec())
        }
    }

    const NAMES: &str = "\
0000000000001000 T first
0000000000001040 T second
0000000000001050 T __pi___x86_indirect_thunk_r10
0000000000001050 T __x86_indirect_thunk_r10
0000000000001060 T __x86_return_thunk
0000000000001070 t first.cold
0000000000001080 T third
0000000000001090 T last
";

    fn calls(arch: Arch, parts: &[(usize, &[u8])]) -> Calls {
        let filler: &[u8] = match arch {
            Arch::X86_64 => &[0xcc; 0x100],
            Arch::Arm64 => &[0; 0x100],
        };
        let mut code = Code(0x1000, filler.to_vec());
        for (at, bytes) in parts {
            code.1[*at..at + bytes.len()].copy_from_slice(bytes);
        }
        let functions = Functions::read(NAMES).expect("functions");
        let reader = Reader {
            arch,
            memory: &code,
            functions: &functions,
        };
        reader.calls(&functions.at(0x1000)[0])
    }

    fn site(symbol: &str, offset: u64, register: &str) -> Site {
        Site {
            symbol: symbol.into(),
            offset,
            pointer: Ok(register.into()),
        }
    }

    #[test]
    fn calls_of_x86_are_found() {
        let found = calls(
            Arch::X86_64,
            &[
                (
                    0,
                    &[
                        0xe8, 0x3b, 0, 0, 0, // call second
                        0xe8, 0x46, 0, 0, 0, // call __x86_indirect_thunk_r10
                        0x41, 0xff, 0xd3, // call *%r11
                        0x0f, 0x84, 0x5d, 0, 0, 0, // je first.cold
                        0xff, 0xd0, // call *%rax
                        0xff, 0x50, 0x18, // call *0x18(%rax)
                        0xe9, 0x43, 0, 0, 0, // jmp __x86_return_thunk
                    ],
                ),
                (0x70, &[0xe9, 0x0b, 0, 0, 0]), // jmp third
            ],
        );
        assert_eq!(found.direct, [0x1040, 0x1080].into());
        assert_eq!(
            found.sites[..3],
            [
                site("first", 5, "r10"),
                site("first", 10, "r11"),
                site("first", 19, "ax"),
            ]
        );
        assert_eq!((found.sites.len(), found.sites[3].offset), (4, 21));
        assert!(found.sites[3].pointer.is_err());
    }

    #[test]
    fn calls_of_arm64_are_found() {
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let code: Vec<u8> = words(&[
            0x9400_0010, // bl second
            0xd63f_0060, // blr x3
            0x9400_0022, // bl last
            0xd65f_03c0, // ret
        ]);
        let found = calls(Arch::Arm64, &[(0, &code)]);
        assert_eq!(found.direct, [0x1040, 0x1090].into());
        assert_eq!(found.sites, [site("first", 4, "x3")]);
        // adrp x16, +1; add x16, x16, #0x40; br x16
        let veneer = veneer_target(0x1000, [0xb000_0010, 0x9101_0210, 0xd61f_0200]);
        assert_eq!(veneer, Some(0x2040));
        let back = veneer_target(0x2000, [0xf0ff_fff0, 0x9101_0210, 0xd61f_0200]);
        assert_eq!(back, Some(0x1040));
        assert_eq!(veneer_target(0, [0xd503_201f, 0, 0]), None);
    }

    #[test]
    fn ftrace_has_its_place_at_the_beginning() {
        let functions = Functions::read(NAMES).expect("functions");
        let is_traced = |bytes: &[u8]| {
            let code = Code(0x1000, bytes.to_vec());
            let reader = Reader {
                arch: Arch::X86_64,
                memory: &code,
                functions: &functions,
            };
            reader.is_traced(&functions.at(0x1000)[0])
        };
        let nop = [0x0f, 0x1f, 0x44, 0, 0];
        assert!(is_traced(&[&nop[..], &[0xc3; 11]].concat()));
        assert!(is_traced(
            &[&[0xf3, 0x0f, 0x1e, 0xfa], &nop[..], &[0xc3; 7]].concat()
        ));
        assert!(!is_traced(&[0xc3; 16]));
    }

    #[test]
    fn thunks_have_registers() {
        assert_eq!(thunk("__x86_indirect_thunk_rax").as_deref(), Some("ax"));
        assert_eq!(thunk("__x86_indirect_its_thunk_r8").as_deref(), Some("r8"));
        assert_eq!(
            thunk("__x86_indirect_call_thunk_rbp").as_deref(),
            Some("bp")
        );
        assert_eq!(thunk("__x86_indirect_thunk_array"), None);
        assert_eq!(thunk("vfs_read"), None);
    }
}
