// SPDX-License-Identifier: GPL-2.0

//! Nanoseconds per instruction on the text of a kernel, beside other decoders.
//!
//! `bench VMLINUX [ROUNDS]` walks the file's `.text` with each decoder in turn,
//! slice by slice and each slice ROUNDS times over, and prints the sum of the
//! best rounds of each as TSV. A slice takes about as long as a process runs
//! undisturbed on a busy machine. Only the ratios within one run mean
//! something.

use ferroprobe_differential_x86::{kernel, text};
use ferroprobe_engine::engine::code::insn::x86::{decode, X86Class};
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;
use yaxpeax_arch::{Decoder, LengthedInstruction, U8Reader};

/// What a walk has found: instructions, and places where none was.
#[derive(Clone, Copy, Default)]
struct Found {
    instructions: u64,
    undecodable: u64,
}

/// Bytes of text that are walked at a time, up to the end of an instruction.
const SLICE: usize = 1 << 18;

/// Cuts `text` into pieces that end where an instruction does.
fn slices(mut text: &[u8]) -> Vec<&[u8]> {
    let mut slices = Vec::new();
    while !text.is_empty() {
        let mut end = 0;
        while end < SLICE.min(text.len()) {
            end += decode(&text[end..]).map_or(1, |insn| insn.len());
        }
        let (slice, rest) = text.split_at(end);
        slices.push(slice);
        text = rest;
    }
    slices
}

type Walk = fn(&[u8]) -> Found;

fn ours(text: &[u8]) -> Found {
    let mut found = Found::default();
    let mut branches = 0u64;
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        match decode(rest) {
            Ok(insn) => {
                found.instructions += 1;
                branches += u64::from(insn.class() != X86Class::Normal);
                at += insn.len();
            }
            Err(_) => {
                found.undecodable += 1;
                at += 1;
            }
        }
    }
    black_box(branches);
    found
}

fn insn_c(text: &[u8]) -> Found {
    let mut lengths = vec![0; text.len()];
    let (instructions, undecodable) = kernel::walk(text, &mut lengths);
    black_box(&lengths);
    Found {
        instructions: instructions as u64,
        undecodable: undecodable as u64,
    }
}

fn iced(text: &[u8]) -> Found {
    let mut found = Found::default();
    let mut decoder = iced_x86::Decoder::new(64, text, iced_x86::DecoderOptions::NONE);
    let mut insn = iced_x86::Instruction::default();
    while decoder.can_decode() {
        decoder.decode_out(&mut insn);
        if insn.is_invalid() {
            found.undecodable += 1;
        } else {
            found.instructions += 1;
        }
        black_box(&insn);
    }
    found
}

fn yaxpeax(text: &[u8]) -> Found {
    let mut found = Found::default();
    let decoder = yaxpeax_x86::amd64::InstDecoder::default();
    let mut insn = yaxpeax_x86::amd64::Instruction::default();
    let mut rest = text;
    while !rest.is_empty() {
        let len = match decoder.decode_into(&mut insn, &mut U8Reader::new(rest)) {
            Ok(()) => {
                found.instructions += 1;
                insn.len().to_const() as usize
            }
            Err(_) => {
                found.undecodable += 1;
                1
            }
        };
        black_box(&insn);
        rest = rest.get(len..).unwrap_or(&[]);
    }
    found
}

#[cfg(feature = "zydis")]
fn zydis(text: &[u8]) -> Found {
    let mut found = Found::default();
    let decoder = zydis::Decoder::new64();
    let mut rest = text;
    while !rest.is_empty() {
        let len = match decoder.decode_first::<zydis::NoOperands>(rest) {
            Ok(Some(insn)) => {
                found.instructions += 1;
                usize::from(black_box(insn).length)
            }
            _ => {
                found.undecodable += 1;
                1
            }
        };
        rest = rest.get(len..).unwrap_or(&[]);
    }
    found
}

fn decoders() -> Vec<(&'static str, Walk)> {
    let mut all: Vec<(&'static str, Walk)> = vec![("ferroprobe", ours)];
    if kernel::PRESENT {
        all.push(("insn.c", insn_c));
    }
    all.push(("iced-x86", iced));
    all.push(("yaxpeax-x86", yaxpeax));
    #[cfg(feature = "zydis")]
    all.push(("zydis", zydis));
    all
}

/// What each decoder finds in `text`, and in how many nanoseconds at best.
fn best_rounds(decoders: &[(&'static str, Walk)], text: &[u8], rounds: usize) -> Vec<(f64, Found)> {
    let mut best = vec![(f64::INFINITY, Found::default()); decoders.len()];
    for _ in 0..rounds {
        for ((_, walk), best) in decoders.iter().zip(&mut best) {
            let start = Instant::now();
            let found = walk(black_box(text));
            let time = start.elapsed().as_secs_f64() * 1e9;
            if time < best.0 {
                *best = (time, found);
            }
        }
    }
    best
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else {
        eprintln!("usage: bench VMLINUX [ROUNDS]");
        std::process::exit(2);
    };
    let rounds: usize = arguments
        .next()
        .map_or(15, |rounds| rounds.parse().expect("ROUNDS is a number"));
    let sections = text::sections(Path::new(&path)).expect("the file can be read");
    let (_, text) = sections
        .iter()
        .find(|(name, _)| name == ".text" || name == "raw")
        .expect("the file has a .text");
    let decoders = decoders();
    let mut sums = vec![(0.0, Found::default()); decoders.len()];
    for slice in slices(text) {
        for (best, sum) in best_rounds(&decoders, slice, rounds).iter().zip(&mut sums) {
            sum.0 += best.0;
            sum.1.instructions += best.1.instructions;
            sum.1.undecodable += best.1.undecodable;
        }
    }
    if !kernel::PRESENT {
        eprintln!("insn.c: {}", kernel::MISSING);
    }
    println!("decoder\tns_per_insn\ttimes_ours\tinsns\tundecodable");
    let per_insn = |(time, found): (f64, Found)| time / found.instructions as f64;
    for ((name, _), result) in decoders.iter().zip(&sums) {
        println!(
            "{name}\t{:.2}\t{:.2}\t{}\t{}",
            per_insn(*result),
            per_insn(*result) / per_insn(sums[0]),
            result.1.instructions,
            result.1.undecodable
        );
    }
}
