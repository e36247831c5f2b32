// SPDX-License-Identifier: GPL-2.0

//! Values of enumerations by name: the type `enum`, and names in filters.

use crate::support;

use ferroprobe_engine::engine::filter::{Filter, Hit, KnownNumber, LookupFunctions};
use ferroprobe_engine::engine::print::{Json, Renderer, ShownEvent};
use ferroprobe_engine::engine::program::btf::{Btf, Index};
use ferroprobe_engine::engine::record::format::write_format;
use ferroprobe_engine::engine::record::Header;
use ferroprobe_engine::engine::refusal::error::{Error, Kind};
use support::{btf, compile, hit, printed, text, Kernel};

/// A kernel at the entry of `drop(why, mix, err, size)`.
fn kernel(why: u64) -> Kernel {
    let mut k = Kernel {
        blob: Some(btf::sample()),
        ..Kernel::default()
    };
    k.set("di", 0xffff_0000_0000_0000 | why);
    k.set("ax", why);
    k.set("si", 0x1_0000);
    k.set("dx", -2i64 as u64);
    k.set("cx", 0x40);
    k.write(0x1_0000, &[4, 0, 0, 0, 0x15, 0, 0, 0]);
    k
}

struct Types;

impl LookupFunctions for Types {
    fn named(&mut self, _name: &[u8]) -> Option<(u64, u64)> {
        None
    }

    fn around(&mut self, _address: u64) -> Option<(u64, u64)> {
        None
    }

    fn open_flag(&self, name: &[u8]) -> Option<u32> {
        (name == b"O_CREAT").then_some(0x40)
    }

    fn number_called(&mut self, name: &[u8]) -> KnownNumber {
        let blob = btf::sample();
        let index = Index::build(&blob, None).unwrap();
        let mut found = KnownNumber::Nothing;
        Btf::new(&blob, &index, None)
            .unwrap()
            .each_number(name, &mut |value| {
                found = match found {
                    KnownNumber::Nothing => KnownNumber::One(value as i64),
                    _ => KnownNumber::Several,
                };
            });
        found
    }

    fn last_cpu(&self) -> u32 {
        3
    }
}

const HIT: Hit = Hit {
    header: Header {
        event: 9,
        flags: 0,
        preempt_count: 0,
        pid: 42,
    },
    cpu: 0,
    place: 0x8010,
};

fn filter(text: &str, kernel: &mut Kernel) -> Result<bool, Error> {
    let definition = "p drop why mix->state mix->bits err size e=why:enum r=why:u32 n=\\3";
    let (_, program) = compile(definition, kernel).unwrap();
    let filter = Filter::compile(text.as_bytes(), program.layout(), &mut Types)?;
    Ok(filter.matches(&program, kernel, &HIT))
}

#[test]
fn names_are_printed() {
    for (definition, want) in [
        ("p drop why:enum", "why=DROP_REASON_NO_SOCKET"),
        ("p drop $arg1:enum", "why=DROP_REASON_NO_SOCKET"),
        ("p drop x=$arg1:enum", "x=DROP_REASON_NO_SOCKET"),
        ("r drop why:enum", "why=DROP_REASON_NO_SOCKET"),
        ("p drop why", "why=3"),
        (
            "p drop mix->state:enum mix->bits:enum why:u8",
            "state=DEAD bits=READ|EXEC|0x10 why=3",
        ),
        ("p drop ((struct mix *)$arg2)->state:enum", "state=DEAD"),
    ] {
        assert_eq!(printed(definition, &mut kernel(3)), want, "{definition}");
    }
    assert_eq!(printed("p drop why:enum", &mut kernel(9)), "why=9");
    assert_eq!(
        printed("p drop why:enum", &mut kernel(0xffff_ffff)),
        "why=4294967295"
    );
    let mut k = kernel(3);
    k.memory.remove(&0x1_0003);
    assert_eq!(printed("p drop mix->state:enum", &mut k), "state=(fault)");
}

#[test]
fn the_record_has_the_number() {
    let (_, program, record) = hit("p drop why:enum", &mut kernel(3));
    let field = &program.layout().fields[0];
    let at = usize::from(field.offset);
    assert_eq!(field.size(), 4);
    assert_eq!(record[at..at + 4], [3, 0, 0, 0]);
    let mut format = String::new();
    write_format(&mut format, "drop", 9, program.layout()).unwrap();
    assert!(format.contains("field:s32 why;"), "{format}");
}

#[test]
fn json_has_the_name() {
    let json = |why| {
        let mut k = kernel(why);
        let (_, program, record) = hit("p drop why:enum", &mut k);
        let shown = &k;
        text(|buf| {
            let event = ShownEvent {
                key: 1,
                group: b"g",
                name: b"drop",
                layout: program.layout(),
            };
            Json::new().event(buf, event, &record, &mut { shown });
        })
    };
    assert!(
        json(3).contains("\"why\":\"DROP_REASON_NO_SOCKET\""),
        "{}",
        json(3)
    );
    assert!(json(9).contains("\"why\":9"), "{}", json(9));
}

