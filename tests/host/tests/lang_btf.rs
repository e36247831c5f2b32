// SPDX-License-Identifier: GPL-2.0

//! Arguments by the kernel's type information.

use crate::support;

use ferroprobe_engine::engine::code::arch::Arch;
use ferroprobe_engine::engine::program::btf::{declare::Parameters, Btf, Index, Malformed};
use support::{btf, compile, hit, printed, Kernel};

fn kernel() -> Kernel {
    let mut k = Kernel {
        blob: Some(btf::sample()),
        ..Kernel::default()
    };
    k.set("di", 0x3000);
    k.set("si", 0x6000);
    k.set("dx", 77);
    k.set("ax", u64::MAX);
    k.write(0x3000, &[0; 128]);
    k.write(0x3000, &0x8001u32.to_le_bytes());
    k.write(0x3018, &0x4000u64.to_le_bytes());
    k.write(0x3020, &0x5555u64.to_le_bytes());
    // f_bits = 5, f_sign = -2, f_flag = 0x01020304
    k.write(0x3028, &[0b1111_0101, 4, 3, 2, 1]);
    k.write(0x3030, &0x3000u64.to_le_bytes());
    k.write(0x3040, &7u32.to_le_bytes());
    k.write(0x4000, &[0; 64]);
    k.write(0x4020, &[1, 0, 0, 0, 4, 0, 0, 0]);
    k.write(0x4028, &0x6000u64.to_le_bytes());
    k.write(0x6000, b"name\0");
    k.write(0x7000, &[0; 256]);
    k.write(0x7008, &42u32.to_le_bytes());
    k.write(0x7010, b"swapper\0");
    k.write(0x7028, &0x7000u64.to_le_bytes());
    k
}

fn check(definition: &str, want: &str) {
    assert_eq!(printed(definition, &mut kernel()), want, "{definition}");
}

#[test]
fn parameters_by_name() {
    check(
        "p vfs_read file count buf:string",
        "file=0x3000 count=77 buf=\"name\"",
    );
    check(
        "p vfs_read $arg1 $arg3:x8 n=$arg3",
        "file=0x3000 count=0x4d n=0x4d",
    );
    check(
        "p vfs_read $arg*",
        "file=0x3000 buf=0x6000 count=77 pos=0x0",
    );
    check(
        "r vfs_read $arg* $retval",
        "file=0x3000 buf=0x6000 count=77 pos=0x0 arg2=18446744073709551615",
    );
    check("r getpid $retval", "arg1=-1");
    check("p vfs_read#2 count", "count=77");
    // In a clone another parameter may be where it was.
    check("p vfs_read.isra.0 $arg3", "arg1=0x4d");
    // A name of the dialect of 2009 is one where no parameter has it.
    check("p vfs_read a0 rdi", "a0=0x3000 rdi=0x3000");
}

#[test]
fn expanded_arguments_are_listed() {
    let (definition, _) = compile("p vfs_read $arg1:u8 $comm $arg3", &mut kernel()).unwrap();
    let mut line = String::new();
    definition.write_line(&mut line).unwrap();
    assert_eq!(
        line,
        "p:kprobes/p_vfs_read_0 vfs_read file=file:u8 comm=$comm count=count\n"
    );
}

#[test]
fn members() {
    check("p vfs_read file->f_mode", "f_mode=32769");
    check(
        "p vfs_read n=file->f_path.dentry->d_name.name:string",
        "n=\"name\"",
    );
    check(
        "p vfs_read file->f_path.dentry->d_name.len file->f_owner file->high",
        "len=4 f_owner=21845 high=0",
    );
    check(
        "p vfs_read file->low file->next->next->f_mode:x16",
        "low=7 f_mode=0x8001",
    );
    check(
        "p vfs_read file->f_bits file->f_sign file->f_flag",
        "f_bits=5 f_sign=-2 f_flag=16909060",
    );
    check(
        "p vfs_read file->f_sign:u8 +0(file->f_path.dentry):u8",
        "f_sign=245 arg2=0",
    );
    check("r open_file $retval->f_mode", "f_mode=(fault)");
}

