// SPDX-License-Identifier: GPL-2.0

//! Asks others who is right where we differ from the kernel's decoder.
//!
//! Prints a line per case: the bytes, and the length that each gives them, 0
//! for none: ours, the kernel's, the crates', objdump's, and how many bytes this
//! machine's processor fetched before it ran the instruction or raised #UD.

#[cfg(processor_oracle)]
mod ask {
    use ferroprobe_differential_x86::kernel;
    use ferroprobe_engine::engine::code::insn::x86::decode;
    use std::ffi::c_int;
    use std::process::Command;
    use yaxpeax_arch::{Decoder, LengthedInstruction, U8Reader};

    extern "C" {
        fn processor_length(bytes: *const u8, rejected: *mut c_int) -> c_int;
    }

    // All without memory operands, and harmless.
    const CASES: [&[u8]; 22] = [
        b"\x48\x66\x90",
        b"\x48\x48\x89\xc0",
        b"\x48\x66\xb8\x34\x12",
        b"\x2e\x36\x3e\x26\x64\x89\xc0",
        b"\xf3\x66\x0f\xb8\xc1",
        b"\xf3\x2e\x0f\xb8\xc1",
        b"\x0f\xff\xc0",
        b"\x0f\xb9\xc0",
        b"\x0f\x0b",
        b"\x0f\x19\xc0",
        b"\x0f\x1d\xc0",
        b"\xf2\x0f\x44\xc1",
        b"\xf3\x0f\x92\xc0",
        b"\x66\x0f\x78\xc0\x08\x04",
        b"\xf2\x0f\x78\xc1\x08\x04",
        b"\x66\x0f\x79\xc1",
        b"\xf2\x0f\x79\xc1",
        b"\xd6",
        b"\x06",
        b"\x0f\x04",
        b"\xf3\x0f\x54\xc0",
        b"\x66\xe9\x00\x00\x00\x00",
    ];

    /// The case with nops behind it.
    fn filled(case: &[u8]) -> [u8; 15] {
        let mut bytes = [0x90; 15];
        for (to, from) in bytes.iter_mut().zip(case) {
            *to = *from;
        }
        bytes
    }

    fn iced(bytes: &[u8]) -> usize {
        let insn = iced_x86::Decoder::new(64, bytes, iced_x86::DecoderOptions::NONE).decode();
        match insn.is_invalid() {
            true => 0,
            false => insn.len(),
        }
    }

    fn yaxpeax(bytes: &[u8]) -> usize {
        let decoder = yaxpeax_x86::amd64::InstDecoder::default();
        let insn = decoder.decode(&mut U8Reader::new(bytes));
        insn.map_or(0, |insn| insn.len().to_const() as usize)
    }

    /// The length by objdump, which tells it by where the next line begins; it
    /// counts one byte where it finds nothing.
    fn objdump(bytes: &[u8]) -> Option<usize> {
        let path = std::env::temp_dir().join(format!("ferroprobe-case-{}", std::process::id()));
        std::fs::write(&path, bytes).ok()?;
        let run = Command::new("objdump")
            .args(["-D", "-b", "binary", "-m", "i386:x86-64", "--insn-width=15"])
            .arg(&path)
            .output();
        std::fs::remove_file(&path).ok()?;
        let text = String::from_utf8(run.ok()?.stdout).ok()?;
        let mut lines = text.lines().filter(|line| line.starts_with(' '));
        let first = lines.next()?;
        if first.contains("(bad)") {
            return Some(0);
        }
        let (offset, _) = lines.next()?.trim_start().split_once(':')?;
        usize::from_str_radix(offset, 16).ok()
    }

    pub(crate) fn all() {
        println!("bytes\tours\tkernel\ticed-x86\tyaxpeax-x86\tobjdump\tprocessor");
        for case in CASES {
            let bytes = filled(case);
            let ours = decode(&bytes).map_or(0, |insn| insn.len());
            let theirs = kernel::length(&bytes).unwrap_or(0);
            let shown: Vec<String> = case.iter().map(|byte| format!("{byte:02x}")).collect();
            let mut rejected = 0;
            // SAFETY: the function reads fifteen bytes, writes `rejected`, and
            // restores what it changes; the instructions above are harmless.
            let fetched = unsafe { processor_length(bytes.as_ptr(), &mut rejected) };
            let raised = if rejected != 0 { " #UD" } else { "" };
            let printed = objdump(&bytes).map_or("-".into(), |length| length.to_string());
            println!(
                "{}\t{ours}\t{theirs}\t{}\t{}\t{printed}\t{fetched}{raised}",
                shown.join(" "),
                iced(&bytes),
                yaxpeax(&bytes),
            );
        }
    }
}

#[cfg(processor_oracle)]
fn main() {
    ask::all();
}

#[cfg(not(processor_oracle))]
fn main() {
    println!("skipped: this machine's processor is not an x86-64 one");
}
