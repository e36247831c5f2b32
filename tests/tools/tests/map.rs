// SPDX-License-Identifier: GPL-2.0

//! Maps of functions in small modules that are written here, relocations and
//! tables included.

mod support;

use object::elf::{R_AARCH64_ABS64, R_AARCH64_PREL32, R_X86_64_64, R_X86_64_PC32, R_X86_64_PLT32};
use object::write::{Object, Relocation, SectionId, Symbol, SymbolId, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, RelocationFlags, SectionKind, SymbolFlags, SymbolKind,
    SymbolScope,
};
use support::{fails, prints, TempFile};

/// A module that is being put together.
struct Module {
    object: Object<'static>,
    relative: u32,
    absolute: u32,
}

impl Module {
    fn new(arch: Architecture) -> Self {
        let (relative, absolute) = match arch {
            Architecture::X86_64 => (R_X86_64_PC32, R_X86_64_64),
            _ => (R_AARCH64_PREL32, R_AARCH64_ABS64),
        };
        Self {
            object: Object::new(BinaryFormat::Elf, arch, Endianness::Little),
            relative,
            absolute,
        }
    }

    fn section(&mut self, name: &str, kind: SectionKind, data: &[u8]) -> SectionId {
        let section = self.object.add_section(Vec::new(), name.into(), kind);
        self.object.append_section_data(section, data, 16);
        section
    }

    fn symbol(
        &mut self,
        name: &str,
        section: SymbolSection,
        value: u64,
        kind: SymbolKind,
    ) -> SymbolId {
        self.object.add_symbol(Symbol {
            name: name.into(),
            value,
            size: 0,
            kind,
            scope: SymbolScope::Compilation,
            weak: false,
            section,
            flags: SymbolFlags::None,
        })
    }

    fn function(&mut self, name: &str, section: SectionId, value: u64) {
        let section = SymbolSection::Section(section);
        self.symbol(name, section, value, SymbolKind::Text);
    }

    fn relocate(&mut self, at: (SectionId, u64), symbol: SymbolId, addend: i64, r_type: u32) {
        let relocation = Relocation {
            offset: at.1,
            symbol,
            addend,
            flags: RelocationFlags::Elf { r_type },
        };
        self.object.add_relocation(at.0, relocation).unwrap();
    }

    /// A table of one entry, whose first field names a place of `text`.
    fn table(&mut self, name: &str, entry: &[u8], text: SectionId, place: i64) {
        let table = self.section(name, SectionKind::Data, entry);
        let symbol = self.object.section_symbol(text);
        self.relocate((table, 0), symbol, place, self.relative);
    }

    /// A table of one pointer to a place of `text`.
    fn pointer(&mut self, name: &str, text: SectionId, place: i64) {
        let table = self.section(name, SectionKind::Data, &[0; 8]);
        let symbol = self.object.section_symbol(text);
        self.relocate((table, 0), symbol, place, self.absolute);
    }

    fn write(self) -> TempFile {
        TempFile::new(&self.object.write().unwrap())
    }
}

#[rustfmt::skip]
const X86_TEXT: [u8; 48] = [
    0xf3, 0x0f, 0x1e, 0xfa,       // 0x0 endbr64
    0xe8, 0, 0, 0, 0,             // 0x4 call __fentry__
    0x66, 0x90,                   // 0x9 a short jump label
    0xe8, 0, 0, 0, 0,             // 0xb a static call
    0x8b, 0x07,                   // 0x10 in the exception table
    0x90, 0x90, 0x90,             // 0x12 an alternative
    0x0f, 0x0b,                   // 0x15 a BUG
    0xe9, 0, 0, 0, 0,             // 0x17 jmp __x86_return_thunk
    0xcc, 0xcc, 0xcc, 0xcc,       // 0x1c
    0x31, 0xc0, 0xc3, 0x90,       // 0x20 listed: xor; ret
    0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
];

/// A module with one entry in every table.
fn x86() -> Module {
    let mut module = Module::new(Architecture::X86_64);
    let text = module.section(".text", SectionKind::Text, &X86_TEXT);
    let noinstr = module.section(".noinstr.text", SectionKind::Text, &[0x90, 0xc3]);
    module.function("work", text, 0);
    module.function("listed", text, 0x20);
    module.function("noinstr", noinstr, 0);
    let data = module.section(".data", SectionKind::Data, &[0; 16]);
    module.symbol("counter", SymbolSection::Section(data), 0, SymbolKind::Data);
    for (at, name) in [
        (5, "__fentry__"),
        (0xc, "__SCT__call"),
        (0x18, "__x86_return_thunk"),
    ] {
        let symbol = module.symbol(name, SymbolSection::Undefined, 0, SymbolKind::Unknown);
        module.relocate((text, at), symbol, -4, R_X86_64_PLT32);
    }
    module.pointer("__mcount_loc", text, 4);
    module.pointer("_kprobe_blacklist", text, 0x20);
    module.table("__jump_table", &[0; 16], text, 9);
    module.table(".static_call_sites", &[0; 8], text, 0xb);
    module.table("__ex_table", &[0; 12], text, 0x10);
    let mut alternative = [0; 14];
    alternative[12] = 3;
    module.table(".altinstructions", &alternative, text, 0x12);
    module.table("__bug_table", &[0; 16], text, 0x15);
    module
}

