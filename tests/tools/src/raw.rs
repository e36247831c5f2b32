// SPDX-License-Identifier: GPL-2.0

//! The modes for raw code, made to be compared with other decoders.

use crate::Failure;
use ferroprobe_engine::engine::code::arch::Arch;
use ferroprobe_engine::engine::code::insn::{arm64, x86};
use std::io::Write;
use std::thread;

/// Decodes `code` linearly and prints `insns N undecodable M`.
///
/// Behind bytes that are no x86 instruction the walk goes on one byte later.
/// Every arm64 word is an instruction; an incomplete one at the end is none.
pub(crate) fn walk(arch: Arch, code: &[u8], out: &mut impl Write) -> Result<(), Failure> {
    let (insns, undecodable) = match arch {
        Arch::X86_64 => walk_x86(code),
        Arch::Arm64 => {
            let words = code.chunks_exact(arm64::INSN_LEN);
            let tail = usize::from(!words.remainder().is_empty());
            (words.len(), tail)
        }
    };
    Ok(writeln!(out, "insns {insns} undecodable {undecodable}")?)
}

fn walk_x86(code: &[u8]) -> (usize, usize) {
    let (mut insns, mut undecodable) = (0, 0);
    let mut at = 0;
    while let Some(rest) = code.get(at..).filter(|rest| !rest.is_empty()) {
        match x86::decode(rest) {
            Ok(insn) => {
                insns += 1;
                at += insn.len();
            }
            Err(_) => {
                undecodable += 1;
                at += 1;
            }
        }
    }
    (insns, undecodable)
}

/// Writes for every offset of `code` the length of what begins there.
pub(crate) fn lengths(arch: Arch, code: &[u8], out: &mut impl Write) -> Result<(), Failure> {
    if arch == Arch::Arm64 {
        return Err("every arm64 instruction has 4 bytes: lengths is for x86_64".into());
    }
    let lengths: Vec<u8> = (0..code.len())
        .map(|at| match x86::decode(code.get(at..).unwrap_or_default()) {
            Ok(insn) => u8::try_from(insn.len()).expect("at most 15"),
            Err(_) => 0,
        })
        .collect();
    Ok(out.write_all(&lengths)?)
}

/// Words that one thread judges before their verdicts are written.
const CHUNK: u64 = 1 << 22;

/// Writes the verdicts on `count` words from `start` on.
pub(crate) fn verdicts(
    arch: Arch,
    start: u64,
    count: u64,
    out: &mut impl Write,
) -> Result<(), Failure> {
    if arch == Arch::X86_64 {
        return Err("x86_64 instructions are no words: verdicts is for arm64".into());
    }
    let end = start
        .checked_add(count)
        .filter(|end| *end <= 1 << 32)
        .ok_or("START and COUNT go beyond the 2^32 words")?;
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut chunks: Vec<Vec<u8>> = vec![Vec::new(); threads];
    let mut from = start;
    while from < end {
        thread::scope(|scope| {
            for chunk in &mut chunks {
                let words = from..end.min(from + CHUNK);
                from = words.end;
                scope.spawn(move || {
                    chunk.clear();
                    chunk.extend(words.map(verdict));
                });
            }
        });
        for chunk in &chunks {
            out.write_all(chunk)?;
        }
    }
    Ok(())
}

fn verdict(word: u64) -> u8 {
    // CAST: Below 2^32, as checked for the end.
    match arm64::verdict(word as u32) {
        arm64::ProbeVerdict::Rejected(_) => 0,
        arm64::ProbeVerdict::Simulated => 1,
        arm64::ProbeVerdict::SteppableOutOfLine => 2,
    }
}
