// SPDX-License-Identifier: GPL-2.0

//! What a call has changed: saved at the entry, compared when it is printed.

use crate::support;

use ferroprobe_engine::engine::print::{Json, Renderer, ShownEvent};
use ferroprobe_engine::engine::program::exec;
use ferroprobe_engine::engine::record::{self, Header};
use ferroprobe_engine::engine::refusal::error::Kind;
use proptest::prelude::*;
use support::{btf, compile, put, text, Compiled, Kernel};

const MIX: u64 = 0x1_0000;

/// A kernel at the entry of `mixed`.
fn kernel() -> Kernel {
    let mut k = Kernel {
        blob: Some(btf::sample()),
        ..Kernel::default()
    };
    for (register, address) in [
        ("di", MIX),
        ("si", 0x2_0000u64),
        ("dx", 0x3_0000),
        ("cx", 0x4_0000),
        ("r8", 0x5_0000),
        ("r9", 0x6_0000),
    ] {
        k.set(register, address);
        // And nothing behind it.
        let size = if register == "dx" { 2004 } else { 80 };
        k.write(address, &vec![0; size]);
    }
    k
}

/// The record of a call that does `work`.
fn call(definition: &str, k: &mut Kernel, work: impl FnOnce(&mut Kernel)) -> (Compiled, Vec<u8>) {
    let (_, program) = compile(definition, k).unwrap_or_else(|e| panic!("{definition}: {e:?}"));
    let mut entry = vec![0xdead; program.entry_words()];
    exec::capture(&program, k, &mut entry);
    work(k);
    // The registers have other values when the function returns.
    k.set("di", 0);
    k.entry = entry;
    let mut out = vec![0xaa; record::MAX_SIZE];
    let header = Header {
        event: 7,
        flags: 0,
        preempt_count: 0,
        pid: 42,
    };
    assert!(record::start_probe(&mut out, header, 0x8000));
    assert!(record::put_return_address(&mut out, 0x8100));
    let length = exec::run(&program, k, &mut out);
    out.truncate(length);
    (program, out)
}

fn changed(definition: &str, k: &mut Kernel, work: impl FnOnce(&mut Kernel)) -> String {
    let (program, record) = call(definition, k, work);
    let out = text(|buf| put(buf, b"ev", &program, &record, k));
    out.split_once(')').expect("a place").1.trim().to_string()
}

fn json(definition: &str, k: &mut Kernel, work: impl FnOnce(&mut Kernel)) -> String {
    let (program, record) = call(definition, k, work);
    let mut names: &Kernel = k;
    text(|buf| {
        let event = ShownEvent {
            key: 0,
            group: b"kprobes",
            name: b"ev",
            layout: program.layout(),
        };
        Json::new().event(buf, event, &record, &mut names);
    })
}

#[test]
fn changed_members_are_shown() {
    for definition in ["r mixed mix:changes", "r mixed mix=$arg1:changes"] {
        let got = changed(definition, &mut kernel(), |_| {});
        assert_eq!(got, "mix={...}", "{definition}");
        let got = changed(definition, &mut kernel(), |k| {
            k.write(MIX, &[4, 0, 0, 0, 5, 0, 0, 0]);
            k.write(MIX + 16, &[0b0000_0101]);
            k.write(MIX + 0x24, &[9]);
            k.write(MIX + 0x30, &[8]);
            k.write(MIX + 0x40, b"ab\0");
        });
        assert_eq!(
            got,
            "mix={state=RUNNING->DEAD,bits=0->READ|EXEC,flag=0->5,pair={second=0->9},\
             pairs={[1]={first=0->8}},name=\"\"->\"ab\",...}",
            "{definition}"
        );
    }
    let pair = |k: &mut Kernel| k.write(0x6_0000, &[1, 0, 0, 0, 2]);
    let got = changed("r mixed pairs:changes", &mut kernel(), pair);
    assert_eq!(got, "pairs={first=0->1,second=0->2}");
    let got = changed("r mixed pairs:changes", &mut kernel(), |_| {});
    assert_eq!(got, "pairs={}");
    // An embedded one.
    let got = changed("r mixed mix->pair:changes n=\\1:u8", &mut kernel(), |k| {
        k.write(MIX + 0x20, &[7]);
    });
    assert_eq!(got, "pair={first=0->7} n=1");
    // Of two.
    let got = changed(
        "r mixed mix->pair:changes pairs:changes $retval",
        &mut kernel(),
        |k| {
            k.write(MIX + 0x20, &[7]);
            k.write(0x6_0004, &[3]);
        },
    );
    assert!(
        got.starts_with("pair={first=0->7} pairs={second=0->3} arg3="),
        "{got}"
    );
}

