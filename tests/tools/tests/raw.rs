// SPDX-License-Identifier: GPL-2.0

//! The modes for raw code, and the unpacking of kernels.

mod support;

use std::io::Write;
use support::{fails, prints, writes, TempFile};

#[test]
fn walk_counts_instructions() {
    // nop; mov $1, %eax; an opcode of VEX without VEX, taken on from its second
    // byte: cmp; ret; half a call
    let code = TempFile::new(&[0x90, 0xb8, 1, 0, 0, 0, 0x0f, 0x38, 0xf7, 0xc3, 0xe8, 0]);
    let walked = prints(&["walk", "--arch", "x86_64", code.path()]);
    assert_eq!(walked, "insns 4 undecodable 3\n");
    let words = TempFile::new(&[0; 10]);
    let walked = prints(&["walk", "--arch", "arm64", words.path()]);
    assert_eq!(walked, "insns 2 undecodable 1\n");
    let nothing = TempFile::new(&[]);
    let walked = prints(&["walk", "--arch", "x86_64", nothing.path()]);
    assert_eq!(walked, "insns 0 undecodable 0\n");
}

#[test]
fn lengths_are_those_at_every_offset() {
    let code = TempFile::new(&[0xe8, 0x90, 0xc3, 0xcc, 0x55, 0x48, 0xb8]);
    let lengths = writes(&["lengths", "--arch", "x86_64", code.path()]);
    assert_eq!(lengths, [5, 1, 1, 1, 1, 0, 0]);
    let refused = fails(&["lengths", "--arch", "arm64", code.path()]);
    assert!(refused.contains("every arm64 instruction has 4 bytes"));
}

#[test]
fn verdicts_are_those_of_the_words() {
    // msr daifset, #2 rejected; nop simulated; the hint behind it rejected
    assert_eq!(
        writes(&["verdicts", "--arch", "arm64", "0xd50342df", "1"]),
        [0]
    );
    assert_eq!(
        writes(&["verdicts", "--arch", "arm64", "0xd503201f", "1"]),
        [1]
    );
    assert_eq!(
        writes(&["verdicts", "--arch", "aarch64", "0x8b000000", "2"]),
        [2, 2]
    );
    assert_eq!(
        writes(&["verdicts", "--arch", "arm64", "0xffffffff", "1"]).len(),
        1
    );
    assert_eq!(writes(&["verdicts", "--arch", "arm64", "7", "0"]), []);
    let beyond = ["verdicts", "--arch", "arm64", "0xffffffff", "2"];
    assert!(fails(&beyond).contains("beyond the 2^32 words"));
    assert!(fails(&["verdicts", "--arch", "x86_64", "0", "1"]).contains("is for arm64"));
    assert!(fails(&["verdicts", "--arch", "arm64", "zero", "1"]).contains("invalid digit"));
}

/// The order of the words is kept when several threads judge them.
#[test]
fn verdicts_of_parts_are_parts_of_the_verdicts() {
    let start = 0xd400_0000_u32;
    let count = (5 << 22) + 3;
    let whole = writes(&[
        "verdicts",
        "--arch",
        "arm64",
        &start.to_string(),
        &count.to_string(),
    ]);
    assert_eq!(whole.len(), count);
    for at in [0, (1 << 22) - 1, 1 << 22, 3 << 22, 5 << 22] {
        let from = (start as usize + at).to_string();
        let part = writes(&["verdicts", "--arch", "arm64", &from, "3"]);
        assert_eq!(part, whole[at..at + 3]);
    }
}

#[test]
fn kernels_are_unpacked() {
    let kernel = b"a kernel, twice a kernel";
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(kernel).unwrap();
    let packed = packed.finish().unwrap();
    let size = u32::try_from(packed.len()).unwrap().to_le_bytes();

    let mut x86 = vec![0; 0x600];
    x86[0x1f1] = 1; // sectors of set-up code
    x86[0x202..0x206].copy_from_slice(b"HdrS");
    x86[0x248] = 0; // counted from behind the set-up code
    x86[0x249] = 2;
    x86[0x24c..0x250].copy_from_slice(&size);
    // Fewer than four sectors mean four.
    x86.resize(5 * 512 + 0x200, 0);
    x86.extend(&packed);
    let x86 = TempFile::new(&x86);
    assert_eq!(writes(&["unpack", x86.path()]), kernel);

    let mut arm64 = b"MZ\0\0zimg\x40\0\0\0".to_vec();
    arm64.extend(size);
    arm64.resize(0x40, 0);
    arm64.extend(&packed);
    let arm64 = TempFile::new(&arm64);
    assert_eq!(writes(&["unpack", arm64.path()]), kernel);

    // What is no such image is left as it is.
    let plain = TempFile::new(kernel);
    assert_eq!(writes(&["unpack", plain.path()]), kernel);

    let mut unknown = b"MZ\0\0zimg\x10\0\0\0\x04\0\0\0".to_vec();
    unknown.extend(b"what");
    let unknown = TempFile::new(&unknown);
    assert!(fails(&["unpack", unknown.path()]).contains("neither gzip nor zstd"));
}
