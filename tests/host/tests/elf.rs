// SPDX-License-Identifier: GPL-2.0

//! The symbols of ELF files: of one that is made here, of the test's own program, and of files that
//! are damaged in any way.

use ferroprobe_engine::engine::code::arch::Arch;
use ferroprobe_engine::engine::code::elf::points::ElfPoint;
use ferroprobe_engine::engine::code::elf::{Elf, ElfError, FileBytes};

struct Bytes(Vec<u8>);

impl FileBytes for Bytes {
    fn read(&self, offset: u64, out: &mut [u8]) -> Option<usize> {
        let start = usize::try_from(offset).ok()?.min(self.0.len());
        let rest = &self.0[start..];
        let length = rest.len().min(out.len());
        out[..length].copy_from_slice(&rest[..length]);
        Some(length)
    }
}

const NAMES: &[u8] = b"\0main\0domain\0twice\0both\0data\0away\0.stapsdt.base\0";

/// A symbol: its name, its info, its section, its address and its size.
type Row = (&'static str, u8, u16, u64, u64);

const FUNC: u8 = 2;
const GLOBAL: u8 = 0x10;
const CODE: u64 = 0x40_1000;

const SYMBOLS: &[Row] = &[
    ("", 0, 0, 0, 0),
    ("main", GLOBAL | FUNC, 1, CODE + 0x20, 0x40),
    ("domain", FUNC, 1, CODE + 0x60, 0x10),
    ("twice", FUNC, 1, CODE + 0x70, 0x10),
    ("twice", FUNC, 1, CODE + 0x80, 0x10),
    ("both", FUNC, 1, CODE + 0x90, 0x10),
    ("both", GLOBAL | FUNC, 1, CODE + 0xa0, 0x10),
    ("data", GLOBAL | 1, 2, 0x40_3000, 8),
    ("away", GLOBAL | FUNC, 0, 0, 0),
];

/// The address of `.stapsdt.base` when the notes were made, and since the program was moved.
const BASE: u64 = 0x50_0000;
const MOVED: u64 = 0x100;

/// A note of a static point whose addresses were made before the program was moved.
fn note(addresses: [u64; 2], texts: &str) -> Vec<u8> {
    let [at, counter] = addresses;
    let counter = if counter == 0 { 0 } else { counter - MOVED };
    let mut description = [at - MOVED, BASE, counter].map(u64::to_le_bytes).concat();
    description.extend(texts.bytes());
    let mut note = [8, description.len() as u32, 3]
        .map(u32::to_le_bytes)
        .concat();
    note.extend(b"stapsdt\0");
    note.extend(description);
    note.resize(note.len().next_multiple_of(4), 0);
    note
}

/// The notes of the program: another owner's, three points, and one that is in no code.
fn notes() -> Vec<u8> {
    let mut other = [4, 5, 3].map(u32::to_le_bytes).concat();
    other.extend(b"GNU\0abcde\0\0\0");
    [
        other,
        note([CODE + 0x22, 0x40_3010], "lib\0begin\0-4@%edi 8@%rsi\0"),
        note([CODE + 0x30, 0], "lib\0end\0\0"),
        note([0x40_3000, 0], "lib\0nowhere\0\0"),
        note([CODE + 0x62, 0], "lib\0end\0\0"),
    ]
    .concat()
}

/// A program with code at 0x1000 of the file and data at 0x2000, and a table of symbols.
fn program() -> Vec<u8> {
    let mut file = vec![0u8; 0x3000];
    let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, b"\x7fELF\x02\x01\x01");
    put(16, &2u16.to_le_bytes());
    put(18, &62u16.to_le_bytes());
    put(32, &64u64.to_le_bytes());
    put(40, &0x2800u64.to_le_bytes());
    put(54, &56u16.to_le_bytes());
    put(56, &2u16.to_le_bytes());
    put(58, &64u16.to_le_bytes());
    put(60, &5u16.to_le_bytes());
    put(62, &2u16.to_le_bytes());
    for (n, (flags, offset, address, size)) in [
        (5u32, 0x1000u64, CODE, 0x200u64),
        (6, 0x2000, 0x40_3000, 0x100),
    ]
    .into_iter()
    .enumerate()
    {
        let at = 64 + n * 56;
        put(at, &1u32.to_le_bytes());
        put(at + 4, &flags.to_le_bytes());
        put(at + 8, &offset.to_le_bytes());
        put(at + 16, &address.to_le_bytes());
        put(at + 32, &size.to_le_bytes());
        put(at + 40, &size.to_le_bytes());
    }
    put(0x2400, NAMES);
    let notes = notes();
    put(0x2c00, &notes);
    for (n, (name, info, section, address, size)) in SYMBOLS.iter().enumerate() {
        let at = 0x2500 + n * 24;
        let named = [b"\0", name.as_bytes(), b"\0"].concat();
        let name = NAMES.windows(named.len()).position(|text| text == named);
        let name = name.map_or(0, |at| at as u32 + 1);
        put(at, &name.to_le_bytes());
        put(at + 4, &[*info]);
        put(at + 6, &section.to_le_bytes());
        put(at + 8, &address.to_le_bytes());
        put(at + 16, &size.to_le_bytes());
    }
    for (n, (kind, offset, size, link, entry)) in [
        (2u32, 0x2500u64, SYMBOLS.len() as u64 * 24, 2u32, 24u64),
        (3, 0x2400, NAMES.len() as u64, 0, 0),
        (7, 0x2c00, notes.len() as u64, 0, 0),
        (1, 0x2100, 1, 0, 0),
    ]
    .into_iter()
    .enumerate()
    {
        let at = 0x2800 + (n + 1) * 64;
        put(at + 4, &kind.to_le_bytes());
        put(at + 24, &offset.to_le_bytes());
        put(at + 32, &size.to_le_bytes());
        put(at + 40, &link.to_le_bytes());
        put(at + 56, &entry.to_le_bytes());
    }
    let base = NAMES
        .windows(8)
        .position(|text| text == b".stapsdt")
        .map_or(0, |at| at as u32);
    put(0x2900, &base.to_le_bytes());
    put(0x2910, &(BASE + MOVED).to_le_bytes());
    file
}

