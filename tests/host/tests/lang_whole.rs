// SPDX-License-Identifier: GPL-2.0

//! Whole structures: what is recorded, and what is printed.

use crate::support;

use ferroprobe_engine::engine::print::{Json, Renderer, ShownEvent};
use ferroprobe_engine::engine::record::format::write_format;
use support::{btf, compile, compile_failing, hit, printed, text, Kernel};

/// A kernel at the entry of `mixed`.
fn kernel() -> Kernel {
    let mut k = Kernel {
        blob: Some(btf::sample()),
        ..Kernel::default()
    };
    for (register, address) in [
        ("di", 0x1_0000u64),
        ("si", 0x2_0000),
        ("dx", 0x3_0000),
        ("cx", 0x4_0000),
        ("r8", 0x5_0000),
        ("r9", 0x6_0000),
        ("ax", 0x1_0000),
    ] {
        k.set(register, address);
        k.write(address, &[0; 2004]);
    }
    k.write(0x1_0000, &[4, 0, 0, 0, 0x15, 0, 0, 0]);
    k.write(0x1_0008, &0x8010u64.to_le_bytes());
    k.write(0x1_0010, &[0b1111_0101, 0xff, 0xff, 0xff]);
    k.write(0x1_0018, &0x1122u64.to_le_bytes());
    for n in 0..8u32 {
        k.write(0x1_0020 + 4 * u64::from(n), &(n + 1).to_le_bytes());
    }
    k.write(0x1_0040, b"a \"b\"\0xx");
    k.write(0x1_0048, &0x1_0000u64.to_le_bytes());
    for n in 0..501u32 {
        k.write(0x3_0000 + 4 * u64::from(n), &n.to_le_bytes());
    }
    k.write(0x4_0000, &[7, 0, 0, 0, 8, 0, 0, 0]);
    k.write(0x6_0000, &[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0]);
    k
}

const MIX: &str = "{state=DEAD,bits=READ|EXEC|0x10,call=vfs_read+0x10/0x1000,flag=5,sign=-2,\
    f_lock=4386,f_owner=4386,pair={first=1,second=2},\
    pairs={{first=3,second=4},{first=5,second=6},{first=7,second=8}},name=\"a \"b\"\",\
    next=0x10000,tail=...}";

#[test]
fn every_member_is_printed() {
    for (definition, want) in [
        ("p mixed mix:struct", format!("mix={MIX}")),
        ("p mixed $arg1:struct", format!("mix={MIX}")),
        (
            "r mixed x=$arg1:struct y=$retval:struct",
            format!("x={MIX} y={MIX}"),
        ),
        (
            "p mixed x=(struct mix *)%di:struct n=\\1:u8",
            format!("x={MIX} n=1"),
        ),
        (
            "p mixed x=((struct mix *)%di)->next:struct",
            format!("x={MIX}"),
        ),
        ("p mixed mix->pair:struct", "pair={first=1,second=2}".into()),
        (
            "p mixed mix->pairs[1]:struct",
            "pairs={first=5,second=6}".into(),
        ),
        ("p mixed pairs[1]:struct", "arg1={first=3,second=4}".into()),
        (
            "p mixed mix->next->next->pair:struct",
            "pair={first=1,second=2}".into(),
        ),
        (
            "p mixed either:struct",
            "either={word=34359738375,half=7,parts={first=7,second=8}}".into(),
        ),
        // What is too deep.
        (
            "p mixed deep:struct",
            "deep={d={d={d={d={d={d={d={d=...}}}}}}}}".into(),
        ),
        // What is too long.
        (
            "p mixed big:struct",
            "big={numbers={0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,...},...}".into(),
        ),
        (
            "p mixed (struct rq *)%di:struct",
            "arg1={nr_running=4,curr=0x8010}".into(),
        ),
    ] {
        assert_eq!(printed(definition, &mut kernel()), want, "{definition}");
    }
}

#[test]
fn a_structure_of_a_variable() {
    let mut k = kernel();
    k.write(0x30_0100, &[0; 32]);
    k.write(0x10_0100, &[0; 32]);
    k.write(
        0x30_0100,
        &[3, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0],
    );
    k.write(
        0x10_0100,
        &[2, 0, 0, 0, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0, 0],
    );
    assert_eq!(
        printed(
            "p mixed @runqueues[2]:struct this_cpu_ptr(@runqueues):struct",
            &mut k
        ),
        "arg1={nr_running=3,curr=0x10} arg2={nr_running=2,curr=0x20}"
    );
    let task = printed(
        "p mixed $current:struct",
        &mut Kernel {
            current: 0x1_0000,
            ..k
        },
    );
    assert!(
        task.starts_with("arg1={pid=32784,comm=\"\\xf5\\xff\\xff\\xff\","),
        "{task}"
    );
}

#[test]
fn what_cannot_be_read_leaves_nothing_behind() {
    let mut k = kernel();
    // The last byte is missing.
    k.memory.remove(&0x1_004f);
    let (_, program, record) = hit("p mixed mix:struct pair=mix->pair:struct", &mut k);
    assert_eq!(
        printed("p mixed mix:struct pair=mix->pair:struct", &mut k),
        "mix=(fault) pair={first=1,second=2}"
    );
    // No byte of it, and none that was there before.
    let at = usize::from(program.layout().fields[1].offset) + 4;
    assert!(
        record[at..at + 80].iter().all(|&byte| byte == 0),
        "{record:x?}"
    );
    k.set("di", 0x99_0000);
    assert_eq!(printed("p mixed mix->next:struct", &mut k), "next=(fault)");
}

