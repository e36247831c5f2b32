// SPDX-License-Identifier: GPL-2.0

//! From a definition to what `trace` prints.

use crate::support;

use ferroprobe_engine::engine::code::arch::Arch;
use ferroprobe_engine::engine::program::exec;
use ferroprobe_engine::engine::program::fetch::Size;
use ferroprobe_engine::engine::record::{self, Text};
use ferroprobe_engine::engine::refusal::error::Kind;
use ferroprobe_engine::sys;
use support::{compile, hit, printed, Kernel};

fn kernel() -> Kernel {
    let mut k = Kernel::default();
    k.set("di", 0x3000);
    k.set("si", 0x1234_5678_9abc_def0);
    k.set("ax", u64::MAX - 1);
    k.set("sp", 0x5000);
    k.stack = vec![0x8010, 0x11, 0x22, 0x33];
    k.write(0x3000, &0x4000u64.to_le_bytes());
    k.write(0x3008, b"\x01\x02\xfe\xffhello\0");
    k.write(0x4000, b"inner\0");
    k.write(0x1000, b"%s version\n\0");
    k.write(0x10_0040, &77u64.to_le_bytes());
    k.write(0x2000, b"\0");
    k.write_user(0x3000, b"user\0\0\0\0");
    k
}

fn check(definition: &str, want: &str) {
    assert_eq!(printed(definition, &mut kernel()), want, "{definition}");
}

#[test]
fn sources() {
    check("p vfs_read %si", "arg1=0x123456789abcdef0");
    check(
        "p vfs_read $stack $stack1 $stack9",
        "arg1=0x5000 arg2=0x11 arg3=0x0",
    );
    check(
        "p vfs_read $arg1 $arg2:x16 $arg7",
        "arg1=0x3000 arg2=0xdef0 arg3=0x11",
    );
    check("r vfs_read $retval:s32 v=$retval:u8", "arg1=-2 v=254");
    check(
        "p vfs_read $comm $COMM:string",
        "comm=\"bash\" comm_2=\"bash\"",
    );
    check(
        "p vfs_read $current \\0x10 \\-1:s8",
        "arg1=0x7000 arg2=0x10 arg3=-1",
    );
    check(
        "p vfs_read \\\"two words # here\" x=\\\"\"",
        "arg1=\"two words # here\" x=\"\"",
    );
    check(
        "p vfs_read @0x3000 @linux_proc_banner+3:char",
        "arg1=0x4000 arg2='v'",
    );
    check(
        "p vfs_read this_cpu_read(@pcpu) this_cpu_ptr(@pcpu)",
        "arg1=0x4d arg2=0x100040",
    );
}

/// What is written without a name has one of its own, whatever else has a name.
#[test]
fn names_that_are_not_written() {
    check(
        "r vfs_read $duration $duration $nsecs $tgid nsecs=\\1",
        "duration=1234 duration_2=1234 nsecs_2=1001234 tgid=4711 nsecs=0x1",
    );
    check(
        "p vfs_read comm=\\1:u8 $comm $comm comm_2=\\2:u8",
        "comm=1 comm_3=\"bash\" comm_4=\"bash\" comm_2=2",
    );
    // Those that ftrace's users know, or that would be too long.
    check(
        "r vfs_read $retval:u8 $stack1 %si:u8",
        "arg1=254 arg2=0x11 arg3=240",
    );
    let mut k = kernel();
    assert!(compile("p vfs_read \\1 arg1=\\2", &mut k).is_err());
    assert!(compile("p vfs_read arg2=\\1 \\2", &mut k).is_err());
}

#[test]
fn dereferences() {
    check(
        "p vfs_read +0(%di) +8(%di):u8 -0(%di):x16",
        "arg1=0x4000 arg2=1 arg3=0x4000",
    );
    check("p vfs_read +0(+0(%di)):char", "arg1='i'");
    check(
        "p vfs_read +u0(%di):char +u2(%di):char",
        "arg1='u' arg2='e'",
    );
    check(
        "p vfs_read +8(%di):s8[4] +0(@0x3000):char[2]",
        "arg1={1,2,-2,-1} arg2={'i','n'}",
    );
    check(
        "p vfs_read $stack1:b4@0/8 +8(%di):b4@16/32 %si:b8@8/64",
        "arg1=1 arg2=14 arg3=222",
    );
}

