// SPDX-License-Identifier: GPL-2.0

//! The events of system calls: formats, records and texts are the kernel's.

use crate::support;

use ferroprobe_engine::engine::code::arch::Arch;
use ferroprobe_engine::engine::filter::{Filter, Hit, LookupFunctions};
use ferroprobe_engine::engine::print::{Json, Renderer, ShownEvent, TextLines};
use ferroprobe_engine::engine::program::exec;
use ferroprobe_engine::engine::program::fetch::{Program, Size};
use ferroprobe_engine::engine::program::syscall::{
    Call, CallParameter, Copies, Returns, Special, NO_VALUE, WORDS,
};
use ferroprobe_engine::engine::record::format;
use ferroprobe_engine::engine::record::{self, Header, Layout};
use ferroprobe_engine::engine::refusal::error::Kind;
use ferroprobe_engine::sys;
use serde_json::json;
use support::{text, Kernel};

fn vec(text: &str) -> sys::Vec<u8> {
    sys::Vec::from_slice(text.as_bytes()).unwrap()
}

/// The call `name` with these types and names.
fn call(name: &str, arguments: &[(&str, &str)], copied: u32, size: Option<u8>) -> Call {
    let mut call = Call {
        name: vec(name),
        copied,
        size,
        ..Call::default()
    };
    for (c_type, name) in arguments {
        let (name, c_type) = (vec(name), vec(c_type));
        call.arguments.push(CallParameter { name, c_type }).unwrap();
    }
    call
}

fn openat() -> Call {
    let arguments = [
        ("int", "dfd"),
        ("const char *", "filename"),
        ("int", "flags"),
        ("umode_t", "mode"),
    ];
    call("sys_openat", &arguments, 2, None)
}

fn write() -> Call {
    let arguments = [
        ("unsigned int", "fd"),
        ("const char *", "buf"),
        ("size_t", "count"),
    ];
    call("sys_write", &arguments, 2, Some(2))
}

#[test]
fn texts_are_found_by_types() {
    let found = |mut call: Call| {
        call.find_texts();
        (call.copied, call.size, call.is_text)
    };
    let path = ("const char *", "path");
    let number = ("int", "flags");
    let none = |name, arguments: &[_]| found(call(name, arguments, 0, None));
    assert_eq!(
        none("sys_openat", &[number, path, number]),
        (2, None, false)
    );
    assert_eq!(none("sys_rename", &[path, path]), (3, None, false));
    assert_eq!(
        none("sys_many", &[path, path, path, path]),
        (7, None, false)
    );
    assert_eq!(
        none("sys_read", &[number, ("char *", "buf")]),
        (0, None, false)
    );
    let text = ("char *", "name");
    assert_eq!(
        none("sys_mount", &[text, text, text, number]),
        (7, None, false)
    );
    let hostname = [("char *", "name"), ("int", "len")];
    assert_eq!(none("sys_sethostname", &hostname), (1, Some(1), true));
    // The kernel says the same of these.
    for known in [openat(), write()] {
        let kernels = (known.copied, known.size, known.is_text);
        assert_eq!(found(known), kernels);
    }
}

const HEADER: Header = Header {
    event: 761,
    flags: 0,
    preempt_count: 0,
    pid: 1,
};

/// A record of the arguments that are in the registers, and of `copies`.
fn record(program: &Program, layout: &Layout, kernel: &Kernel, copies: &[&[u8]]) -> Vec<u8> {
    let texts = || copies.iter().copied();
    let count = layout.call.as_ref().unwrap().types.len();
    assert_eq!(layout.fields.len(), count + copies.len());
    let mut out = vec![0xee; exec::length_with(program, texts().map(<[u8]>::len).sum())];
    assert!(record::start_probe(&mut out, HEADER, 257));
    exec::run_without_memory(program, kernel, &mut out);
    // The hit path takes the arguments from the kernel's structure.
    let mut again = vec![0xee; 16 + 8 * count];
    let mut words = out[16..]
        .chunks_exact(8)
        .map(|word| u64::from_le_bytes(word.try_into().unwrap()));
    let words: [u64; 6] = std::array::from_fn(|_| words.next().unwrap_or(0));
    exec::put_words(words, &mut again);
    assert_eq!(again[16..], out[16..16 + 8 * count]);
    exec::put_texts(program, texts(), &mut out);
    out
}

