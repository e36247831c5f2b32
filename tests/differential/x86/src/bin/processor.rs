// SPDX-License-Identifier: GPL-2.0

//! Asks this machine's processor where we differ from the kernel's decoder.
//!
//! Prints a line per case: the bytes, our length, the kernel's, and how many
//! bytes the processor fetched before it ran the instruction or raised #UD.

#[cfg(processor_oracle)]
fn main() {
    use ferroprobe_differential_x86::kernel;
    use ferroprobe_engine::engine::insn::x86::decode;
    use std::ffi::c_int;

    extern "C" {
        fn processor_length(bytes: *const u8, rejected: *mut c_int) -> c_int;
    }

    // All without memory operands, and harmless.
    const CASES: [&[u8]; 20] = [
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
        b"\xf3\x0f\x94\xc0",
        b"\x66\x0f\x78\xc0\x08\x04",
        b"\xf2\x0f\x78\xc1\x08\x04",
        b"\x66\x0f\x79\xc1",
        b"\xd6",
        b"\x06",
        b"\x0f\x04",
        b"\xf3\x0f\x54\xc0",
    ];
    println!("bytes\tours\tkernel\tprocessor");
    for case in CASES {
        let mut bytes = [0x90; 15];
        bytes[..case.len()].copy_from_slice(case);
        let ours = decode(&bytes).map_or(0, |insn| insn.len());
        let theirs = kernel::length(&bytes).unwrap_or(0);
        let mut rejected = 0;
        // SAFETY: the function reads fifteen bytes, writes `rejected`, and
        // restores what it changes; the instructions above are harmless.
        let fetched = unsafe { processor_length(bytes.as_ptr(), &mut rejected) };
        let shown: Vec<String> = case.iter().map(|byte| format!("{byte:02x}")).collect();
        let raised = if rejected != 0 { " #UD" } else { "" };
        println!("{}\t{ours}\t{theirs}\t{fetched}{raised}", shown.join(" "));
    }
}

#[cfg(not(processor_oracle))]
fn main() {
    println!("skipped: this machine's processor is not an x86-64 one");
}