/// The points of `elf`, each in a line.
fn points(elf: &Elf<'_>) -> Result<Vec<String>, ElfError> {
    let mut found = Vec::new();
    elf.each_point(&mut |point| {
        let ElfPoint {
            provider,
            name,
            arguments,
            offset,
            counter,
        } = *point;
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let (provider, name, arguments) = (text(provider), text(name), text(arguments));
        found.push(format!(
            "{provider}:{name} {offset:#x}({counter:#x}) {arguments}"
        ));
        true
    })?;
    Ok(found)
}

#[test]
fn static_points_are_found() {
    let file = Bytes(program());
    let elf = Elf::open(&file, Arch::X86_64).expect("a sound file");
    assert_eq!(
        points(&elf).expect("a sound file"),
        [
            "lib:begin 0x1022(0x2010) -4@%edi 8@%rsi",
            "lib:end 0x1030(0x0) ",
            "lib:end 0x1062(0x0) ",
        ]
    );
    // The search ends when it is told to.
    let mut count = 0;
    elf.each_point(&mut |_| {
        count += 1;
        false
    })
    .expect("a sound file");
    assert_eq!(count, 1);
    // A note that is longer than its section.
    let mut file = program();
    file[0x2c04] = 0xff;
    file[0x2c05] = 0xff;
    let file = Bytes(file);
    let elf = Elf::open(&file, Arch::X86_64).expect("sound headers");
    assert_eq!(points(&elf), Err(ElfError::Broken));
}

fn offsets(elf: &Elf<'_>, name: &str) -> Vec<u64> {
    let found = elf.named(name.as_bytes()).expect("a sound file");
    found.iter().map(|symbol| symbol.offset).collect()
}

#[test]
fn symbols_have_offsets_in_the_file() {
    let file = Bytes(program());
    let elf = Elf::open(&file, Arch::X86_64).expect("a sound file");
    assert_eq!(offsets(&elf, "main"), [0x1020]);
    // The end of another name is none.
    assert!(offsets(&elf, "omain").is_empty());
    assert_eq!(offsets(&elf, "domain"), [0x1060]);
    assert_eq!(offsets(&elf, "twice"), [0x1070, 0x1080]);
    // Neither data nor what another file has.
    assert!(offsets(&elf, "data").is_empty());
    assert!(offsets(&elf, "away").is_empty());
    // A function of which one of several is chosen.
    let mut resolver = program();
    resolver[0x2500 + 24 + 4] = GLOBAL | 10;
    let resolver = Bytes(resolver);
    let other = Elf::open(&resolver, Arch::X86_64).expect("a sound file");
    let is_resolver = |elf: &Elf<'_>| elf.named(b"main").map(|found| found[0].is_resolver);
    assert_eq!(
        (is_resolver(&elf), is_resolver(&other)),
        (Ok(false), Ok(true))
    );
    let both = elf.named(b"both").expect("a sound file");
    let is_global: Vec<bool> = both.iter().map(|symbol| symbol.is_global).collect();
    assert_eq!(is_global, [false, true]);
    assert!(elf.is_code(0x1000) && elf.is_code(0x11ff));
    assert!(!elf.is_code(0xfff) && !elf.is_code(0x1200) && !elf.is_code(0x2000));
}