#[test]
fn chains_of_pointers() {
    let mut k = kernel();
    // Each pointer is 8 bytes before where the next one points to.
    k.set("r8", 0x10_0000);
    for n in 0..6u64 {
        let (at, next) = (0x10_0000 + n * 0x1000, 0x10_1008 + n * 0x1000);
        k.write(at, &next.to_le_bytes());
        k.write(at + 8, &(0x8182_8384_8586_8780 + n).to_le_bytes());
    }
    let chain = |links: usize, last: &str, kind: &str| {
        let inner = (1..links).fold("+0(%r8)".to_string(), |to, _| format!("-8({to})"));
        format!("{last}({inner}):{kind}")
    };
    let types = [
        ("x64", 0x8182_8384_8586_8780u64),
        ("x32", 0x8586_8780),
        ("x16", 0x8780),
        ("x8", 0x80),
    ];
    for links in 1..=5 {
        let definition = format!("p vfs_read {}", chain(links, "+3", "x8"));
        assert_eq!(printed(&definition, &mut k), "arg1=0x85", "{definition}");
        for (kind, value) in types {
            let arg = chain(links, "+0", kind);
            let want = format!("a={:#x} b=7", value + links as u64);
            let definition = format!("p vfs_read a={arg} b=\\7:u8");
            assert_eq!(printed(&definition, &mut k), want, "{definition}");
            // Without a pointer, and without what the last one points to.
            for gone in 0..=links as u64 {
                let mut k = k.clone();
                let byte = 0x10_0000 + gone * 0x1000;
                let byte = byte + if gone == links as u64 { 8 } else { 7 };
                k.memory.remove(&byte);
                assert_eq!(
                    printed(&definition, &mut k),
                    "a=(fault) b=7",
                    "{gone}: {definition}"
                );
            }
        }
    }
    // Offsets that are too large for a compact form.
    k.set("r9", 0x10_0000u64.wrapping_sub(1 << 40));
    let definition = "p vfs_read +0(+1099511627776(%r9)):x8 +1099511627776(+0(%r8)):x8";
    assert_eq!(printed(definition, &mut k), "arg1=0x81 arg2=(fault)");
    let filtered = ["a=+0(+0(%r8)):x64 b=+0(-8(+0(%r8))):x8", "a=%di"];
    for (args, no_memory) in filtered.into_iter().zip([false, true]) {
        let (_, program) = compile(&format!("p vfs_read {args}"), &mut k).unwrap();
        assert_eq!(
            (program.reads_no_memory(), program.is_compact()),
            (no_memory, no_memory)
        );
        assert_eq!(program.register_limit(), if no_memory { 15 } else { 10 });
    }
}

#[test]
fn one_short_string_is_recorded_as_any() {
    let text: Vec<u8> = (b'a'..=b'z').cycle().take(200).collect();
    let with_text = [
        "p vfs_read a=+4(%r8):string",
        "p vfs_read a=%si b=+4(%r8):string c=$comm d=+0(%di) e=+0(%cx) f=+0(+0(%di)):u8",
        "p vfs_read a=+4(%r8):ustring b=%si:u8",
        "p vfs_read a=+4(+0(%r9)):string b=+0(+0(+0(%cx)))",
        "r vfs_read a=+4(-8(+8(%r9))):ustring b=$retval",
    ];
    let without = [
        "p vfs_read a=%di",
        "p vfs_read a=+4(%r8):string b=+4(%r8):string",
        "p vfs_read a=+4(%r8):string b=\\\"x\"",
        "p vfs_read a=\\\"x\" b=+4(%r8):string",
        "p vfs_read a=+4(%r8):string[1]",
        "p vfs_read a=+4(+u0(%r9)):string",
        "p vfs_read a=$stack0:symstr",
        "p vfs_read a=+4(+0(%cx)):string",
    ];
    for length in 0..text.len() {
        let mut k = kernel();
        k.set("r8", 0x10_0000);
        k.set("r9", 0x20_0000);
        k.write(0x20_0000, &0x10_0000u64.to_le_bytes());
        k.write(0x20_0008, &0x20_0008u64.to_le_bytes());
        let string = [&text[..length], b"\0"].concat();
        k.write(0x10_0004, &string);
        k.write_user(0x10_0004, &string);
        for definition in with_text {
            let (_, program, want) = hit(definition, &mut k);
            assert!(program.has_only_text(), "{definition}");
            let (address, user) = exec::find_text(&program, &k).unwrap();
            let mut room = [0; 300];
            let read = exec::Memory::read_string(&k, address, user, &mut room).unwrap();
            let texts = || std::iter::once(&room[..read]);
            let mut record =
                vec![0xaa; exec::length_with(&program, texts().map(<[u8]>::len).sum())];
            assert_eq!(record.len(), want.len(), "{definition}");
            // Header, place and perhaps the return address.
            let start = if definition.starts_with('r') { 24 } else { 16 };
            record[..start].copy_from_slice(&want[..start]);
            exec::run_compact(&program, &k, &mut record);
            exec::run_chains(&program, &k, &mut record);
            exec::put_texts(&program, texts(), &mut record);
            assert_eq!(record, want, "{length}: {definition}");
        }
        for definition in without {
            let (_, program) = compile(definition, &mut k).unwrap();
            assert_eq!(exec::find_text(&program, &k), None, "{definition}");
        }
    }
}

