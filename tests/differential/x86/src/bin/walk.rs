// SPDX-License-Identifier: GPL-2.0

//! Walks over the code of files with our decoder and with the kernel's.
//!
//! `walk FILE…` takes ELF files, of which it walks every executable section,
//! and raw code. At each boundary it compares the lengths, and our refusal with
//! what the kernel's kprobes would make of the instruction. Prints where they
//! differ, and the totals.

use ferroprobe_differential_x86::{kernel, text, verdict};
use ferroprobe_engine::engine::code::insn::x86::{decode, X86Refusal};
use std::path::Path;
use std::process::ExitCode;

#[derive(Default)]
struct Totals {
    files: usize,
    bytes: usize,
    instructions: usize,
    undecodable: usize,
    different: usize,
    otherwise_judged: usize,
    mistaken: usize,
}

fn compare(name: &str, text: &[u8], totals: &mut Totals) {
    let mut lengths = vec![0; text.len()];
    totals.bytes += text.len();
    totals.instructions += kernel::walk(text, &mut lengths).0;
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let decoded = decode(rest).ok();
        let ours = decoded.map_or(0, |insn| insn.len());
        let refusal = decoded.and_then(|insn| insn.refusal());
        totals.mistaken += usize::from(refusal == Some(X86Refusal::Mistaken));
        let theirs = usize::from(lengths[at]);
        totals.undecodable += usize::from(ours == 0);
        if ours != theirs {
            totals.different += 1;
            let shown = &rest[..rest.len().min(15)];
            println!("{name}+{at:#x}: {ours}, kernel {theirs}: {shown:02x?}");
        }
        if let Err(message) = verdict::check(rest) {
            totals.otherwise_judged += 1;
            println!("{name}+{at:#x}: {message}");
        }
        at += theirs.max(1);
    }
}

fn main() -> ExitCode {
    if !kernel::PRESENT {
        println!("{}", kernel::MISSING);
        return ExitCode::SUCCESS;
    }
    let mut totals = Totals::default();
    for path in std::env::args().skip(1) {
        let sections = match text::sections(Path::new(&path)) {
            Ok(sections) => sections,
            Err(error) => {
                eprintln!("{path}: {error}");
                return ExitCode::FAILURE;
            }
        };
        totals.files += 1;
        for (section, text) in sections {
            compare(&format!("{path} {section}"), &text, &mut totals);
        }
    }
    println!(
        "files {} bytes {} insns {} undecodable {} different {} otherwise judged {} mistaken {}",
        totals.files,
        totals.bytes,
        totals.instructions,
        totals.undecodable,
        totals.different,
        totals.otherwise_judged,
        totals.mistaken
    );
    if totals.different == 0 && totals.otherwise_judged == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