#[test]
fn the_current_task() {
    check(
        "p vfs_read+4 $current->pid c=$current->comm:string",
        "pid=42 c=\"swapper\"",
    );
    check(
        "p vfs_read $current->group_leader->pid $current->colour",
        "pid=42 colour=0",
    );
    check("p vfs_read (task_struct)$current->pid", "pid=42");
    check("p vfs_read $current", "arg1=0x7000");
}

#[test]
fn typecasts() {
    check(
        "p vfs_read name=(file)file->f_path.dentry->d_name.name:string",
        "name=\"name\"",
    );
    check(
        "p vfs_read name=(file)(file)->f_path.dentry->d_name.name:string",
        "name=\"name\"",
    );
    check(
        "p vfs_read name=(dentry)((file)file->f_path.dentry)->d_name.name:string",
        "name=\"name\"",
    );
    check(
        "p vfs_read x=(file)%di->f_mode y=(file)$arg1->f_mode",
        "x=32769 y=32769",
    );
    check(
        "p vfs_read+8 x=(file)%di->f_mode y=(file)+0x30(%di)->f_mode",
        "x=32769 y=32769",
    );
    // %di points at the member f_path, 16 bytes into the structure.
    let mut k = kernel();
    k.set("di", 0x3010);
    assert_eq!(
        printed("p vfs_read (file,f_path)file->f_mode", &mut k),
        "f_mode=32769"
    );
    assert_eq!(
        printed("p vfs_read (file,f_path.mnt)%di->f_mode", &mut k),
        "f_mode=32769"
    );
    check(
        "p vfs_read pid=(task_struct,group_leader)$current->pid",
        "pid=(fault)",
    );
}

/// A kernel at the entry of `take`.
fn taking() -> Kernel {
    let mut k = kernel();
    k.set("di", 0xa000);
    k.set("si", 0xb000);
    k.set("dx", 0xc000);
    k.write(0xa000, &[0; 128]);
    for (n, number) in (1..=6u32).enumerate() {
        k.write(0xa000 + 4 * n as u64, &number.to_le_bytes());
        k.write(0xc000 + 4 * n as u64, &(10 * number).to_le_bytes());
    }
    k.write(0xa018, &0xa000u64.to_le_bytes());
    k.write(0xa020, b"in a bag");
    k.write(0xa028, &9u32.to_le_bytes());
    k.write(0xa030, &[7, 0, 0, 0, 8, 0, 0, 0, 70, 0, 0, 0, 80, 0, 0, 0]);
    k.write(0xb000, &[0; 64]);
    k.write(0xb000, &[0x39, 0x05, 2, 0, 0x11, 0, 0, 0]);
    k.write(0xb00c, &0x22u32.to_le_bytes());
    // The runqueue of each CPU, and its bag.
    for cpu in 0..4u64 {
        let at = 0x10_0000 * (cpu + 1);
        k.write(at + 0x100, &(100 + cpu as u32).to_le_bytes());
        k.write(at + 0x108, &0x7000u64.to_le_bytes());
        k.write(at + 0x200, &0xa000u64.to_le_bytes());
    }
    k.write(0x9000, &0xa000u64.to_le_bytes());
    k.write(0x9008, &[0; 56]);
    k.write(0x9028, &33u32.to_le_bytes());
    k
}