#[test]
fn filters_take_names() {
    for (text, want) in [
        ("why == DROP_REASON_NO_SOCKET", true),
        ("why == NO_SOCKET", true),
        ("why==NO_SOCKET&&n==3", true),
        ("why == \"NO_SOCKET\"", true),
        ("why == 'DROP_REASON_NO_SOCKET'", true),
        ("why != NO_SOCKET", false),
        ("why == OK", false),
        ("why == NONE || (why == TCP_RESET)", false),
        ("why >= NO_SOCKET", true),
        ("e == NO_SOCKET", true),
        ("r == NO_SOCKET", true),
        ("state == DEAD", true),
        ("state & DEAD && bits & EXEC && !(bits & WRITE)", true),
        ("(bits & 7) == EXEC", false),
        // Of other enumerations, and of C.
        ("n == DROP_REASON_NO_SOCKET", true),
        ("n != NET_UP && n < NET_UP", true),
        ("err == -ENOENT", true),
        ("err != -ENOENT", false),
        ("err > -EPERM", false),
        ("size & O_CREAT", true),
        ("size == O_CREAT && (size & 0xff) == O_CREAT", true),
        ("n != SIGKILL", true),
        // A field of the event comes first.
        ("why == n", true),
    ] {
        assert_eq!(filter(text, &mut kernel(3)).unwrap(), want, "{text}");
    }
}

#[test]
fn unknown_names_are_refused() {
    for (text, at, kind, detail) in [
        (
            "why == NO_SOCKTE",
            7,
            Kind::FiltInvalidValue,
            "did you mean NO_SOCKET?",
        ),
        (
            "why == DROP_REASON_TCP_RESTE",
            7,
            Kind::FiltInvalidValue,
            "did you mean DROP_REASON_TCP_RESET?",
        ),
        (
            "why == \"SOCKET\"",
            8,
            Kind::FiltInvalidValue,
            "there is OK, NONE, NO_SOCKET, TCP_RESET, MAX",
        ),
        // The rest of a name behind any `_` is no name.
        (
            "why == RESET",
            7,
            Kind::FiltInvalidValue,
            "there is OK, NONE, NO_SOCKET, TCP_RESET, MAX",
        ),
        (
            "why ~ \"NO_*\"",
            7,
            Kind::FiltInvalidValue,
            "there is OK, NONE, NO_SOCKET, TCP_RESET, MAX",
        ),
        (
            "why ~ NO_SOCKET",
            4,
            Kind::FiltIllegalFieldOp,
            "names of numbers are no texts: compare with == or !=",
        ),
        ("why == \"x", 7, Kind::FiltMissingQuote, ""),
        (
            "err == ENOENT",
            7,
            Kind::FiltInvalidValue,
            "write -ENOENT for the error ENOENT, or 2",
        ),
        ("n == TWICE", 5, Kind::FiltInvalidValue, ""),
        ("n == NOTHING", 5, Kind::FiltInvalidValue, ""),
        ("n < -ENOENT", 4, Kind::FiltNoSign, ""),
    ] {
        let error = filter(text, &mut kernel(3)).unwrap_err();
        assert_eq!((error.kind, error.at), (kind, at), "{text}");
        let found = String::from_utf8(error.detail().to_vec()).unwrap();
        assert!(found.contains(detail), "{text}: {found}");
    }
}

#[test]
fn what_has_no_names_is_refused() {
    for (definition, at, detail) in [
        ("p drop err:enum", 11, "no names"),
        ("p drop %di:enum", 11, "no type"),
        ("p drop +0(%si):enum", 15, "no type"),
        ("p drop mix:enum", 11, "no names"),
        ("p drop why:enum[2]", 11, "no array"),
    ] {
        let error = compile(definition, &mut kernel(3)).unwrap_err();
        assert_eq!((error.kind, error.at), (Kind::BadType, at), "{definition}");
        let found = String::from_utf8(error.detail().to_vec()).unwrap();
        assert!(found.contains(detail), "{definition}: {found}");
    }
}

#[test]
fn names_that_are_looked_up_are_limited() {
    let named = |count: usize, last: &str| {
        let mut terms = vec!["n == NET_UP"; count];
        terms.push(last);
        filter(&terms.join(" || "), &mut kernel(3))
    };
    assert!(named(63, "n == NET_UP").is_ok());
    let told = |result: Result<bool, Error>| {
        let error = result.unwrap_err();
        assert_eq!(error.kind, Kind::FiltInvalidValue);
        String::from_utf8(error.detail().to_vec()).unwrap()
    };
    assert!(told(named(64, "n == NET_UP")).contains("at most 64 names"));
    // An unknown name is that, although it is the last one that is looked up.
    assert!(!told(named(63, "n == NOTHING")).contains("at most"));
}

#[test]
fn a_packed_enumeration_has_one_byte() {
    let text = include_str!("../../data/lang-btf.txt");
    let is_type = |line: &&str| !line.is_empty() && !line.starts_with('#');
    let first = text.lines().filter(is_type).count() + 1;
    let names = "HINT_NONE:1 HINT_LONG:200";
    let (holder, pointer, prototype) = (first + 1, first + 2, first + 3);
    let more = format!(
        "packed hint {names}\nstruct holder 16 hint:{first}:8 more:3:64\npointer {holder}\n\
        prototype 1 of:{pointer} hint:{first}\nfunc hinted {prototype}"
    );
    let mut k = Kernel {
        blob: Some(btf::build(&format!("{text}\n{more}"))),
        ..Kernel::default()
    };
    k.set("di", 0x1_0000);
    k.set("si", 0xffff_ffff_ffff_ff00 | 200);
    k.write(0x1_0000, &[0x11, 200, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77]);
    let definition = "p hinted a=of->hint b=hint e=of->hint:enum f=hint:enum";
    assert_eq!(
        printed(definition, &mut k),
        "a=200 b=200 e=HINT_LONG f=HINT_LONG"
    );
}