#[test]
fn changes_are_objects() {
    let got = json("r mixed mix:changes", &mut kernel(), |k| {
        k.write(MIX, &[4]);
        k.write(MIX + 0x24, &[9]);
        k.write(MIX + 0x30, &[8]);
        k.write(MIX + 0x40, b"a\"\0");
    });
    let want = "\"mix\":{\"state\":{\"old\":\"RUNNING\",\"new\":\"DEAD\"},\
                \"pair\":{\"second\":{\"old\":0,\"new\":9}},\
                \"pairs\":{\"1\":{\"first\":{\"old\":0,\"new\":8}}},\
                \"name\":{\"old\":\"\",\"new\":\"a\\\"\"}}";
    assert!(got.contains(want), "{got}");
}

#[test]
fn what_cannot_be_read_is_a_fault() {
    for definition in [
        "r mixed mix:changes n=\\1:u8",
        "r mixed big:changes n=\\1:u8",
    ] {
        let at = if definition.contains("big") {
            0x3_0000
        } else {
            MIX
        };
        let name = if at == MIX { "mix" } else { "big" };
        // At the return, and at the entry.
        let got = changed(definition, &mut kernel(), |k| {
            k.memory.retain(|&a, _| a < at)
        });
        assert_eq!(got, format!("{name}=(fault) n=1"));
        let mut k = kernel();
        k.memory.remove(&at);
        let got = changed(definition, &mut k, |k| k.write(at, &[0]));
        assert_eq!(got, format!("{name}=(fault) n=1"));
        let mut k = kernel();
        k.set(if at == MIX { "di" } else { "dx" }, 0);
        assert_eq!(
            changed(definition, &mut k, |_| {}),
            format!("{name}=(fault) n=1")
        );
    }
    // Only the beginning of a large one is compared, which is told.
    let got = changed("r mixed big:changes", &mut kernel(), |k| {
        k.write(0x3_0004, &[1])
    });
    assert_eq!(got, "big={numbers={[1]=0->1},...}");
}

#[test]
fn only_parameters_have_changes() {
    for definition in [
        "p mixed mix:changes",
        "p mixed+4 (struct mix *)%di:changes",
        "r mixed $retval:changes",
        "r mixed mix->next->pair:changes",
        "r mixed (struct mix *)%di:changes",
        "r mixed (struct rq)@runqueues:changes",
    ] {
        let error = compile(definition, &mut kernel()).expect_err(definition);
        assert_eq!(error.kind, Kind::BadType, "{definition}");
        let text = String::from_utf8_lossy(error.detail()).to_string();
        assert!(
            text.contains("changes are those of"),
            "{definition}: {text}"
        );
    }
    let error = compile("r mixed mix:changes[2]", &mut kernel()).expect_err("an array");
    assert_eq!(error.kind, Kind::BadType);
    let many = ["a", "b", "c", "d", "e"].map(|name| format!(" {name}=big:changes"));
    let error = compile(&format!("r mixed{}", many.concat()), &mut kernel()).expect_err("many");
    assert_eq!(error.kind, Kind::EventTooBig);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// The record has all bytes of both states, whatever the size.
    #[test]
    fn both_states_are_recorded(
        before in prop::collection::vec(any::<u8>(), 80),
        after in prop::collection::vec(any::<u8>(), 80),
    ) {
        for (definition, size) in [("r mixed mix:changes", 80), ("r mixed pairs:changes", 8)] {
            let mut k = kernel();
            let at = if size == 80 { MIX } else { 0x6_0000 };
            k.write(at, &before);
            let (program, record) = call(definition, &mut k, |k| k.write(at, &after));
            let both = [&before[..size], &after[..size]].concat();
            prop_assert!(record.ends_with(&both));
            let _ = text(|buf| put(buf, b"ev", &program, &record, &k));
        }
    }
}