#[test]
fn c_as_people_write_it() {
    for (definition, want) in [
        // By the number of the argument, at entry and at return.
        ("p take $arg1->low", "low=9"),
        ("r take $arg1->items[1].first", "first=3"),
        // Casts.
        ("p take (struct bag *)%di->low", "low=9"),
        ("p take x=( const  struct\tbag  * )%di->low", "x=9"),
        ("p take (bag *)%di->low", "low=9"),
        ("p take ((struct bag *)%di)->next->low", "low=9"),
        (
            "p take ((struct bag *)%di)[0].low (bag)bag[0].items[1].second",
            "low=9 second=4",
        ),
        (
            "p take (struct bag *)((struct bag *)%di->next)->low +8((struct bag *)bag->next):u32",
            "low=9 arg2=3",
        ),
        ("p take (struct bag *)+0x18(%di)->low", "low=9"),
        // Elements of arrays, and behind pointers.
        (
            "p take bag->items[2].second bag->items[0].first",
            "second=6 first=1",
        ),
        (
            "p take pairs[1].first pairs[0].second:x32",
            "first=30 second=0x14",
        ),
        ("p take bag[0].next[0].items[1].second", "second=4"),
        (
            "p take bag->tail[1].second bag->bytes[3]:char",
            "second=80 bytes='a'",
        ),
        (
            "p take bag->items[1].first:u32[2] bag->bytes:string",
            "first={3,4} bytes=\"in a bag\\t\"",
        ),
        // What the kernel has macros for.
        (
            "p take sk->sk_dport sk->sk_family",
            "sk_dport=1337 sk_family=2",
        ),
        ("p take sk->lock sk->skc_lock:x8", "lock=34 skc_lock=0x11"),
        ("p vfs_read file->dentry", "dentry=0xa000"),
        // Variables of the kernel.
        ("p take (struct bag *)@init_bag.llvm.77->low", "low=9"),
        ("p take (struct bag)@init_bag.llvm.77.low", "low=33"),
        (
            "p take @runqueues[2].nr_running @runqueues[0].curr->pid",
            "nr_running=102 pid=42",
        ),
        (
            "p take @current_bag[3]->items[1].first @current_bag[1]",
            "first=3 arg2=0xa000",
        ),
        ("p take @untyped_cpu[3]", "arg1=0xa000"),
        (
            "p take this_cpu_ptr(@runqueues)->nr_running",
            "nr_running=100",
        ),
        (
            "p take this_cpu_read(@current_bag)->items[0].second",
            "second=2",
        ),
        (
            "p take (struct bag *)this_cpu_read(@untyped_cpu)->low",
            "low=9",
        ),
    ] {
        assert_eq!(printed(definition, &mut taking()), want, "{definition}");
    }
}

#[test]
fn a_cast_is_listed_with_single_spaces() {
    let (definition, _) =
        compile("p take x=( const  struct\tbag  * )%di->low", &mut taking()).expect("a definition");
    let mut line = String::new();
    definition.write_line(&mut line).unwrap();
    assert_eq!(
        line,
        "p:kprobes/p_take_0 take x=( const struct bag * )%di->low\n"
    );
    let (again, _) = compile(line.trim(), &mut taking()).expect("the same");
    let mut same = String::new();
    again.write_line(&mut same).unwrap();
    assert_eq!(same, line);
}

#[test]
fn a_register_beside_types_stays_what_it_is() {
    let mut k = Kernel {
        arch: Arch::Arm64,
        ..kernel()
    };
    k.set("x2", 9);
    assert_eq!(printed("p vfs_read count %x2:u8", &mut k), "count=9 arg2=9");
}

#[test]
fn bitfields_take_no_more_than_they_need() {
    let (_, program, record) = hit("p vfs_read file->f_bits file->f_sign", &mut kernel());
    assert_eq!(program.layout().fields[0].size(), 4);
    assert_eq!(record.len(), 16 + 4 + 4 + 1);
}

#[test]
fn a_module_builds_on_the_kernel() {
    let base_blob = btf::sample();
    let base_index = Index::build(&base_blob, None).unwrap();
    let base = Btf::new(&base_blob, &base_index, None).unwrap();
    let count = include_str!("../../data/lang-btf.txt")
        .lines()
        .filter(|l| !l.is_empty() && !l.starts_with('#'))
        .count();
    // Type 17 of the base is a pointer to struct file.
    let mut blob = btf::build(&format!("prototype 1 f:17\nfunc in_module {}", count + 1));
    // Names of a module are counted over those of its base.
    let strings = u32::from_le_bytes(base_blob[20..24].try_into().unwrap());
    for at in [24 + 12, 24 + 20] {
        let name = u32::from_le_bytes(blob[at..at + 4].try_into().unwrap());
        blob[at..at + 4].copy_from_slice(&(name + strings).to_le_bytes());
    }
    let index = Index::build(&blob, Some(&base_index)).unwrap();
    let module = Btf::new(&blob, &index, Some(&base)).unwrap();
    let function = module
        .function(b"in_module")
        .expect("the module's function");
    let parameter = function.parameters().next().expect("a parameter");
    assert_eq!(parameter.name, b"f");
    let file = parameter.value.pointee().flatten().expect("a structure");
    assert_eq!(file.member(b"f_path").map(|m| m.bit_offset), Some(128));
    assert!(module.function(b"vfs_read").is_some());
    assert!(base.function(b"in_module").is_none());
}