/// The text of a call that begins with these arguments and copies.
fn line(arch: Arch, call: &Call, args: &[u64], copies: &[&[u8]]) -> String {
    let (program, layout, _) = call.enter(arch).unwrap();
    let mut kernel = Kernel {
        arch,
        ..Kernel::default()
    };
    for (register, value) in arch.isa().call_arguments().into_iter().zip(args) {
        kernel.regs[usize::from(register)] = *value;
    }
    show(&layout, &record(&program, &layout, &kernel, copies))
}

fn show(layout: &Layout, record: &[u8]) -> String {
    show_as(layout, b"sys_enter_other", record)
}

fn show_as(layout: &Layout, name: &[u8], record: &[u8]) -> String {
    let event = ShownEvent {
        key: 1,
        group: b"kprobes",
        name,
        layout,
    };
    text(|buf| TextLines::new().put(buf, event, record, &mut &Kernel::default()))
}

/// The `format` file of a layout.
fn format_of(layout: &Layout) -> String {
    let mut out = String::new();
    format::write_format(&mut out, "name", 1, layout).unwrap();
    out
}

/// Lines that 7.3 has printed.
#[test]
fn texts_are_the_kernels() {
    let dfd = 0xffff_ffff_ffff_ff9c;
    let open = |flags: u64, mode: u64| {
        let line = line(
            Arch::X86_64,
            &openat(),
            &[dfd, 742_117_672, flags, mode],
            &[b"/dev/null\0"],
        );
        let start = "sys_openat(dfd: 18446744073709551516, filename: 742117672 \"/dev/null\", ";
        line.strip_prefix(start).unwrap().to_string()
    };
    for (flags, mode, shown) in [
        (0, 0, "flags: O_RDONLY)\n"),
        (
            0x241,
            0o666,
            "flags: O_WRONLY|O_CREAT|O_TRUNC, mode: 0666)\n",
        ),
        (0x10000, 0o640, "flags: O_RDONLY|O_DIRECTORY, mode: 0640)\n"),
        (
            0x90800,
            0,
            "flags: O_RDONLY|O_NONBLOCK|O_DIRECTORY|O_CLOEXEC, mode: 0000)\n",
        ),
        (0x410_002, 0o640, "flags: O_TMPFILE|O_RDWR, mode: 0640)\n"),
        (0x8000_0000, 0, "flags: O_RDONLY|0xffffffff80000000)\n"),
        (0x1_0000_0000, 0, "flags: O_RDONLY)\n"),
        (3, 0, "flags: O_WRONLY|O_RDWR)\n"),
        (
            0x41,
            u64::MAX,
            "flags: O_WRONLY|O_CREAT, mode: 037777777777)\n",
        ),
        (
            u64::MAX,
            0o640,
            "flags: O_TMPFILE|O_WRONLY|O_RDWR|O_CREAT|O_EXCL|O_NOCTTY|O_TRUNC|O_APPEND|O_NONBLOCK\
             |O_DSYNC|O_DIRECT|O_LARGEFILE|O_NOFOLLOW|O_NOATIME|O_CLOEXEC|0xffffffffffb0203c, \
             mode: 0640)\n",
        ),
    ] {
        assert_eq!(open(flags, mode), shown, "{flags:#x}");
    }
    // The same bits mean other flags on arm64.
    let arm64 = line(Arch::Arm64, &openat(), &[1, 2, 0x4000, 0], &[b"\0"]);
    assert_eq!(
        arm64,
        "sys_openat(dfd: 1, filename: 2 \"\", flags: O_RDONLY|O_DIRECTORY, mode: 0000)\n"
    );

    let write = |count: u64, bytes: &[u8]| {
        let line = line(Arch::X86_64, &write(), &[5, 0x200_249, count], &[bytes]);
        line.strip_prefix("sys_write(fd: 5, buf: 0x200249 ")
            .unwrap()
            .to_string()
    };
    for (count, bytes, shown) in [
        (0, &b""[..], "(), count: 0)\n"),
        (0x64, b"", "(, ...), count: 0x64)\n"),
        (2, b"1\n", "(31:0a) \"1.\", count: 2)\n"),
        (5, b"\x01\x02\x0a\x80\xff", "(01:02:0a:80:ff), count: 5)\n"),
        (
            0x7fff_ffff,
            b"op",
            "(6f:70, ...) \"op\"..., count: 0x7fffffff)\n",
        ),
        // The kernel compares as int.
        (
            0x1_0000_0005,
            b"opqrst",
            "(6f:70:71:72:73:74) \"opqrst\", count: 0x100000005)\n",
        ),
        (u64::MAX, b"o", "(6f) \"o\", count: 0xffffffffffffffff)\n"),
    ] {
        assert_eq!(write(count, bytes), shown, "{count:#x}");
    }

    let mount = [
        ("char *", "dev_name"),
        ("char *", "dir_name"),
        ("char *", "type"),
        ("unsigned long", "flags"),
        ("void *", "data"),
    ];
    let mount = call("sys_mount", &mount, 7, None);
    let shown = line(
        Arch::X86_64,
        &mount,
        &[0, 0x200_564, 0, 0x20, 0],
        &[b"", b"none/mount\0", b"\xc3\xa0\0"],
    );
    assert_eq!(
        shown,
        "sys_mount(dev_name: 0 (fault), dir_name: 0x200564 \"none/mount\", type: 0 \"\u{e0}\", \
         flags: 0x20, data: 0)\n"
    );

    let none = call("sys_getppid", &[], 0, None);
    assert_eq!(line(Arch::X86_64, &none, &[], &[]), "sys_getppid()\n");

    let mut name = call(
        "sys_sethostname",
        &[("char *", "name"), ("int", "len")],
        1,
        Some(1),
    );
    name.is_text = true;
    let shown = line(Arch::X86_64, &name, &[0x200_472, 9], &[b"two\nlines\0x"]);
    assert_eq!(
        shown,
        "sys_sethostname(name: 0x200472 \"two\\nlines\", len: 9)\n"
    );

    let (program, layout) = none.exit(Arch::X86_64).unwrap();
    for (value, shown) in [
        (0, "sys_getppid -> 0x0\n"),
        (-13i64 as u64, "sys_getppid -> 0xfffffffffffffff3\n"),
    ] {
        let mut kernel = Kernel::default();
        kernel.set("ax", value);
        assert_eq!(program.size(), Size::Fixed(24));
        assert_eq!(
            show(&layout, &record(&program, &layout, &kernel, &[])),
            shown
        );
    }
}

