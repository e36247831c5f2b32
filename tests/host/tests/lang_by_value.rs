// SPDX-License-Identifier: GPL-2.0

//! Arguments and results that are structures by value, and what is behind them, by the calling
//! convention of each architecture.

use crate::support;

use ferroprobe_engine::engine::code::arch::Arch;
use support::{btf, compile, printed, Kernel};

/// The registers of arguments hold 1 to 6 or 8, hundreds; the stack has 900 and on from the first
/// word of an argument.
fn kernel(arch: Arch) -> Kernel {
    let mut k = Kernel {
        arch,
        blob: Some(btf::sample()),
        stack: vec![900, 901, 902, 903, 904, 905, 906, 907, 908],
        ..Kernel::default()
    };
    let names: &[&str] = match arch {
        Arch::X86_64 => {
            k.stack.insert(0, 0xdead);
            k.set("sp", 0x1_0000);
            k.set("ax", 0x7_0000_0001);
            &["di", "si", "dx", "cx", "r8", "r9"]
        }
        Arch::Arm64 => {
            k.set("sp", 0x1_0008);
            &["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7"]
        }
    };
    for (n, name) in (1..).zip(names) {
        k.set(name, 100 * n);
    }
    for (n, word) in (900u64..909).enumerate() {
        k.write(0x1_0008 + 8 * n as u64, &word.to_le_bytes());
    }
    k
}

/// Compares what is printed on x86-64 and on arm64.
fn check(definition: &str, x86_64: &str, arm64: &str) {
    for (arch, want) in [(Arch::X86_64, x86_64), (Arch::Arm64, arm64)] {
        let got = printed(definition, &mut kernel(arch));
        assert_eq!(got, want, "{definition} {arch:?}");
    }
}

/// What is said of a definition that is refused on both.
fn refused(definition: &str) -> String {
    let said = [Arch::X86_64, Arch::Arm64].map(|arch| {
        let error = compile(definition, &mut kernel(arch)).expect_err(definition);
        String::from_utf8_lossy(error.detail()).into_owned()
    });
    assert_eq!(said[0], said[1], "{definition}");
    let [said, _] = said;
    said
}

#[test]
fn what_is_behind_two_registers() {
    for letter in ["p", "r", "f"] {
        let want = match letter {
            "r" => "level=200 optname=300 optlen=600",
            _ => "level=200 optname=300 optlen=600",
        };
        check(
            &format!("{letter} sk_setsockopt level optname optlen"),
            want,
            want,
        );
    }
    let want = "sk=0x64 level=200 optname=300 optval=0x190 optlen=600";
    check("p sk_setsockopt $arg*", want, want);
    check("r sk_setsockopt $arg*", want, want);
    check(
        "p sk_setsockopt $arg5 n=$arg5 a4",
        "optlen=600 n=0x258 a4=0x258",
        "optlen=600 n=0x258 a4=0x258",
    );
    // The tests' registers hold no more.
    check("p sk_setsockopt x=$arg4:u64", "x=400", "x=400");
}

#[test]
fn members_by_value() {
    check(
        "p sk_setsockopt optval.kernel optval.is_kernel $arg4.kernel:u8",
        "kernel=0x190 is_kernel=0 kernel_2=144",
        "kernel=0x190 is_kernel=0 kernel_2=144",
    );
    check(
        "r sk_setsockopt optval.kernel",
        "kernel=0x190",
        "kernel=0x190",
    );
    // 0x0032_0004_0003_0002: from, to, and bits of a word.
    let mut k = kernel(Arch::X86_64);
    k.set("di", 0xffff_fff2_0003_0002);
    for (definition, want) in [
        ("p cut range.from range.to", "from=2 to=3"),
        ("p cut range.flags range.kind", "flags=2 kind=-2"),
        (
            "p cut range.to:u8 range.to:x64 range.flags:u32",
            "to=3 to_2=0x3 flags=2",
        ),
        ("p cut t=range.to:b4@1/8 range.to:be16", "t=1 to=768"),
        ("p cut path.dentry path.mnt", "dentry=0x12c mnt=0xc8"),
        ("p cut range", "range=0xfffffff200030002"),
    ] {
        assert_eq!(printed(definition, &mut k), want, "{definition}");
    }
    let mut k = kernel(Arch::X86_64);
    k.set("dx", 0x5000);
    k.write(0x5000, &[0; 64]);
    k.write(0x5020, &[9, 0, 0, 0, 8, 0, 0, 0]);
    assert_eq!(printed("p cut path.dentry->d_name.len", &mut k), "len=8");
}