#[test]
fn strings() {
    check("p vfs_read +12(%di):string", "arg1=\"hello\"");
    check(
        "p vfs_read +0(+0(%di)):string a=+0(%di):ustring",
        "arg1=\"inner\" a=\"user\"",
    );
    check(
        "p vfs_read @linux_proc_banner:string",
        "arg1=\"%s version\\n\"",
    );
    check("p vfs_read +0(%di):string[1]", "arg1={\"inner\"}");
    check(
        "p vfs_read $stack0:symstr $stack0:symbol",
        "arg1=\"vfs_read+0x10/0x1000\" arg2=vfs_read+0x10/0x1000",
    );
    check("p vfs_read \\0x2000:string", "arg1=\"\"");
}

#[test]
fn empty_faulted_and_truncated_strings_differ() {
    let mut k = kernel();
    k.write(0x6000, &[b'x'; 0x2000]);
    k.write(0x8000, b"\0");
    k.set("bx", 0x6000);
    check(
        "p vfs_read +0(@0x2000):string +0(%cx):string",
        "arg1=(fault) arg2=(fault)",
    );
    check(
        "p vfs_read @0x2000:string +0(%cx):string",
        "arg1=\"\" arg2=(fault)",
    );
    let out = printed(
        "p vfs_read +0(%bx):string b=+12(%di):string c=@0x2000:string",
        &mut k,
    );
    let (first, rest) = out.split_once(" b=").unwrap();
    assert!(first.ends_with("xxx\"..."), "{first}");
    assert_eq!(rest, "\"hello\" c=\"\"");
    let out = printed(
        "p vfs_read +0(%bx):string b=+0(%bx):string c=@0x2000:string",
        &mut k,
    );
    assert!(
        out.ends_with(&format!(" b=\"{}\"... c=\"\"", "x".repeat(62))),
        "{out}"
    );
}

#[test]
fn failed_reads_are_no_values() {
    check(
        "p vfs_read a=+0(%cx) b=+0(%di):x64 c=+0(+0(+0(%di))):u8",
        "a=(fault) b=0x4000 c=(fault)",
    );
    check("p vfs_read a=+0x10(%di):u8[32] b=%di:u8", "a=(fault) b=0");
    // A text has no bit among the faults: it must not take another's.
    check(
        "p vfs_read a=%di:u8 b=+0(+0(%cx)):string c=+0(+0(%cx)):symstr",
        "a=0 b=(fault) c=(fault)",
    );
    let (_, _, record) = hit("p vfs_read a=+0(%cx)", &mut kernel());
    assert_eq!(record[16..], [0, 0, 0, 0, 0, 0, 0, 0, 1]);
}

#[test]
fn many_faults_have_a_bit_each() {
    let args: String = (0..20)
        .map(|i| format!(" v{i}=+{i}(%di):u8 w{i}=+{i}(%cx):u8"))
        .collect();
    let out = printed(&format!("p vfs_read{args}"), &mut kernel());
    assert_eq!(out.matches("(fault)").count(), 20 + 2);
    assert!(out.contains("v9=2 w9=(fault)"), "{out}");
}

#[test]
fn the_dialect_of_2009() {
    check(
        "p:myprobe vfs_read a0 a1 a2 a3",
        "a0=0x3000 a1=0x123456789abcdef0 a2=0x0 a3=0x0",
    );
    check(
        "p vfs_read s1 sa rdi ra",
        "s1=0x11 sa=0x5000 rdi=0x3000 ra=0x8010",
    );
    check(
        "r:myretprobe vfs_read rv ra",
        "rv=0xfffffffffffffffe ra=0x8888",
    );
}