#[test]
fn formats_are_the_kernels() {
    let (program, layout, copies) = openat().enter(Arch::X86_64).unwrap();
    assert!(matches!(program.size(), Size::UpTo(_)));
    assert_eq!(copies.registers(), [13]);
    assert_eq!(copies.size, None);
    let file = format_of(&layout);
    let own = file.split("\n\n").nth(1).unwrap();
    assert_eq!(
        own,
        "\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n\
         \tfield:int dfd;\toffset:16;\tsize:8;\tsigned:0;\n\
         \tfield:const char * filename;\toffset:24;\tsize:8;\tsigned:0;\n\
         \tfield:int flags;\toffset:32;\tsize:8;\tsigned:0;\n\
         \tfield:umode_t mode;\toffset:40;\tsize:8;\tsigned:0;\n\
         \tfield:__data_loc char[] __filename_val;\toffset:48;\tsize:4;\tsigned:0;"
    );
    assert!(file.contains("{ 0x8000, \"O_LARGEFILE\" }, { 0x10000, \"O_DIRECTORY\" }"));

    let (_, layout, copies) = write().enter(Arch::Arm64).unwrap();
    assert_eq!(copies.registers(), [1]);
    assert_eq!(copies.size, Some(2));
    assert!(format_of(&layout).ends_with(
        "print fmt: \"fd: 0x%08lx, buf: 0x%08lx (%s), count: 0x%08lx\", \
         ((unsigned long)(REC->fd)), ((unsigned long)(REC->buf)), \
         __print_dynamic_array(__buf_val, 1), ((unsigned long)(REC->count))\n"
    ));

    let none = call("sys_getppid", &[], 0, None);
    let (program, layout, copies) = none.enter(Arch::X86_64).unwrap();
    assert_eq!(program.size(), Size::Fixed(16));
    assert!(copies.registers().is_empty());
    assert!(format_of(&layout).ends_with("print fmt: \"\"\n"));
    let (_, layout) = none.exit(Arch::X86_64).unwrap();
    assert!(format_of(&layout).contains("\tfield:long ret;\toffset:16;\tsize:8;\tsigned:1;\n"));
    assert!(format_of(&layout).ends_with("print fmt: \"0x%lx\", REC->ret\n"));
}