#[test]
fn it_takes_one_read_and_its_bytes() {
    let mut k = kernel();
    let (_, _, record) = hit("p mixed mix:struct", &mut k);
    assert_eq!(k.reads.get(), 1);
    assert_eq!(record.len(), 16 + 4 + 80);
    let (_, _, record) = hit("p mixed big:struct", &mut k);
    assert_eq!(record.len(), 16 + 4 + 1024);
}

#[test]
fn an_object_in_json() {
    let mut k = kernel();
    let (_, program, record) = hit("p mixed mix:struct", &mut k);
    let shown = &k;
    let line = text(|buf| {
        let event = ShownEvent {
            key: 0,
            group: b"g",
            name: b"e",
            layout: program.layout(),
        };
        Json::new().event(buf, event, &record, &mut { shown });
    });
    let args = line.split_once("\"args\":").expect("arguments").1;
    assert_eq!(
        args.trim(),
        "{\"mix\":{\"state\":\"DEAD\",\"bits\":\"READ|EXEC|0x10\",\
         \"call\":\"vfs_read+0x10/0x1000\",\"flag\":5,\"sign\":-2,\"f_lock\":4386,\
         \"f_owner\":4386,\"pair\":{\"first\":1,\"second\":2},\"pairs\":[{\"first\":3,\
         \"second\":4},{\"first\":5,\"second\":6},{\"first\":7,\"second\":8}],\
         \"name\":\"a \\\"b\\\"\",\"next\":65536}},\"truncated\":[\"mix\"]}"
    );
}

#[test]
fn the_format_has_bytes() {
    let (_, program) = compile("p mixed mix:struct", &mut kernel()).expect("a definition");
    let mut format = String::new();
    write_format(&mut format, "e", 1, program.layout()).unwrap();
    assert!(
        format.contains("\tfield:__data_loc u8[] mix;\toffset:16;\tsize:4;\tsigned:0;\n"),
        "{format}"
    );
    assert!(
        format.contains(" mix=%s\", REC->__probe_ip, __print_hex(__get_dynamic_array(mix), "),
        "{format}"
    );
}

#[test]
fn other_members_make_another_event() {
    let layout = |text| compile(text, &mut kernel()).expect(text).1;
    let (mix, rq) = (
        layout("p mixed x=(struct mix *)%di:struct"),
        layout("p mixed x=(struct rq *)%di:struct"),
    );
    assert_eq!(mix.layout().difference(rq.layout()), Some(0));
    let again = layout("p mixed x=mix:struct");
    assert_eq!(mix.layout().difference(again.layout()), None);
}

#[test]
fn no_memory_is_refused() {
    let full = compile("p mixed mix:struct", &mut kernel())
        .expect("memory")
        .1;
    for allocations in 0..200 {
        match compile_failing("p mixed mix:struct", &mut kernel(), allocations) {
            Ok((_, program)) => return assert_eq!(program, full),
            Err(error) => assert_eq!(error.kind.name(), "NO_MEMORY"),
        }
    }
    panic!("it never has enough");
}

/// Broken types make no loop, and no wrong bytes.
#[test]
fn broken_types_are_harmless() {
    let blob = btf::sample();
    for at in (24..blob.len()).step_by(11) {
        for value in [0, 0xff, blob[at] ^ 0x10, blob[at].wrapping_add(1)] {
            let mut broken = kernel();
            let mut bytes = blob.clone();
            bytes[at] = value;
            broken.blob = Some(bytes.clone());
            if ferroprobe_engine::engine::program::btf::Index::build(&bytes, None).is_err() {
                continue;
            }
            for argument in ["mix", "deep", "big", "either"] {
                let definition = format!("p mixed {argument}:struct");
                if compile(&definition, &mut broken).is_ok() {
                    let _ = printed(&definition, &mut broken);
                }
            }
        }
    }
}

/// Members without names, of which each has many, take no time without end.
#[test]
fn a_structure_of_many_nameless_members_ends() {
    let mut types = String::from("int int 32 signed\nunion last 4 a:1:0\n");
    for n in 2..12 {
        let members = format!(" -:{n}:0").repeat(50);
        types += &format!("union u{n} 4{members}\n");
    }
    types += "pointer 12\nprototype 0 x:13\nfunc nested 14\n";
    let mut k = kernel();
    k.blob = Some(btf::build(&types));
    assert_eq!(printed("p nested x:struct", &mut k), "x={...}");
    let why = compile("p nested x->b:u32", &mut k).expect_err("no member");
    assert!(format!("{why:?}").contains("NoBtfField"), "{why:?}");
}

/// Names for which there is no room are no members without names, of which there are none in an
/// object.
#[test]
fn a_structure_with_long_names_is_cut() {
    let long = "n".repeat(100);
    let names: String = (0..400).map(|n| format!(" {long}{n}:{n}")).collect();
    let members: String = (0..250)
        .map(|n| format!(" {long}{long}{n}:1:{}", 32 * n + 32))
        .collect();
    let types = format!(
        "int int 32 signed\nenum many{names}\nstruct long 1004 first:2:0 second:1:32{members}\n\
         pointer 3\nprototype 0 x:4\nfunc named 5\n"
    );
    let mut k = kernel();
    k.blob = Some(btf::build(&types));
    let text = printed("p named x:struct", &mut k);
    let shown = text
        .strip_prefix("x={")
        .and_then(|rest| rest.strip_suffix(",...}"));
    let parts: Vec<_> = shown.expect(&text).split(',').collect();
    assert!(parts.len() > 80, "{}", parts.len());
    assert!(parts.iter().all(|part| part.contains('=')), "{text}");
    assert_eq!(&parts[1], &"second=21");
}