#[test]
fn broken_blobs_are_refused_or_harmless() {
    let blob = btf::sample();
    assert_eq!(Index::build(&[], None), Err(Malformed::Header));
    assert_eq!(Index::build(&blob[..100], None), Err(Malformed::Section));
    for at in 0..blob.len() {
        for value in [0, 0xff, blob[at] ^ 0x10] {
            let mut broken = blob.clone();
            broken[at] = value;
            let Ok(index) = Index::build(&broken, None) else {
                continue;
            };
            let Some(btf) = Btf::new(&broken, &index, None) else {
                continue;
            };
            for function in [&b"vfs_read"[..], b"kfree", b"open_file"] {
                let Some(function) = btf.function(function) else {
                    continue;
                };
                for parameter in function.parameters() {
                    let _ = parameter.value.printed();
                    let pointee = parameter.value.pointee().flatten();
                    let _ = pointee.and_then(|structure| structure.member(b"low"));
                }
            }
        }
    }
}

/// The running kernel's own types, where it offers them.
#[test]
fn the_kernel_of_this_host() {
    let Ok(blob) = std::fs::read("/sys/kernel/btf/vmlinux") else {
        return;
    };
    let index = Index::build(&blob, None).expect("the kernel's own types");
    let btf = Btf::new(&blob, &index, None).expect("an index of this blob");
    let function = btf.function(b"vfs_read").expect("vfs_read");
    let names: Vec<_> = function.parameters().map(|p| p.name.to_vec()).collect();
    assert_eq!(names, [&b"file"[..], b"buf", b"count", b"pos"]);
    let task = btf.structure(b"task_struct").expect("task_struct");
    assert!(task.member(b"comm").expect("comm").value.is_text());
    assert!(task.member(b"no_such_member").is_none());
}

/// A machine at the tracepoint `reached`: its arguments are counted as registers.
fn at_tracepoint() -> Kernel {
    let mut k = kernel();
    // What an argument has no bits for is undefined.
    k.regs[0] = 0xdead_beef_0000_0001;
    k.regs[1] = 0x7000;
    k.regs[2] = 0x1234_5678_9abc_fffe;
    k.regs[3] = u64::MAX;
    k
}

#[test]
fn arguments_of_a_tracepoint() {
    for (definition, want) in [
        ("t reached", ""),
        (
            "t reached $arg*",
            "flag=1 next=0x7000 code=-2 count=18446744073709551615",
        ),
        ("t reached $arg1 $arg3", "flag=1 code=-2"),
        (
            "t reached next->comm:string pid=next->pid",
            "comm=\"swapper\" pid=42",
        ),
        ("t reached +16($arg2):string", "arg1=\"swapper\""),
        // Cut to the bits of the argument, and extended as the argument is.
        (
            "t reached a=$arg1 b=$arg1:x32 c=flag:x64",
            "a=0x1 b=0x1 c=0x1",
        ),
        (
            "t reached a=$arg3:s64 b=$arg3:s32 c=code:x64",
            "a=-2 b=-2 c=0xfffffffffffffffe",
        ),
        ("t reached a=$arg3:x8 b=code:b4@0/16", "a=0xfe b=14"),
        ("t reached $comm", "comm=\"bash\""),
    ] {
        assert_eq!(
            printed(definition, &mut at_tracepoint()),
            want,
            "{definition}"
        );
    }
}

#[test]
fn a_tracepoint_has_no_more_arguments_than_its_type() {
    for definition in [
        "t reached a=$arg5",
        "t reached $arg5",
        "t reached none",
        "t reached __data",
    ] {
        let refusal = compile(definition, &mut at_tracepoint()).expect_err(definition);
        assert_eq!(refusal.kind.name(), "NO_BTFARG", "{definition}");
    }
}

#[test]
fn a_program_knows_its_registers() {
    for (definition, limit, no_memory) in [
        ("t reached", 0, true),
        ("t reached $arg1 $comm", 1, true),
        ("t reached a=$arg3:x8", 3, true),
        ("t reached a=$arg3:s64", 3, false),
        ("t reached a=+8($arg2)", 2, false),
    ] {
        let (_, program) = compile(definition, &mut at_tracepoint()).expect(definition);
        assert_eq!(program.register_limit(), limit, "{definition}");
        assert_eq!(program.reads_no_memory(), no_memory, "{definition}");
    }
}