const HIT: Hit = Hit {
    header: HEADER,
    cpu: 0,
    place: 257,
};

struct NoFunctions;

impl LookupFunctions for NoFunctions {
    fn last_cpu(&self) -> u32 {
        3
    }

    fn named(&mut self, _name: &[u8]) -> Option<(u64, u64)> {
        None
    }

    fn around(&mut self, _address: u64) -> Option<(u64, u64)> {
        None
    }
}

#[test]
fn filters_know_numbers_and_strings() {
    let (program, layout, _) = openat().enter(Arch::X86_64).unwrap();
    let mut kernel = Kernel::default();
    kernel.set("di", 0xffff_ffff_ffff_ff9c);
    kernel.set("si", 0x1000);
    kernel.write_user(0x1000, b"/etc/passwd\0");
    for (filter, expected) in [
        ("dfd == -100", true),
        ("__syscall_nr == 257", true),
        ("__syscall_nr == 0", false),
        ("__filename_val ~ \"/etc/*\"", true),
        ("__filename_val == \"/etc\"", false),
        ("filename.ustring ~ \"*passwd\"", true),
        ("flags & 1", false),
    ] {
        let filter = Filter::compile(filter.as_bytes(), &layout, &mut NoFunctions).unwrap();
        assert_eq!(filter.matches(&program, &kernel, &HIT), expected);
    }
}

/// Each allocation may fail.
#[test]
fn without_memory_there_is_no_event() {
    let (openat, write) = (openat(), write());
    let all = || {
        openat.enter(Arch::X86_64).map(|_| ())?;
        write.enter(Arch::Arm64).map(|_| ())?;
        write.exit(Arch::Arm64)?;
        openat.whole(Arch::X86_64).map(|_| ())
    };
    let fails = |count: usize| {
        sys::fail_allocation_after(Some(count));
        let result = all();
        sys::fail_allocation_after(None);
        result.is_err()
    };
    let needed = (0..).find(|&count| !fails(count)).unwrap();
    assert!(needed > 20);
}

/// The text of a whole call with these words and copies.
fn whole(call: &Call, words: &[u64], copies: &[&[u8]]) -> String {
    let (program, layout, _) = call.whole(Arch::X86_64).unwrap();
    show_as(&layout, b"name", &whole_record(&program, words, copies))
}

