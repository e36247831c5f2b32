// SPDX-License-Identifier: GPL-2.0

//! Lines of `trace_json`: another parser reads them, and they have the values of the text.

use crate::support;

use ferroprobe_engine::engine::language::types::Shown;
use ferroprobe_engine::engine::print::context::{self, Context, Time};
use ferroprobe_engine::engine::print::{
    Json, PrintedText, Renderer, ShownEvent, SymbolNames, TextLines,
};
use ferroprobe_engine::engine::program::marker;
use ferroprobe_engine::engine::record::stack;
use ferroprobe_engine::engine::record::{Builtin, Class, Header, Layout, RAW_DATA, USER_STACK};
use ferroprobe_engine::engine::ring::Note;
use ferroprobe_engine::engine::util::errno;
use ferroprobe_engine::engine::util::seq_buf::SeqBuf;
use proptest::prelude::*;
use serde_json::Value;
use support::{hit, text, Kernel};

/// Restores the bytes of a string, as Documentation/json.rst says.
fn restored(string: &str) -> Vec<u8> {
    let mut bytes = vec![];
    for character in string.chars() {
        match u32::from(character) {
            code @ 0xef80..=0xefff => bytes.push((code - 0xef00) as u8),
            _ => bytes.extend(character.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    bytes
}

fn string(value: &Value) -> Vec<u8> {
    restored(
        value
            .as_str()
            .unwrap_or_else(|| panic!("no string: {value}")),
    )
}

fn one_line(bytes: &[u8]) -> String {
    text(|buf| buf.one_line(bytes))
}

/// The line of one record, parsed.
fn parsed(json: &mut Json, context: &Context, event: ShownEvent<'_>, record: &[u8]) -> Value {
    parsed_with(json, context, event, record, &mut &Kernel::default())
}

fn parsed_with(
    json: &mut Json,
    context: &Context,
    event: ShownEvent<'_>,
    record: &[u8],
    symbols: &mut dyn SymbolNames,
) -> Value {
    let header = Header::from_record(record).unwrap();
    let line = text(|buf| {
        json.context(buf, context, header);
        json.event(buf, event, record, symbols);
    });
    let (line, rest) = line.split_at(line.len() - 1);
    assert_eq!(rest, "\n");
    assert!(!line.contains('\n'), "{line}");
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

/// An element of an argument as `trace` shows it.
fn shown(value: &Value, shown: Shown, is_whole: bool) -> String {
    if value.is_null() {
        return "(fault)".into();
    }
    let unsigned = || value.as_u64().unwrap_or_else(|| panic!("{value}"));
    let signed = || value.as_i64().unwrap_or_else(|| panic!("{value}"));
    match shown {
        Shown::Unsigned | Shown::Duration | Shown::Size => unsigned().to_string(),
        Shown::Hex => format!("{:#x}", unsigned()),
        Shown::Signed => signed().to_string(),
        Shown::Errno => match errno::name(signed()).filter(|name| !name.is_empty()) {
            Some(name) => format!("-{name}"),
            None => signed().to_string(),
        },
        Shown::Char => format!("'{}'", one_line(&string(value))),
        Shown::Text if is_whole => format!("\"{}\"", one_line(&string(value))),
        Shown::Text => format!("\"{}\"...", one_line(&string(value))),
        // lang_whole.rs and lang_enum.rs have these.
        Shown::Structure | Shown::Enum => unreachable!("no definition here has one"),
        Shown::Symbol | Shown::Ip4 | Shown::Ip6 | Shown::Mac => value.as_str().unwrap().into(),
    }
}

/// The arguments of an object as `trace` shows them. Checks that the lists of faults and of
/// incomplete texts name what they must.
fn arguments(object: &Value, layout: &Layout) -> String {
    let names = |key: &str| -> Vec<String> {
        let list = object.get(key).map(|list| list.as_array().unwrap());
        let list = list.into_iter().flatten();
        list.map(|name| name.as_str().unwrap().into()).collect()
    };
    let (mut faults, truncated) = (names("faults"), names("truncated"));
    assert_eq!(object.get("faults").is_some(), !faults.is_empty());
    let args = object["args"].as_object().unwrap();
    assert_eq!(args.len(), layout.fields.len());
    let mut one = |name: String, value: &Value, how: Shown| {
        if value.is_null() {
            assert_eq!(faults.remove(0), name);
        }
        shown(value, how, !truncated.contains(&name))
    };
    let mut line = String::new();
    for field in &layout.fields {
        let name = std::str::from_utf8(&field.name).unwrap();
        let how = field.base.shown();
        let value = match &args[name] {
            Value::Array(elements) => {
                assert_eq!(elements.len(), usize::from(field.count.unwrap()));
                let elements = elements.iter().enumerate();
                let elements: Vec<_> = elements
                    .map(|(n, value)| one(format!("{name}[{n}]"), value, how))
                    .collect();
                format!("{{{}}}", elements.join(","))
            }
            value => one(name.into(), value, how),
        };
        line += &format!(" {name}={value}");
    }
    assert!(faults.is_empty(), "{faults:?}");
    line
}

const ARGUMENTS: &str = "a=%ax b=%ax:u64 c=%ax:s64 d=%bx:x8 e=%bx:s16 f=%cx:u32 g=%cx:s8 \
                         h=%ax:errno i=%bx:char j=%dx:symbol k=%ax:ip4 l=+0(%di):ip6 \
                         m=+2(%di):mac n=+0(%si):string o=+0(+0(%di)):string[3] p=+8(%di):x64[2] \
                         q=+0(%si):char[4] r=+4(%si):symbol s=$comm t=+0(%si):s16[3] \
                         u=+1(%si):ustring v=%bx:b4@3/16 w=%di:be32 x=%di:symstr";

fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"/etc/passwd".to_vec()),
        Just(b"\"\\\n\t\r\x1b[2J".to_vec()),
        Just(
            "\u{e9}\u{20ac}\u{1f600}\u{2028}\u{ef80}\u{efff}\u{7f}"
                .as_bytes()
                .to_vec()
        ),
        Just(b"\xed\xa0\x80\xc0\xaf\xf5\xff".to_vec()),
        prop::collection::vec(any::<u8>(), 0..20),
        prop::collection::vec(b' '..=b'~', 0..40),
    ];
    prop::collection::vec(piece, 0..5).prop_map(|pieces| pieces.concat())
}

fn contexts() -> impl Strategy<Value = (Context, Header)> {
    let pid = prop_oneof![0i32..3, any::<i32>()];
    let name = prop_oneof![Just(*b"bash\0\0\0\0\0\0\0\0\0\0\0\0"), any::<[u8; 16]>()];
    let times = prop_oneof![0u64..300_000_000, 99_999_990u64..100_000_010, any::<u64>(),];
    let tgid = prop_oneof![
        Just(None),
        Just(Some(0)),
        Just(Some(7)),
        any::<Option<u32>>()
    ];
    (pid, name, 0u32..3, times, tgid, any::<[u8; 2]>()).prop_map(
        |(pid, name, cpu, time, tgid, [flags, preempt_count])| {
            let context = Context {
                task: Note::new(pid, name),
                cpu,
                time: if cpu == 2 {
                    Time::Count(time)
                } else {
                    Time::Nanoseconds(time)
                },
                irq_info: true,
                tgid,
            };
            let header = Header {
                event: 7,
                flags,
                preempt_count,
                pid,
            };
            (context, header)
        },
    )
}

fn check_context(object: &Value, context: &Context, header: Header) {
    let (Time::Nanoseconds(time) | Time::Count(time)) = context.time;
    assert_eq!(object["ts"].as_u64(), Some(time));
    assert_eq!(object["cpu"].as_u64(), Some(context.cpu.into()));
    assert_eq!(
        object["pid"].as_i64(),
        Some(i64::from(context.task.pid() as i32))
    );
    let name = context.task.name();
    let name = name.split(|&byte| byte == 0).next().unwrap();
    assert_eq!(string(&object["comm"]), name);
    let flags = text(|buf| context::put_flags(buf, header));
    assert_eq!(object["flags"], flags.as_str());
    match context.tgid {
        None => assert!(object.get("tgid").is_none()),
        Some(0) => assert!(object["tgid"].is_null()),
        Some(tgid) => assert_eq!(object["tgid"].as_u64(), Some(tgid.into())),
    }
}

proptest! {
    #[test]
    fn strings_are_restored(bytes in hostile()) {
        let mut record = vec![0; marker::length(&bytes) + 1];
        prop_assert!(marker::write_record(&mut record, 7, &bytes));
        let object = parsed(&mut Json::new(), &context(), builtin(&record), &record);
        // A record ends with one line feed, which the text has not, and with a NUL.
        let text = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let expected = match text.iter().position(|&byte| byte == 0) {
            Some(end) => text[..end].strip_suffix(b"\n").unwrap_or(&text[..end]),
            None => text,
        };
        prop_assert_eq!(string(&object["args"]["buf"]), expected);
    }

    #[test]
    fn values_are_those_of_the_text(
        registers in prop::array::uniform4(any::<u64>()),
        bytes in hostile(),
        other in hostile(),
        mapped in prop::array::uniform3(0usize..400),
        is_return in any::<bool>(),
        contexts in prop::collection::vec(contexts(), 1..4),
    ) {
        let mut kernel = Kernel::default();
        for (register, value) in ["ax", "bx", "cx", "dx"].into_iter().zip(registers) {
            kernel.set(register, value);
        }
        kernel.set("di", 0x1000);
        kernel.set("si", 0x3000);
        let ended = |bytes: &[u8]| [bytes, b"\0"].concat();
        let pointers: Vec<u8> = [0x2000u64, 0x2100, 0x2200]
            .into_iter()
            .flat_map(u64::to_le_bytes)
            .collect();
        // Some of it cannot be read.
        kernel.write(0x1000, &pointers[..mapped[0].min(pointers.len())]);
        kernel.write(0x2000, &ended(&bytes));
        kernel.write(0x2100, &ended(&other));
        let long = ended(&other.repeat(1 + mapped[1] % 20));
        kernel.write(0x3000, &long[..mapped[2].min(long.len())]);
        kernel.write_user(0x3000, &ended(&bytes));
        let kind = if is_return { "r vfs_read" } else { "p vfs_read" };
        let definition = if is_return {
            format!("{kind} a=$retval b=$retval:s32 c=%cx:x64")
        } else {
            format!("{kind} {ARGUMENTS}")
        };
        let (_, program, record) = hit(&definition, &mut kernel);
        let event = ShownEvent { key: 1, group: b"grp", name: b"ev", layout: program.layout() };
        let line = text(|buf| TextLines::new().put(buf, event, &record, &mut &kernel));
        let mut json = Json::new();
        for (context, header) in contexts {
            let mut record = record.clone();
            record[..8].copy_from_slice(&header.to_bytes());
            let object = parsed(&mut json, &context, event, &record);
            check_context(&object, &context, header);
            prop_assert_eq!(&object["group"], "grp");
            prop_assert_eq!(&object["event"], "ev");
            let address = |key: &str| object[key].as_str().unwrap().to_string();
            let location = match program.layout().class {
                class if class == Class::RETURN => {
                    format!("{} <- {}", address("ret_ip"), address("func"))
                }
                _ => address("ip"),
            };
            let arguments = arguments(&object, program.layout());
            prop_assert_eq!(&line, &format!("ev: ({location}){arguments}\n"));
        }
    }
}

fn context() -> Context {
    Context {
        task: Note::new(7, *b"bash\0\0\0\0\0\0\0\0\0\0\0\0"),
        cpu: 1,
        time: Time::Nanoseconds(1),
        irq_info: true,
        tgid: None,
    }
}

fn builtin(record: &[u8]) -> ShownEvent<'static> {
    let id = Header::from_record(record).unwrap().event;
    let builtin = Builtin::with_id(id).unwrap();
    ShownEvent {
        key: 0,
        group: Builtin::GROUP.as_bytes(),
        name: builtin.name.as_bytes(),
        layout: &builtin.layout,
    }
}