#[test]
fn arguments_at_return_are_those_of_entry() {
    let mut k = kernel();
    let (_, program) = compile("r vfs_read $arg1 x=$arg2 y=+0($arg1) z=$arg1:u8", &mut k).unwrap();
    assert_eq!(program.entry_words(), 2);
    let mut saved = [0; 2];
    exec::capture(&program, &k, &mut saved);
    assert_eq!(saved, [0x3000, 0x1234_5678_9abc_def0]);
    check("r vfs_read $arg1 y=+0($arg1)", "arg1=0x3000 y=0x4000");
}

#[test]
fn a_return_has_a_duration() {
    for probe in ["r vfs_read", "r4 vfs_read", "f vfs_read%return"] {
        check(&format!("{probe} $duration"), "duration=1234");
        check(
            &format!("{probe} a=$arg1 d=$duration x=$duration:x16 b=$duration:b4@0/32 $retval"),
            "a=0x3000 d=1234 x=0x4d2 b=2 arg5=0xfffffffffffffffe",
        );
        check(
            &format!("{probe} s=+0(+0($arg1)):string d=$duration"),
            "s=\"inner\" d=1234",
        );
    }
    let mut k = kernel();
    let (_, program) = compile("r vfs_read $arg1 $duration x=$duration", &mut k).unwrap();
    assert_eq!(program.entry_words(), 2);
    let (_, without) = compile("r vfs_read $retval $stack", &mut k).unwrap();
    assert_eq!(without.entry_words(), 0);
}

#[test]
fn a_hit_has_a_time() {
    check(
        "p vfs_read $nsecs at=$nsecs low=$nsecs:x16",
        "nsecs=1000000 at=1000000 low=0x4240",
    );
    let mut k = kernel();
    let (_, program) = compile("r vfs_read $nsecs", &mut k).unwrap();
    assert_eq!(program.entry_words(), 0);
}

#[test]
fn a_hit_has_a_process() {
    check(
        "p vfs_read $tgid x=$tgid:x64 low=$tgid:u8",
        "tgid=4711 x=0x1267 low=103",
    );
}

#[test]
fn a_hit_has_a_container() {
    check(
        "p vfs_read $nspid pid=$nstgid:x32 id=$cgroup path=$cgroup:string low=$cgroup:u8",
        "nspid=12 pid=0x7 id=5309 path=\"/user.slice/x\" low=189",
    );
    let mut k = kernel();
    let arguments = "p vfs_read path=$cgroup:string $comm";
    k.cgroup = None;
    assert_eq!(printed(arguments, &mut k), "path=(fault) comm=\"bash\"");
    let path = "/x".repeat(2500);
    k.cgroup = Some(path.clone().leak().as_bytes());
    let cut = printed(arguments, &mut k);
    assert!(
        cut.contains(&path[..3900]) && cut.contains("\"..."),
        "{cut}"
    );
}

#[test]
fn a_kernel_without_cgroups_says_so() {
    sys::set_cgroups(false);
    for text in ["p vfs_read $cgroup", "p vfs_read x=$cgroup:string"] {
        let error = compile(text, &mut kernel()).expect_err(text);
        assert_eq!(error.kind, Kind::BadVar);
        let mut entry = String::new();
        error.write_entry(&mut entry, 0, text.as_bytes()).unwrap();
        let why = "this kernel has no cgroups (CONFIG_CGROUPS)";
        assert!(entry.contains(why), "{entry}");
    }
    assert!(compile("p vfs_read $nspid", &mut kernel()).is_ok());
    sys::set_cgroups(true);
}

/// Strings at 0xa000 and the pointers to `strings` of them, ended by a NULL, at 0x20000.
fn with_array(strings: &[&str]) -> Kernel {
    let mut k = kernel();
    k.set("r9", 0x2_0000);
    let mut at = 0xa000;
    for (n, string) in strings.iter().enumerate() {
        k.write(at, string.as_bytes());
        k.write(at + string.len() as u64, &[0]);
        k.write(0x2_0000 + 8 * n as u64, &at.to_le_bytes());
        at += string.len() as u64 + 1;
    }
    k.write(0x2_0000 + 8 * strings.len() as u64, &[0; 8]);
    k
}