/// Its record, as the hit path makes it.
fn whole_record(program: &Program, words: &[u64], copies: &[&[u8]]) -> Vec<u8> {
    let texts = || copies.iter().copied();
    let mut kernel = Kernel::default();
    kernel.regs[..words.len()].copy_from_slice(words);
    let mut out = vec![0xee; exec::length_with(program, texts().map(<[u8]>::len).sum())];
    assert!(record::start_probe(&mut out, HEADER, 257));
    exec::run_without_memory(program, &kernel, &mut out);
    let mut again = vec![0xee; 16 + 8 * words.len()];
    let all: [u64; WORDS] = std::array::from_fn(|n| words.get(n).copied().unwrap_or(0));
    exec::put_words(all, &mut again);
    assert_eq!(again[16..], out[16..again.len()]);
    exec::put_texts(program, texts(), &mut out);
    out
}

#[test]
fn whole_calls_have_arguments_result_and_duration() {
    let dfd = 0xffff_ffff_ffff_ff9c;
    let enoent = -2i64 as u64;
    let open = |flags, mode, result, duration| {
        let words = [dfd, 0x1000, flags, mode, result, duration];
        whole(&openat(), &words, &[b"/etc/x\0"])
    };
    assert_eq!(
        open(0, 0, enoent, 5120),
        "name(dfd: -100, filename: \"/etc/x\", flags: O_RDONLY) = -2 ENOENT, 5120 ns\n"
    );
    assert_eq!(
        open(0x41, 0o640, 3, 0),
        "name(dfd: -100, filename: \"/etc/x\", flags: O_WRONLY|O_CREAT, mode: 0640) = 3\n"
    );
    let written = whole(&write(), &[1, 0x1000, 6, 6, 700], &[b"hello\n"]);
    assert_eq!(
        written,
        "name(fd: 1, buf: (68:65:6c:6c:6f:0a) \"hello.\", count: 6) = 6, 700 ns\n"
    );
    assert_eq!(
        whole(&write(), &[1, 0x1000, 6, -14i64 as u64, 1], &[b""]),
        "name(fd: 1, buf: (, ...), count: 6) = -14 EFAULT, 1 ns\n"
    );
    let arguments = [
        ("unsigned long", "addr"),
        ("unsigned long", "len"),
        ("uid_t", "user"),
        ("unsigned int", "flags"),
        ("loff_t", "pos"),
        ("const struct iovec *", "vec"),
    ];
    let other = call("sys_other", &arguments, 0, None);
    let words = [0, 4096, 1 << 32 | 1000, 0x20, u64::MAX, 0xfff0];
    let words = [&words[..], &[0x7fff_0000_1000, 9]].concat();
    assert_eq!(
        whole(&other, &words, &[]),
        "name(addr: 0x0, len: 0x1000, user: 1000, flags: 0x20, pos: -1, vec: 0xfff0) = \
         0x7fff00001000, 9 ns\n"
    );
    let arguments = [("const char *", "pathname"), ("umode_t", "mode")];
    let mkdir = call("sys_mkdir", &arguments, 0, None);
    assert_eq!(
        whole(&mkdir, &[0x1000, 0o755, 0, 9], &[]),
        "name(pathname: 0x1000, mode: 0755) = 0, 9 ns\n"
    );
    // There is no result where nothing returns.
    let exit = call("sys_exit_group", &[("int", "error_code")], 0, None);
    assert_eq!(exit.returns(), Returns::Never);
    assert_eq!(whole(&exit, &[3], &[]), "name(error_code: 3)\n");
    let none = call("sys_getppid", &[], 0, None);
    assert_eq!(none.returns(), Returns::Once);
    for name in ["sys_clone", "sys_clone3", "sys_fork", "sys_vfork"] {
        assert_eq!(call(name, &[], 0, None).returns(), Returns::Twice, "{name}");
    }
    assert_eq!(whole(&none, &[1, 80], &[]), "name() = 1, 80 ns\n");
}

