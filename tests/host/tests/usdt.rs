// SPDX-License-Identifier: GPL-2.0

//! Static points of programs: how they are written, and their arguments.

use crate::support;

use ferroprobe_engine::engine::code::arch::point::{
    point_argument, NoPointArgument, PointArgument, PointPlace,
};
use ferroprobe_engine::engine::code::arch::Arch;
use ferroprobe_engine::engine::refusal::error::Kind;
use support::{compile, printed, Kernel};

fn argument(
    text: &'static str,
    n: usize,
    arch: Arch,
) -> Result<PointArgument, NoPointArgument<'static>> {
    point_argument(text.as_bytes(), n, &|text| arch.isa().operand(text))
}

fn register(arch: Arch, name: &str) -> u8 {
    arch.isa().register(name.as_bytes()).expect("a register")
}

#[test]
fn operands_of_x86() {
    let arch = Arch::X86_64;
    let all = "-4@%edi 8@-16(%rbp) 1@%r10b -2@$-7 8@(%rsp) 4@8(%rax,%rbx,4) 8@sym(%rip) 4f@%xmm0";
    let memory = |name, offset| PointPlace::Memory {
        register: register(arch, name),
        offset,
    };
    for (n, place, size, is_signed) in [
        (0, PointPlace::Register(register(arch, "di")), 4, true),
        (1, memory("bp", -16), 8, false),
        (2, PointPlace::Register(register(arch, "r10")), 1, false),
        (3, PointPlace::Constant(-7), 2, true),
        (4, memory("sp", 0), 8, false),
    ] {
        let expected = PointArgument {
            place,
            size,
            is_signed,
        };
        assert_eq!(argument(all, n, arch), Ok(expected), "{n}");
    }
    for (n, operand) in [(5, "4@8(%rax,%rbx,4)"), (6, "8@sym(%rip)"), (7, "4f@%xmm0")] {
        let expected = NoPointArgument::Operand(operand.as_bytes());
        assert_eq!(argument(all, n, arch), Err(expected), "{n}");
    }
    assert_eq!(argument(all, 8, arch), Err(NoPointArgument::Count(8)));
    assert_eq!(argument("", 0, arch), Err(NoPointArgument::Count(0)));
    assert_eq!(argument("  ", 0, arch), Err(NoPointArgument::Count(0)));
    for odd in [
        "4@", "@%rax", "3@%rax", "4@%eip", "4@%xmm1", "8@(%eax)", "8@$", "8@4(%rax", "-@%rax",
    ] {
        assert!(argument(odd, 0, arch).is_err(), "{odd}");
    }
}

#[test]
fn operands_of_arm64() {
    let arch = Arch::Arm64;
    let all = "-4@w0 8@x30 8@[sp, 16] -8@[x29,-24] 4@7 8@[x1] 8@[x1, x2] 4@[sp,#8]";
    let memory = |name, offset| PointPlace::Memory {
        register: register(arch, name),
        offset,
    };
    for (n, place, size, is_signed) in [
        (0, PointPlace::Register(0), 4, true),
        (1, PointPlace::Register(30), 8, false),
        (2, memory("sp", 16), 8, false),
        (3, memory("x29", -24), 8, true),
        (4, PointPlace::Constant(7), 4, false),
        (5, memory("x1", 0), 8, false),
        (7, memory("sp", 8), 4, false),
    ] {
        let expected = PointArgument {
            place,
            size,
            is_signed,
        };
        assert_eq!(argument(all, n, arch), Ok(expected), "{n}");
    }
    assert_eq!(
        argument(all, 6, arch),
        Err(NoPointArgument::Operand(b"8@[x1, x2]"))
    );
    for odd in ["8@[sp", "8@[]", "8@w99", "8@[w0]", "8@d0", "8@[sp, 1, 2]"] {
        assert!(argument(odd, 0, arch).is_err(), "{odd}");
    }
}

#[test]
fn arguments_are_where_the_note_says() {
    let mut k = Kernel {
        point: Some("-4@%edi 8@-16(%rbp) -1@$-3"),
        ..Kernel::default()
    };
    k.set("di", 0xffff_ffff_8000_0001);
    k.set("bp", 0x5010);
    k.write_user(0x5000, &0x1122_3344_5566_7788u64.to_le_bytes());
    assert_eq!(
        printed(
            "p usdt:/bin/x:lib:begin a=$arg1:s64 b=$arg2:x64 c=$arg3:s32 d=$arg1:u8",
            &mut k
        ),
        "a=-2147483647 b=0x1122334455667788 c=-3 d=1"
    );
    for (definition, kind) in [
        ("p usdt:/bin/x:lib:begin $arg4", Kind::BadArgNum),
        ("p usdt:/bin/x:begin", Kind::BadUprobeOffs),
        ("p usdt:/bin/x", Kind::BadUprobeOffs),
        ("p usdt:/bin/x:lib:", Kind::BadUprobeOffs),
        ("r usdt:/bin/x:lib:begin", Kind::BadRetprobe),
    ] {
        assert_eq!(
            compile(definition, &mut k).expect_err(definition).kind,
            kind
        );
    }
}

#[test]
fn a_point_is_listed_as_it_was_written() {
    let mut k = Kernel::default();
    let (definition, _) = compile("p usdt:/lib/a:b.so:lib:begin", &mut k).expect("a definition");
    assert_eq!(definition.place.to_string(), "usdt:/lib/a:b.so:lib:begin");
    assert_eq!(&*definition.event, b"lib_begin");
}
