// SPDX-License-Identifier: GPL-2.0

//! Whether ferroprobe accepts a definition: its own parser and compiler.

use ferroprobe_engine::engine::code::arch::{Arch, Machine};
use ferroprobe_engine::engine::definition::ast::Request;
use ferroprobe_engine::engine::definition::parse;
use ferroprobe_engine::engine::language::lex::Command;
use ferroprobe_engine::engine::program::fetch::{self, CpuInstance, PathOffsets, Symbols, Target};
use ferroprobe_engine::engine::refusal::suggest::distance::Nearest;
use ferroprobe_tools::arch::Arch as ToolArch;

/// A kernel that has every symbol.
struct AnySymbol;

impl Symbols for AnySymbol {
    fn address(&mut self, _name: &[u8]) -> Option<u64> {
        Some(0xffff_ffff_8100_0000)
    }

    fn is_per_cpu(&mut self, _address: u64) -> bool {
        false
    }

    fn of_cpu(&mut self, address: u64, _cpu: u32) -> CpuInstance {
        CpuInstance::At(address)
    }

    fn each_similar_data(&mut self, _nearest: &mut Nearest<'_>) {}
}

/// Fails if `line` is refused.
pub fn check(line: &str, arch: ToolArch) {
    let arch = match arch {
        ToolArch::X86_64 => Arch::X86_64,
        ToolArch::Arm64 => Arch::Arm64,
    };
    let machine = Machine {
        arch,
        stack_words: 2048,
    };
    let command = Command::new(line.as_bytes()).expect(line);
    let request = parse::request(&command, machine);
    let request = request.unwrap_or_else(|error| panic!("{line}: {error:?}"));
    let Request::Create(definition) = request else {
        panic!("a deletion: {line}");
    };
    let mut target = Target {
        arch,
        at_entry: false,
        point: None,
        symbols: &mut AnySymbol,
        paths: PathOffsets {
            dentry_name: 0,
            file_dentry: 0,
        },
        btf: None,
        function: None,
    };
    let compiled = fetch::compile(&definition, &mut target);
    compiled.unwrap_or_else(|error| panic!("{line}: {error:?}"));
}