/// Strings of whole calls are exact: shown on their line, and told apart from those that were cut.
#[test]
fn strings_of_whole_calls_are_shown_as_others() {
    let words = [3, 0x1000, 0, 0, 3, 0];
    for (recorded, shown) in [
        (&b"\xc3\x84.txt\0"[..], "\"\u{c4}.txt\""),
        ("\u{434}\u{430}\0".as_bytes(), "\"\u{434}\u{430}\""),
        (b"a\n\x1b[31m\x9b\0", "\"a\\n\\x1b[31m\\x9b\""),
        (b"...\0", "\"...\""),
        (b"/long\0\0", "\"/long\"..."),
        (b"/fourteen byte\0\0", "\"/fourteen byte\"..."),
        (b"\0\0", "\"\"..."),
        (b"\0", "\"\""),
        (b"", "(fault)"),
    ] {
        let text = whole(&openat(), &words, &[recorded]);
        let expected = format!("name(dfd: 3, filename: {shown}, flags: O_RDONLY) = 3\n");
        assert_eq!(text, expected);
    }
}

fn execve() -> Call {
    let arguments = [
        ("const char *", "filename"),
        ("const char *const *", "argv"),
        ("const char *const *", "envp"),
    ];
    call("sys_execve", &arguments, 1, None)
}

fn connect() -> Call {
    let arguments = [
        ("int", "fd"),
        ("struct sockaddr *", "uservaddr"),
        ("int", "addrlen"),
    ];
    call("sys_connect", &arguments, 0, None)
}

fn special(copies: &Copies) -> (u8, Special) {
    // It is the last.
    let last = copies.count() as u8 - 1;
    assert_eq!(copies.special_at(last), Some(copies.special));
    assert_eq!(copies.special_at(last + 1), None);
    (copies.special_register, copies.special)
}