const X86_MAP: &str = "\
# work at 0x10000000, 32 bytes
# offset   len  bytes                          insn       verdict
  +0x0       4  f3 0f 1e fa                    endbr64    probeable
  +0x4       5  e8 f7 ff ff ef                 nop        probeable
  +0x9       2  66 90                          nop        a jump label patches it (the kernel refuses)
  +0xb       5  e8 f0 ff ff ef                 call       a static call patches it (the kernel refuses)
  +0x10      2  8b 07                          mov        probeable
  +0x12      1  90                             nop        it may be rewritten at boot, according to the processor (the kernel would accept it)
  +0x13      1  90                             nop        it may be rewritten at boot, according to the processor (the kernel would accept it)
  +0x14      1  90                             nop        it may be rewritten at boot, according to the processor (the kernel would accept it)
  +0x15      2  0f 0b                          ud2        the kernel's table of BUGs and WARNs names it (the kernel refuses)
  +0x17      5  e9 e4 ff ff ef                 jmp        probeable
  +0x1c      1  cc                             int3       it is a trap instruction (the kernel refuses)
  +0x1d      1  cc                             int3       it is a trap instruction (the kernel refuses)
  +0x1e      1  cc                             int3       it is a trap instruction (the kernel refuses)
  +0x1f      1  cc                             int3       it is a trap instruction (the kernel refuses)
";

#[test]
fn every_table_of_an_x86_module_is_seen() {
    let file = x86().write();
    assert_eq!(prints(&["map", file.path(), "work"]), X86_MAP);
    // An address within the function stands for it.
    assert_eq!(prints(&["map", file.path(), "0x10000008"]), X86_MAP);
}

#[test]
fn functions_on_the_blacklist_are_refused_whole() {
    let file = x86().write();
    for name in ["listed", "noinstr"] {
        let map = prints(&["map", file.path(), name]);
        let mut places = map.lines().skip(2).peekable();
        assert!(places.peek().is_some());
        for place in places {
            assert!(place.contains("it is on the kernel's blacklist (the kernel refuses)"));
        }
    }
}

#[test]
fn programs_get_an_object_a_line() {
    let file = x86().write();
    let lines = prints(&["map", "--json", file.path(), "work"]);
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(lines.len(), 14);
    for line in &lines {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        let probeable = object["probeable"].as_bool().unwrap();
        assert_eq!(probeable, object["reason"].is_null());
    }
    assert_eq!(
        lines[3],
        r#"{"function":"work","address":"0x1000000b","offset":11,"len":5,"bytes":"e8f0ffffef","mnemonic":"call","class":"a relative call","target":"0x0","probeable":false,"refused_by":"kernel","reason":"a static call patches it"}"#
    );
    assert_eq!(
        lines[4],
        r#"{"function":"work","address":"0x10000010","offset":16,"len":2,"bytes":"8b07","mnemonic":"mov","class":"an ordinary instruction","probeable":true}"#
    );
}

#[test]
fn colour_is_for_terminals_or_asked_for() {
    let file = x86().write();
    assert!(!prints(&["map", file.path(), "work"]).contains('\x1b'));
    assert!(!prints(&["map", "--color=never", file.path(), "work"]).contains('\x1b'));
    let colored = prints(&["map", "--color", file.path(), "work"]);
    let rows = colored.lines().skip(2);
    assert!(rows
        .clone()
        .all(|row| row.starts_with('\x1b') && row.ends_with("\x1b[0m")));
    assert_eq!(rows.filter(|row| row.starts_with("\x1b[32m")).count(), 4);
}