/// The table of names of a large program has a short name as the end of many others.
#[test]
fn a_name_may_be_the_end_of_many_others() {
    let with_others = |count: u32| {
        let mut names = vec![0];
        for n in 0..count {
            names.extend_from_slice(format!("f{n}_main\0").as_bytes());
        }
        let name = u32::try_from(names.len()).expect("a small table");
        names.extend_from_slice(b"main\0");
        let mut file = program();
        let at = file.len() as u64;
        file[0x2880 + 24..0x2880 + 32].copy_from_slice(&at.to_le_bytes());
        file[0x2880 + 32..0x2880 + 40].copy_from_slice(&(names.len() as u64).to_le_bytes());
        file[0x2500 + 24..0x2500 + 28].copy_from_slice(&name.to_le_bytes());
        file.extend_from_slice(&names);
        Bytes(file)
    };
    let file = with_others(60_000);
    let elf = Elf::open(&file, Arch::X86_64).expect("a sound file");
    assert_eq!(offsets(&elf, "main"), [0x1020]);
    let file = with_others(70_000);
    let elf = Elf::open(&file, Arch::X86_64).expect("a sound file");
    assert_eq!(elf.named(b"main").err(), Some(ElfError::TooLarge));
}

#[test]
fn offsets_are_in_functions() {
    let file = Bytes(program());
    let elf = Elf::open(&file, Arch::X86_64).expect("a sound file");
    for (offset, name) in [
        (0x101f, None),
        (0x1020, Some("main")),
        (0x105f, Some("main")),
        (0x1060, Some("domain")),
        (0x10b0, None),
    ] {
        let found = elf.function_at(offset).expect("a sound file");
        let found = found.map(|symbol| elf.name_of(&symbol).expect("a sound file"));
        let found = found.map(|name| String::from_utf8_lossy(&name).into_owned());
        assert_eq!(found.as_deref(), name, "{offset:#x}");
    }
}

#[test]
fn other_files_are_refused() {
    let open = |file: Vec<u8>, arch| Elf::open(&Bytes(file), arch).err();
    assert_eq!(
        open(b"#!/bin/sh\n".to_vec(), Arch::X86_64),
        Some(ElfError::NotElf)
    );
    assert_eq!(open(Vec::new(), Arch::X86_64), Some(ElfError::NotElf));
    assert_eq!(open(program(), Arch::Arm64), Some(ElfError::OtherMachine));
    assert_eq!(
        open(program()[..63].to_vec(), Arch::X86_64),
        Some(ElfError::Broken)
    );
    let mut narrow = program();
    narrow[4] = 1;
    assert_eq!(open(narrow, Arch::X86_64), Some(ElfError::OtherMachine));
    let mut large = program();
    large[0x2840 + 32..0x2840 + 40].copy_from_slice(&(u64::MAX).to_le_bytes());
    assert_eq!(open(large, Arch::X86_64), Some(ElfError::TooLarge));
}

/// No file makes it panic, loop, or read outside: each byte of the headers and tables is changed.
#[test]
fn damaged_files_do_no_harm() {
    let sound = program();
    let places = (0..176)
        .chain(0x2400..0x2440)
        .chain(0x2500..0x2600)
        .chain(0x2840..0x2940)
        .chain(0x2c00..0x2d00);
    for place in places {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut file = sound.clone();
            file[place] = value;
            let file = Bytes(file);
            let Ok(elf) = Elf::open(&file, Arch::X86_64) else {
                continue;
            };
            for symbol in elf.named(b"main").iter().flat_map(|found| found.iter()) {
                let _ = elf.name_of(symbol);
            }
            let _ = elf.function_at(0x1030);
            let _ = elf.is_code(0x1030);
            let _ = points(&elf);
        }
    }
    for length in (0..sound.len()).step_by(37) {
        let file = Bytes(sound[..length].to_vec());
        if let Ok(elf) = Elf::open(&file, Arch::X86_64) {
            let _ = elf.named(b"main");
            let _ = elf.function_at(0x1030);
            let _ = points(&elf);
        }
    }
}