#[test]
fn texts_are_complete_or_listed() {
    let mut kernel = Kernel::default();
    kernel.set("di", 0x1000);
    kernel.write(0x1000, &[b'a'; 5000]);
    kernel.write(0x1000 + 5000, b"\0");
    let (_, program, record) = hit("p vfs_read s=+0(%di):string t=+0(%si):string", &mut kernel);
    let event = ShownEvent {
        key: 1,
        group: b"g",
        name: b"e",
        layout: program.layout(),
    };
    let object = parsed(&mut Json::new(), &context(), event, &record);
    assert_eq!(object["truncated"], serde_json::json!(["s"]));
    assert_eq!(object["faults"], serde_json::json!(["t"]));
    assert_eq!(object["args"]["t"], Value::Null);
}

#[test]
fn a_whole_line() {
    let mut kernel = Kernel::default();
    kernel.set("di", 0x1000);
    kernel.set("ax", u64::MAX);
    kernel.write(0x1000, b"caf\xe9 \"q\"\0");
    let arguments = "name=+0(%di):string n=%ax:u64 p=+0(%si) i=%di:symbol";
    let (_, program, record) = hit(&format!("p vfs_read {arguments}"), &mut kernel);
    let event = ShownEvent {
        key: 1,
        group: b"kprobes",
        name: b"read",
        layout: program.layout(),
    };
    let mut json = Json::new();
    let line = text(|buf| {
        json.context(buf, &context(), Header::from_record(&record).unwrap());
        json.event(buf, event, &record, &mut &kernel);
    });
    assert_eq!(
        line,
        "{\"ts\":1,\"cpu\":1,\"pid\":7,\"comm\":\"bash\",\"flags\":\".....\",\"group\":\"kprobes\",\
         \"event\":\"read\",\"ip\":\"vfs_read+0x0/0x1000\",\"args\":{\"name\":\"caf\\uefe9 \\\"q\\\"\",\
         \"n\":18446744073709551615,\"p\":null,\"i\":\"0x1000\"},\"faults\":[\"p\"]}\n"
    );
    let lost = text(|buf| json.lost(buf, 3, u64::MAX));
    assert_eq!(lost, "{\"lost\":18446744073709551615,\"cpu\":3}\n");
    let damaged = text(|buf| json.damaged(buf, 3, 2));
    assert_eq!(damaged, "{\"damaged\":2,\"cpu\":3}\n");
    let header = Header::from_record(&record).unwrap();
    let unknown = text(|buf| {
        json.context(buf, &context(), header);
        json.unknown(buf, header);
    });
    let unknown: Value = serde_json::from_str(&unknown).unwrap();
    assert_eq!(
        (&unknown["event"], &unknown["id"]),
        (&Value::Null, &Value::from(7))
    );
}