#[test]
fn on_the_stack_and_by_reference() {
    let mut k = kernel(Arch::Arm64);
    k.write(500, &[0; 24]);
    k.write(500, &7001u64.to_le_bytes());
    k.write(508, &[42, 0, 0, 0, 43, 0, 0, 0]);
    k.write(516, b"textual\0");
    for (definition, x86_64, arm64) in [
        (
            "p many a b c d",
            "a=200 b=300 c=400 d=500",
            "a=100 b=200 c=300 d=400",
        ),
        ("p many f h", "f=600 h=905", "f=600 h=900"),
        (
            "p many g.tv_sec g.tv_nsec",
            "tv_sec=903 tv_nsec=904",
            "tv_sec=700 tv_nsec=800",
        ),
        (
            "r many g.tv_nsec h",
            "tv_nsec=904 h=905",
            "tv_nsec=800 h=900",
        ),
        (
            "p many e.first e.second e.third",
            "first=900 second=901 third=0",
            "first=7001 second=42 third=43",
        ),
        (
            "r many e.first e.second e.third",
            "first=900 second=901 third=0",
            "first=7001 second=42 third=43",
        ),
        (
            "p many e e.text:u8",
            "e=0x384 text=134",
            "e=0x1b59 text=116",
        ),
        (
            "p many x=$arg5:u16 $arg5.first",
            "x=900 first=900",
            "x=7001 first=7001",
        ),
        ("p many e.text[1]", "text=3", "text=101"),
        ("r many e.text[1]", "text=3", "text=101"),
        ("p many $arg9 ", "", ""),
    ] {
        if definition.ends_with(' ') {
            let words = refused(definition.trim());
            assert_eq!(words, "the last one is $arg8");
            continue;
        }
        let mut x86 = kernel(Arch::X86_64);
        assert_eq!(printed(definition, &mut x86), x86_64, "{definition}");
        assert_eq!(printed(definition, &mut k), arm64, "{definition}");
    }
    assert_eq!(
        printed("p many e:struct", &mut k),
        "e={first=7001,second=42,third=43,text=\"textual\"}"
    );
    // What is behind the last parameter are words.
    check("p cut y=$arg4", "y=0x1f4", "y=0x1f4");
    check(
        "p cut y=$arg6 z=$arg7",
        "y=0x384 z=0x385",
        "y=0x2bc z=0x320",
    );
}

#[test]
fn other_types() {
    check("p wide a b c", "a=100 b=200 c=400", "a=100 b=300 c=500");
    check("p odd q", "q=100", "q=300");
    check("p odd p.a", "a=132", "a=100");
    check("p hollow a", "a=100", "a=100");
    check("p real a", "a=100", "a=100");
    check("p root a", "a=100", "a=100");
    for definition in [
        "p real x",
        "p real b",
        "p real n=$arg3",
        "p real $arg*",
        "r root $retval",
    ] {
        let words = refused(definition);
        assert!(
            words.starts_with("where it is passed is not known"),
            "{words}"
        );
    }
    assert_eq!(refused("p hollow e"), "it is empty, and not passed");
}

#[test]
fn results_of_several_registers() {
    let mut k = kernel(Arch::X86_64);
    k.set("dx", 99);
    assert_eq!(
        printed(
            "r current_time $retval.tv_sec $retval.tv_nsec s=$retval",
            &mut k
        ),
        "tv_sec=30064771073 tv_nsec=99 s=0x700000001"
    );
    check(
        "r cut inode=$arg1 $retval.from $retval.kind",
        "inode=0x64 from=1 kind=0",
        "inode=0x64 from=100 kind=0",
    );
    let mut k = kernel(Arch::Arm64);
    assert_eq!(
        printed("r current_time $retval.tv_sec $retval.tv_nsec", &mut k),
        "tv_sec=100 tv_nsec=200"
    );
    // One in memory.
    k.set("x8", 0x2000);
    k.write(0x2000, &[5, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0]);
    assert_eq!(
        printed("r many $retval $retval.first $retval.second", &mut k),
        "arg1=0x2000 first=5 second=6"
    );
    let mut k = kernel(Arch::X86_64);
    k.set("ax", 0x2000);
    k.write(0x2000, &[5, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0]);
    assert_eq!(
        printed("r many $retval $retval.first $retval.second", &mut k),
        "arg1=0x2000 first=5 second=6"
    );
}