/// The strings of argv are an array in each text.
#[test]
fn arrays_of_strings_are_arrays() {
    let words = [0x1000, 0x2000, 0x3000, 0, 900];
    let (program, layout, copies) = execve().whole(Arch::X86_64).unwrap();
    assert_eq!(copies.registers(), [0, NO_VALUE]);
    assert_eq!(special(&copies), (1, Special::Strings));
    let format = format_of(&layout);
    assert!(format.contains("field:__data_loc char[] argv;"), "{format}");
    for (recorded, shown, listed, cut) in [
        (
            &b"ls\0-l\0\0a b\0"[..],
            r#"{"ls","-l","","a b"}"#,
            json!(["ls", "-l", "", "a b"]),
            json!(null),
        ),
        (b"\0", r#"{""}"#, json!([""]), json!(null)),
        (
            b"ls\0a\nb",
            r#"{"ls","a\nb"...}"#,
            json!(["ls", "a\nb"]),
            json!(["argv[1]"]),
        ),
        (b"", "(fault)", json!(null), json!(null)),
    ] {
        let record = whole_record(&program, &words, &[b"/bin/ls\0", recorded]);
        let expected =
            format!("name(filename: \"/bin/ls\", argv: {shown}, envp: 0x3000) = 0, 900 ns\n");
        assert_eq!(show_as(&layout, b"name", &record), expected);
        let object = json(&layout, &record);
        assert_eq!(
            (&object["args"]["argv"], &object["truncated"]),
            (&listed, &cut),
            "{object}"
        );
    }
}

#[test]
fn a_filter_on_an_array_of_strings_is_true_for_one() {
    let (program, layout, _) = execve().whole(Arch::X86_64).unwrap();
    let mut kernel = Kernel::default();
    kernel.regs[..5].copy_from_slice(&[0x1000, 0x2000, 0x3000, 0, 900]);
    kernel.write_user(0x1000, b"/bin/ls\0");
    let mut decides = |filter: &str, strings| {
        kernel.strings = strings;
        let filter = Filter::compile(filter.as_bytes(), &layout, &mut NoFunctions).unwrap();
        filter.matches(&program, &kernel, &HIT)
    };
    for (filter, decision) in [
        ("argv == \"-l\"", true),
        ("argv == \"\"", true),
        ("argv == \"ls -l\"", false),
        ("argv ~ \"/us*\"", true),
        ("argv ~ \"*s\" && filename ~ \"*ls\"", true),
        ("argv != \"ls\"", true),
        ("argv == \"nothing\"", false),
    ] {
        assert_eq!(
            decides(filter, Some(b"ls\0-l\0\0/usr")),
            decision,
            "{filter}"
        );
        assert!(!decides(filter, None), "{filter}");
    }
    assert!(!decides("argv != \"ls\"", Some(b"ls\0")));
    // More than is read at once: strings that end with a piece, begin with one, and take several.
    let long: String = [255, 0, 511, 256, 254, 0, 1000]
        .iter()
        .map(|&length| format!("{}\0", "x".repeat(length)))
        .chain(["end\0".into(), "cut".into()])
        .collect();
    let long: &'static str = Box::leak(long.into_boxed_str());
    // A text to compare with has at most 255 bytes.
    for length in 0..256 {
        let is_there = [0, 254, 255].contains(&length);
        let filter = format!("argv == \"{}\"", "x".repeat(length));
        assert_eq!(
            decides(&filter, Some(long.as_bytes())),
            is_there,
            "{length}"
        );
    }
    for (filter, decision) in [
        ("argv == \"end\"", true),
        ("argv == \"cut\"", true),
        ("argv ~ \"*cut\"", true),
        ("argv ~ \"xend*\"", false),
        ("argv ~ \"*xc*\"", false),
        ("argv ~ \"!*\"", false),
    ] {
        assert_eq!(decides(filter, Some(long.as_bytes())), decision, "{filter}");
    }
    assert!(!decides("argv == \"\"", Some(b"")));
    // No number, and no key.
    let error = Filter::compile(b"argv == 1", &layout, &mut NoFunctions).unwrap_err();
    assert_eq!(error.kind, Kind::FiltExpectString);
}

/// Which argument is an address, and which has its length.
#[test]
fn addresses_of_sockets_are_texts() {
    let (program, layout, copies) = connect().whole(Arch::X86_64).unwrap();
    assert_eq!(
        (copies.count(), special(&copies)),
        (1, (1, Special::Address(2)))
    );
    let record = whole_record(&program, &[3, 0x2000, 16, 0, 900], &[b"10.0.0.1:80\0"]);
    assert_eq!(
        show_as(&layout, b"name", &record),
        "name(fd: 3, uservaddr: \"10.0.0.1:80\", addrlen: 16) = 0, 900 ns\n"
    );
    let mut sendto = vec![("int", "fd"), ("void *", "buff"), ("size_t", "len")];
    sendto.extend([
        ("unsigned int", "flags"),
        ("struct sockaddr *", "addr"),
        ("int", "addr_len"),
    ]);
    let (_, _, copies) = call("sys_sendto", &sendto, 0, None)
        .whole(Arch::Arm64)
        .unwrap();
    assert_eq!(
        (copies.count(), special(&copies)),
        (1, (4, Special::Address(5)))
    );
    // A kernel that describes it otherwise has it as it says.
    sendto.pop();
    let (_, _, copies) = call("sys_sendto", &sendto, 0, None)
        .whole(Arch::Arm64)
        .unwrap();
    assert_eq!(copies.count(), 0);
}

#[test]
fn whole_calls_have_formats() {
    let (program, layout, copies) = openat().whole(Arch::Arm64).unwrap();
    assert!(matches!(program.size(), Size::UpTo(_)));
    assert_eq!((copies.registers(), copies.size), (&[1][..], None));
    let file = format_of(&layout);
    assert_eq!(
        file.split("\n\n").nth(1).unwrap(),
        "\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n\
         \tfield:int dfd;\toffset:16;\tsize:4;\tsigned:1;\n\
         \tfield:__data_loc char[] filename;\toffset:64;\tsize:4;\tsigned:0;\n\
         \tfield:int flags;\toffset:32;\tsize:4;\tsigned:0;\n\
         \tfield:umode_t mode;\toffset:40;\tsize:4;\tsigned:0;\n\
         \tfield:long ret;\toffset:48;\tsize:8;\tsigned:1;\n\
         \tfield:u64 duration;\toffset:56;\tsize:8;\tsigned:0;"
    );
    assert!(file.ends_with(
        "print fmt: \"dfd: %d, filename: \\\"%s\\\", flags: 0x%x, mode: 0%03o, ret: %Ld, \
         duration: %Lu\", REC->dfd, __get_str(filename), REC->flags, REC->mode, REC->ret, \
         REC->duration\n"
    ));
    let (_, layout, copies) = write().whole(Arch::X86_64).unwrap();
    assert_eq!((copies.registers(), copies.size), (&[1][..], Some(2)));
    assert!(format_of(&layout).contains("buf: (%s), count: %Lu, "));
}

#[test]
fn filters_know_the_results_of_whole_calls() {
    let (program, layout, _) = openat().whole(Arch::X86_64).unwrap();
    let mut kernel = Kernel::default();
    let words = [0xffff_ff9c, 0x1000, 0, 0, -2i64 as u64, 5120];
    kernel.regs[..6].copy_from_slice(&words);
    kernel.write_user(0x1000, b"/etc/passwd\0");
    for (filter, expected) in [
        ("dfd == -100", true),
        ("ret < 0", true),
        ("ret == -2 && duration > 5000", true),
        ("duration > 5120", false),
        ("filename ~ \"/etc/*\" && ret < 0", true),
        ("filename == \"/etc\"", false),
        ("flags == 0 && mode == 0", true),
    ] {
        let filter = Filter::compile(filter.as_bytes(), &layout, &mut NoFunctions).unwrap();
        assert_eq!(
            filter.matches(&program, &kernel, &HIT),
            expected,
            "{filter:?}"
        );
        if let Some(decided) = filter.decide_fast(&program, &kernel) {
            assert_eq!(decided, expected);
        }
    }
}

/// The arguments of a call in JSON.
fn json(layout: &Layout, record: &[u8]) -> serde_json::Value {
    let event = ShownEvent {
        key: 1,
        group: b"syscalls",
        name: b"name",
        layout,
    };
    let line = text(|buf| {
        buf.byte(b'{');
        buf.text(b"\"ts\":0");
        Json::new().event(buf, event, record, &mut &Kernel::default());
    });
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

#[test]
fn json_has_all_fields_as_they_are() {
    let (program, layout, _) = openat().enter(Arch::X86_64).unwrap();
    let mut kernel = Kernel::default();
    kernel.set("di", u64::MAX);
    kernel.set("si", 0x1000);
    let object = json(
        &layout,
        &record(&program, &layout, &kernel, &[b"/etc/\"x\0"]),
    );
    assert_eq!(
        object["args"],
        serde_json::json!({
            "dfd": u64::MAX, "filename": 0x1000, "flags": 0, "mode": 0, "__filename_val": "/etc/\"x",
        })
    );
    let object = json(&layout, &record(&program, &layout, &kernel, &[b""]));
    assert_eq!(object["args"]["__filename_val"], serde_json::Value::Null);
    assert_eq!(object["faults"], serde_json::json!(["__filename_val"]));

    let (program, layout, _) = write().whole(Arch::X86_64).unwrap();
    let words = [1, 0x1000, 6, -14i64 as u64, 700];
    let object = json(&layout, &whole_record(&program, &words, &[b"a\0\xff"]));
    assert_eq!(
        object["args"],
        serde_json::json!({
            "fd": 1, "buf": "a\0\u{efff}", "count": 6, "ret": -14, "duration": 700,
        })
    );
    assert_eq!(object["truncated"], serde_json::json!(["buf"]));

    let (program, layout) = write().exit(Arch::X86_64).unwrap();
    kernel.set("ax", -2i64 as u64);
    let object = json(&layout, &record(&program, &layout, &kernel, &[]));
    assert_eq!(object["args"], serde_json::json!({"ret": -2}));
}