#[test]
fn declarations_in_c() {
    let blob = btf::sample();
    let index = Index::build(&blob, None).expect("a blob");
    let btf = Btf::new(&blob, &index, None).expect("a blob");
    let mut all = vec![];
    btf.each_function(b"__probestub_", |name, function| {
        let parameters = Parameters::of(&function, 1).expect("memory");
        all.push(format!("{}({parameters})", String::from_utf8_lossy(name)));
    });
    assert_eq!(
        all,
        [
            "reached(bool flag, struct task_struct *next, short code, u64 count)",
            "declared(int (*call)(unsigned value, ...), char (*names)[8])",
            "valued(struct timespec at, int flag, struct large large)",
        ]
    );
    assert!(!btf.is_module());
}

#[test]
fn structures_by_value_are_what_they_consist_of() {
    // Of the types of lang-btf.txt, and these, which follow them.
    let count = include_str!("../../data/lang-btf.txt")
        .lines()
        .filter(|l| !l.is_empty() && !l.starts_with('#'))
        .count();
    let [kuid, cred, pointer, prototype] = [1, 3, 4, 5].map(|n| count + n);
    let more = format!(
        "struct kuid 4 val:2:0\n\
         struct atomic 4 counter:1:0\n\
         struct cred 24 usage:{}:0 uid:{kuid}:32 gid:{kuid}:64 name:8:64\n\
         pointer {cred}\n\
         prototype 0 cred:{pointer} id:{kuid}\n\
         func with_cred {prototype}",
        count + 2
    );
    let text = format!("{}\n{more}", include_str!("../../data/lang-btf.txt"));
    let mut k = Kernel {
        blob: Some(btf::build(&text)),
        ..Kernel::default()
    };
    k.set("di", 0x3000);
    k.set("si", 0xffff_ffff_0000_03e8);
    k.write(0x3000, &[0xff; 24]);
    k.write(0x3004, &[0xe8, 3, 0, 0, 0xe9, 3, 0, 0]);
    assert_eq!(
        printed("p with_cred cred->uid cred->gid u=cred->usage i=id", &mut k),
        "uid=1000 gid=1001 u=-1 i=1000"
    );
    // A type that is asked for is taken.
    assert_eq!(
        printed("p with_cred u=cred->uid:x64", &mut k),
        "u=0x3e9000003e8"
    );
    let refused = |definition: &str| {
        let error = compile(definition, &mut kernel()).expect_err(definition);
        String::from_utf8(error.detail().to_vec()).unwrap()
    };
    assert_eq!(
        refused("p vfs_read file->f_path"),
        "write one of its members: .mnt, .dentry, or a type such as :x64"
    );
    assert_eq!(
        refused("p vfs_read $current->comm"),
        "it is an array of characters: write :string"
    );
    assert_eq!(
        refused("p vfs_read file:%pd"),
        "write %pD for a struct file"
    );
    assert_eq!(
        refused("p vfs_read file->f_path:%pd"),
        "write .dentry behind it, and %pd"
    );
    // An address without a type, and one of something unknown, may be anything.
    for definition in [
        "p vfs_read %di:%pd",
        "p vfs_read file:%pD file->f_path.dentry:%pd d=$arg1:%pD",
        "p vfs_read count:%pD",
        "p kfree object:%pd",
        "r open_file $retval:%pD",
    ] {
        compile(definition, &mut kernel()).expect(definition);
    }
}

/// A name that no member has is looked for in members of members, but not without end.
#[test]
fn the_search_among_many_members_ends() {
    let mut types = String::from("int int 32 signed\n");
    for n in 2..8 {
        let of = if n == 2 { 1 } else { n - 1 };
        let members: String = (0..200).map(|m| format!(" m{m}:{of}:0")).collect();
        types += &format!("struct s{n} 4{members}\n");
    }
    types += "pointer 7\nprototype 0 x:8\nfunc wide 9\n";
    let mut k = kernel();
    k.blob = Some(btf::build(&types));
    let why = compile("p wide x->nothing", &mut k).err();
    let why = format!("{:?}", why.expect("no member"));
    assert!(why.contains("NoBtfField"), "{why}");
}