/// A symbol may have any name in a module.
#[test]
fn symbols_are_escaped() {
    struct Hostile;
    impl SymbolNames for Hostile {
        fn symbolize(&mut self, address: u64, _with_offset: bool, buf: &mut SeqBuf<'_>) {
            buf.bytes(b"a\"\xff");
            buf.pad(b'x', 0, address as usize % 300);
        }
    }
    let kernel = &mut Kernel::default();
    for (definition, key) in [("p vfs_read s=%di:symbol", "ip"), ("r vfs_read", "ret_ip")] {
        kernel.set("di", 299);
        let (_, program, record) = hit(definition, kernel);
        let event = ShownEvent {
            key: 1,
            group: b"g",
            name: b"e",
            layout: program.layout(),
        };
        let json = &mut Json::new();
        let object = parsed_with(json, &context(), event, &record, &mut Hostile);
        assert!(string(&object[key]).starts_with(b"a\"\xffx"), "{object}");
        if key == "ip" {
            assert_eq!(
                string(&object["args"]["s"]),
                [&b"a\"\xff"[..], &[b'x'; 299]].concat()
            );
        }
    }
}

#[test]
fn built_in_events_have_the_fields_of_their_formats() {
    let json = &mut Json::new();
    let mut record = vec![0; 16];
    assert!(marker::write_raw(
        &mut record,
        7,
        &[0xef, 0xbe, 0xad, 0xde, 1, 2, 0xff, 0]
    ));
    let object = parsed(json, &context(), builtin(&record), &record);
    assert_eq!(
        (&object["group"], &object["event"]),
        (&"ftrace".into(), &RAW_DATA.name.into())
    );
    assert_eq!(
        object["args"],
        serde_json::json!({"id": 0xdead_beef_u32, "buf": [1, 2, 255, 0]})
    );
    // Nothing behind the number.
    let object = parsed(json, &context(), builtin(&record), &record[..12]);
    assert_eq!(
        object["args"],
        serde_json::json!({"id": 0xdead_beef_u32, "buf": []})
    );

    let header = Header {
        event: 99,
        flags: 1,
        preempt_count: 2,
        pid: 7,
    };
    let mut record = [0; 40];
    let frames = [0x8010u64, 0x9999, 0];
    let frames: Vec<u8> = frames.into_iter().flat_map(u64::to_le_bytes).collect();
    assert_eq!(stack::length(&frames), record.len());
    stack::put(&mut record, header, &frames);
    let object = parsed(json, &context(), builtin(&record), &record);
    assert_eq!(object["event"], "kernel_stack");
    assert_eq!(
        object["args"],
        serde_json::json!({"caller": ["vfs_read+0x10/0x1000", "0x9999", "0"]})
    );

    let mut record = [0; stack::USER_LENGTH];
    stack::write_user(&mut record, header, 11, |out| out[..8].fill(0xff));
    let object = parsed(json, &context(), builtin(&record), &record);
    assert_eq!(object["event"], USER_STACK.name);
    assert_eq!(object["args"], serde_json::json!({"caller": [u64::MAX]}));
}

/// The text of what is no event is that of before.
#[test]
fn text_has_marks_for_what_is_no_event() {
    let mut lines = PrintedText::new();
    assert_eq!(text(|buf| lines.lost(buf, 3, 5)), "CPU:3 [LOST 5 EVENTS]\n");
    assert_eq!(
        text(|buf| lines.damaged(buf, 3, 2)),
        "# CPU 3: a record of 2 bytes\n"
    );
    let header = Header {
        event: 9,
        flags: 0,
        preempt_count: 0,
        pid: 7,
    };
    assert_eq!(
        text(|buf| lines.unknown(buf, header)),
        "# removed event 9\n"
    );
}