#[test]
fn arrays_up_to_a_null_are_one_text() {
    let all = "p vfs_read a=+0(%r9):string[*] b=$tgid";
    let with = |strings: &[&str]| printed(all, &mut with_array(strings));
    assert_eq!(with(&["ls", "-l", "/"]), r#"a="ls -l /" b=4711"#);
    assert_eq!(with(&["ls"]), r#"a="ls" b=4711"#);
    assert_eq!(with(&["", "x", ""]), r#"a=" x " b=4711"#);
    assert_eq!(with(&[]), r#"a="" b=4711"#);
    let most = ["y"; 64].join(" ");
    assert_eq!(with(&["y"; 64]), format!("a=\"{most}\" b=4711"));
    assert_eq!(with(&["y"; 65]), format!("a=\"{most} ...\" b=4711"));
    // As long as a string can be.
    let long = "z".repeat(3000);
    let cut = with(&[&long, &long, &long]);
    assert!(cut.contains("zz zz") && cut.len() < 4200, "{cut}");
    assert!(cut.contains("...") && cut.ends_with("b=4711"), "{cut}");

    let mut k = with_array(&["ls", "-l", "/"]);
    k.write(0x2_0008, &0x1_0000_0000_u64.to_le_bytes());
    assert_eq!(printed(all, &mut k), r#"a="ls (fault) /" b=4711"#);
    k.memory.remove(&0x2_0010);
    assert_eq!(printed(all, &mut k), r#"a="ls (fault) (fault)" b=4711"#);
    k.set("r9", 0);
    assert_eq!(printed(all, &mut k), "a=(fault) b=4711");
}

#[test]
fn arm64_registers() {
    let mut k = Kernel {
        arch: Arch::Arm64,
        ..kernel()
    };
    k.set("x0", 5);
    k.set("x7", 6);
    k.set("lr", 7);
    let out = printed("p f %x0 $arg8 $arg9 %x30 %lr ra a7", &mut k);
    assert_eq!(
        out,
        "arg1=0x5 arg2=0x6 arg3=0x0 arg4=0x7 arg5=0x7 ra=0x7 a7=0x6"
    );
    assert_eq!(printed("r f pid=%x0 $retval", &mut k), "pid=0x5 arg2=0x5");
}

#[test]
fn paths() {
    let mut k = kernel();
    k.set("bx", 0xa000);
    k.write(0xa000 + support::FILE_DENTRY, &0xb000u64.to_le_bytes());
    k.write(0xb000 + support::DENTRY_NAME, &0xc000u64.to_le_bytes());
    k.write(0xc000, b"file.txt\0");
    assert_eq!(printed("p vfs_read f=%bx:%pD", &mut k), "f=\"file.txt\"");
    k.set("bx", 0xb000);
    assert_eq!(printed("p vfs_read f=%bx:%pd", &mut k), "f=\"file.txt\"");
}

#[test]
fn sizes_are_known_before_the_hit() {
    let size = |text: &str| compile(text, &mut kernel()).unwrap().1.size();
    assert_eq!(size("p vfs_read"), Size::Fixed(16));
    assert_eq!(size("r vfs_read"), Size::Fixed(24));
    assert_eq!(size("p vfs_read %ax %bx:u8"), Size::Fixed(16 + 8 + 1 + 1));
    assert_eq!(
        size("p vfs_read %ax %bx +0(%cx) $comm"),
        Size::Fixed(16 + 24 + 4 + 1 + 16)
    );
    assert_eq!(size("p vfs_read \\\"abc\""), Size::Fixed(16 + 4 + 4));
    assert!(matches!(size("p vfs_read +0(%di):string"), Size::UpTo(_)));
}

#[test]
fn a_short_record_is_survived() {
    let mut k = kernel();
    let text = "p vfs_read %di +0(%di) $comm +12(%di):string \\\"abc\" +8(%di):u8[4] +0(%cx)";
    let (_, program) = compile(text, &mut k).unwrap();
    for n in 0..200 {
        exec::run(&program, &k, &mut vec![0; n]);
    }
}

#[test]
fn truncated_text_is_marked_whatever_its_room() {
    let mut k = kernel();
    k.write(0x6000, &[b'x'; 0x100]);
    k.set("bx", 0x6000);
    let (_, program) = compile("p vfs_read s=+0(%bx):string", &mut k).unwrap();
    // Header, place and the word that points to the text.
    for room in 20 + 3..20 + 80 {
        let mut record = vec![0; room];
        let length = exec::run(&program, &k, &mut record);
        let loc = u32::from_le_bytes(record[16..20].try_into().unwrap());
        let text = record::text(&record[..length], loc);
        assert!(
            matches!(text, Text::Truncated(text) if text.len() + 3 >= room - 20),
            "{room}: {text:?}"
        );
    }
}