#[test]
fn an_arm64_module_is_read_too() {
    #[rustfmt::skip]
    const TEXT: [u32; 12] = [
        0xd503_201f, 0xd503_201f, // before the function
        0xd503_245f,              // +0x0 bti c
        0xd503_201f, 0xd503_201f, // +0x4 for mov x9, x30 and the call of ftrace
        0xd503_201f,              // +0xc a jump label
        0x885f_7c01,              // +0x10 ldxr
        0x8802_7c01,              // +0x14 stxr
        0xb940_0000,              // +0x18 ldr, in the exception table
        0xd503_201f,              // +0x1c an alternative
        0xd421_0000,              // +0x20 brk of a BUG
        0xd65f_03c0,              // +0x24 ret
    ];
    let bytes: Vec<u8> = TEXT.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut module = Module::new(Architecture::Aarch64);
    let text = module.section(".text", SectionKind::Text, &bytes);
    let inside = SymbolSection::Section(text);
    module.symbol("$x", inside, 0x10, SymbolKind::Label);
    module.function("work", text, 8);
    module.pointer("__mcount_loc", text, 0);
    module.table("__jump_table", &[0; 16], text, 0x14);
    module.table("__ex_table", &[0; 12], text, 0x20);
    let mut alternative = [0; 12];
    alternative[10] = 4;
    module.table(".altinstructions", &alternative, text, 0x24);
    // A WARN's, behind which control goes on.
    let mut warning = [0; 12];
    warning[10] = 1;
    module.table("__bug_table", &warning, text, 0x28);
    let file = module.write();
    assert_eq!(
        prints(&["map", file.path(), "work"]),
        "\
# work at 0x10000008, 40 bytes
# offset   len  bytes                          insn       verdict
  +0x0       4  5f 24 03 d5                    bti        probeable
  +0x4       4  1f 20 03 d5                    nop        probeable
  +0x8       4  1f 20 03 d5                    nop        ftrace patches it, and this kernel has no kprobes on ftrace (the kernel refuses)
  +0xc       4  1f 20 03 d5                    nop        a jump label patches it (the kernel refuses)
  +0x10      4  01 7c 5f 88                    ldxr       it is an exclusive load or store (the kernel refuses)
  +0x14      4  01 7c 02 88                    stxr       it is an exclusive load or store (the kernel refuses)
  +0x18      4  00 00 40 b9                    ldr        its faults are handled by address (exception table) (the kernel refuses)
  +0x1c      4  1f 20 03 d5                    nop        it may be rewritten at boot, according to the processor (the kernel would accept it)
  +0x20      4  00 00 21 d4                    brk        the kernel's table of BUGs and WARNs names it (the kernel refuses)
  +0x24      4  c0 03 5f d6                    ret        probeable
"
    );
    let wrong = ["map", "--arch", "x86_64", file.path(), "work"];
    assert!(fails(&wrong).ends_with(": made for the other architecture\n"));
}

/// A kernel has its tables inside other sections, and perhaps no symbols.
#[test]
fn symbols_can_come_from_another_file() {
    let mut module = Module::new(Architecture::X86_64);
    let text = module.section(".text", SectionKind::Text, &X86_TEXT);
    module.table(".rodata", &[0; 16], text, 9);
    let file = module.write();
    let refused = fails(&["map", file.path(), "work"]);
    assert!(refused.contains("it has no symbols: give some with --symbols"));

    // As /proc/kallsyms of a kernel that has moved itself by 0x5000.
    let symbols = TempFile::new(
        b"0000000010005000 T _text\n0000000010005000 T work\n0000000010005020 t listed\n\
          0000000010005030 d __start___jump_table\n0000000010005040 d __stop___jump_table\n\
          ffffffffc0000000 t work\t[module]\n",
    );
    let map = prints(&["map", "--symbols", symbols.path(), file.path(), "work"]);
    assert!(map.starts_with("# work at 0x10000000, 32 bytes\n"), "{map}");
    let labels = map
        .lines()
        .filter(|line| line.contains("a jump label patches it"));
    assert_eq!(labels.count(), 1);

    let bad = TempFile::new(b"not-symbols\n");
    let refused = fails(&["map", "--symbols", bad.path(), file.path(), "work"]);
    assert!(refused.contains("no line of a symbol"), "{refused}");
}

#[test]
fn what_cannot_be_mapped_is_said() {
    let file = x86().write();
    let refused = |symbol| fails(&["map", file.path(), symbol]);
    assert!(refused("no_such_function").ends_with(": there is no symbol no_such_function\n"));
    assert!(refused("counter").ends_with(": counter is data, not a function\n"));
    assert!(refused("0x20").ends_with(": 0x20 is in no function\n"));
    assert!(refused("0x2000000000").ends_with(": 0x2000000000 is in no function\n"));
    let text = TempFile::new(b"#!/bin/sh\n");
    assert!(fails(&["map", text.path(), "work"]).ends_with(": not an ELF file\n"));
    assert!(fails(&["map", "/no/such/file", "work"]).contains("/no/such/file: "));
    let other = Module::new(Architecture::Riscv64).write();
    assert!(fails(&["map", other.path(), "work"]).contains("neither x86_64 nor arm64"));
}