#[test]
fn arguments_of_tracepoints() {
    for (arch, large) in [(Arch::X86_64, 5), (Arch::Arm64, 3)] {
        let mut k = kernel(arch);
        for n in 0..12 {
            k.regs[n] = 10 + n as u64;
        }
        let words = printed(
            "t valued flag at.tv_sec at.tv_nsec $arg1.tv_nsec x=$arg2",
            &mut k,
        );
        assert_eq!(
            words, "flag=12 tv_sec=10 tv_nsec=11 tv_nsec_2=11 x=0xc",
            "{arch:?}"
        );
        if arch == Arch::X86_64 {
            let words = printed("t valued large.first large.second large", &mut k);
            assert_eq!(
                words,
                format!("first={} second={} large=0xf", 10 + large, 11 + large)
            );
        } else {
            k.write(10 + large, &[5, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0]);
            let words = printed("t valued large.first large.second large", &mut k);
            assert_eq!(words, "first=5 second=6 large=0x5");
        }
    }
}

#[test]
fn what_is_refused_says_what_to_write() {
    for (definition, want) in [
        ("p sk_setsockopt optval->kernel", "it is passed by value, and is no pointer: write . for a member"),
        (
            "p sk_setsockopt optval:struct",
            "it is passed by value, and not in memory: write one of its members, .kernel, .is_kernel",
        ),
        ("p sk_setsockopt level.x", "it is neither a structure nor a pointer to one"),
        ("p sk_setsockopt sk.sk_x", "write sk->sk_x"),
        ("p sk_setsockopt $arg1.sk_x", "write $arg1->sk_x"),
        ("p sk_setsockopt sk.sk_z", "it is a pointer to a struct sock, which has no such member: write sk->MEMBER"),
        ("r open_file $retval.f_mode", "write $retval->f_mode"),
        ("r many e.text", "it is an array in registers: write one of its elements, such as [0]"),
        (
            "p sk_setsockopt optval.is",
            "there is kernel, is_kernel",
        ),
    ] {
        let words = refused(definition);
        assert_eq!(words, want, "{definition}");
    }
    // On arm64 a packed structure is in registers, and a member in two of them.
    let error = compile("p odd p.b", &mut kernel(Arch::Arm64)).unwrap_err();
    assert_eq!(error.detail(), b"it is in two registers, a part in each");
    check_x86("p odd p.b", "b=9583660007044415491");
}

fn check_x86(definition: &str, want: &str) {
    assert_eq!(printed(definition, &mut kernel(Arch::X86_64)), want);
}

#[test]
fn one_of_several_structures_of_a_name() {
    let mut k = kernel(Arch::X86_64);
    k.write(100, &[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]);
    for (definition, want) in [
        ("p vfs_read (struct box *)%di->x", "x=1"),
        ("p vfs_read (box)%di->z", "z=3"),
        ("p vfs_read ((box)%di)->z", "z=3"),
        ("p vfs_read (box,z)%di->y", "y=(fault)"),
        ("p vfs_read (chest)%di->y", "y=2"),
        ("p vfs_read (chest)%di->lid", "lid=1"),
    ] {
        assert_eq!(printed(definition, &mut k), want, "{definition}");
    }
    for (definition, want) in [
        (
            "p vfs_read (chest)%di->x",
            "there are 2 structures chest, which have it at different places, or as different types: write +OFFSET(VALUE)",
        ),
        (
            "p vfs_read (struct box *)%di:struct",
            "there are 2 structures box: write a member behind it that only one has",
        ),
        (
            "p vfs_read (chest)+0(%bx)->w",
            "none of the 2 structures chest has it",
        ),
    ] {
        let error = compile(definition, &mut kernel(Arch::X86_64)).expect_err(definition);
        assert_eq!(
            String::from_utf8_lossy(error.detail()),
            want,
            "{definition}"
        );
    }
}
