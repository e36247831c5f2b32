// SPDX-License-Identifier: GPL-2.0

//! Definitions for files of both architectures, executables and objects: what they have in common
//! whatever the compiler does.

mod support;

use ferroprobe_tools::lines::{find, list};
use ferroprobe_tools::session::Session;
use ferroprobe_tools::trace::plan::Plan;
use std::collections::BTreeSet;
use support::{compile, define, with};

const COMPILERS: [&str; 2] = ["x86_64-linux-gnu-gcc", "aarch64-linux-gnu-gcc"];

/// The definitions of `text`, all of them.
fn lines(session: &Session<'_>, text: &str) -> Vec<String> {
    let found = define(session, text).unwrap_or_else(|refusal| panic!("{text}: {refusal}"));
    assert_eq!(found.refused, [""; 0], "{text}");
    found.lines
}

/// Why `text` is refused.
fn refusal(session: &Session<'_>, text: &str) -> String {
    match define(session, text) {
        Err(refusal) => refusal.to_string(),
        Ok(found) => {
            assert_eq!(found.lines, [""; 0], "{text}");
            found.refused.join("\n")
        }
    }
}

fn for_each_object(work: impl Fn(&str, &Session<'_>)) {
    for compiler in COMPILERS {
        let object = compile(compiler, "shapes.c", &["-O2", "-c", "-ffreestanding"]);
        with(&object.path, |session| work(compiler, session));
    }
}

#[test]
fn parameters_are_in_the_registers_of_the_calling_convention() {
    for_each_object(|compiler, session| {
        let found = lines(
            session,
            "entry number pointer->d text=pointer->text:string flag",
        );
        let (first, second, third) = match compiler.starts_with("x86") {
            true => ("%di", "%si", "%dx"),
            false => ("%x0", "%x1", "%x2"),
        };
        let expected = format!(
            "p:e test:entry number={first}:s32 d=+16({second}):s64 text=+24({second}):string \
             flag={third}:b1@0/8"
        );
        assert_eq!(found, [expected], "{compiler}");
    });
}

#[test]
fn members_are_found_through_pointers_arrays_and_unnamed_structures() {
    for_each_object(|_, session| {
        for (text, fetched) in [
            ("pointer->bits", "+8(REG):b3@2/8"),
            ("pointer->wide", "+8(REG):b9@5/16"),
            ("pointer->a", "+0(REG):u8"),
            ("pointer->unnamed", "+12(REG):u32"),
            ("pointer->next->next->c", "+4(+40(+40(REG))):s32"),
            ("pointer->table[2]", "+52(REG):u16"),
            ("pointer->grid[1][2]", "+61(REG):u8"),
            ("pointer->table:u16[4]", "+48(REG):u16[4]"),
            ("pointer[1].c", "+100(REG):s32"),
            ("pointer->d:u8", "+16(REG):u8"),
            ("pointer->next", "+40(REG):x64"),
            ("pointer->next->d@user", "+u16(+40(REG)):s64"),
            ("pointer->text[1]:char", "+25(REG):char"),
            ("pointer->c", "+4(REG):s32"),
        ] {
            let found = lines(session, &format!("entry x={text}"));
            let found = found[0].split(" x=").nth(1).expect("an argument");
            let found = found.replace("%si", "REG").replace("%x1", "REG");
            assert_eq!(found, fetched, "{text}");
        }
    });
}

#[test]
fn what_cannot_be_fetched_is_refused_with_the_reason() {
    for_each_object(|_, session| {
        for (text, reason) in [
            ("nowhere", "no function nowhere has code"),
            ("entri", "did you mean entry?"),
            ("entry:999", "no statement of this line has code"),
            ("entry%inlined", "inlined nowhere"),
            ("always", "always%inlined"),
            ("entry other", "no variable other"),
            ("entry pointer->no", "struct shape has no member no"),
            ("entry pointer.d", "write ->d"),
            ("entry number->d", "no pointer"),
            ("entry number.d", "no structure"),
            ("entry number[1]", "neither an array nor a pointer"),
            ("entry pointer->signed_bits", "bit field with a sign"),
            ("entry pointer->table[9]", "it has 4 elements"),
            ("entry pointer->table", "it is an array"),
            ("entry pointer[0]", "it is a structure"),
            ("entry number:u64", "it has 4 bytes, fewer than u64"),
            ("entry number:string", "it is no text"),
            ("entry pointer->real", "floating-point"),
            ("entry pointer->big", "16 bytes"),
            ("entry pointer->opaque->x", "no definition"),
            ("entry pointer->nothing->x", "void pointer"),
            ("entry pointer->table:u16[5]", "8 bytes, fewer"),
        ] {
            let found = refusal(session, text);
            assert!(found.contains(reason), "{text}: {found}");
            assert!(!found.contains('\n'), "{text}: {found}");
        }
    });
}

#[test]
fn an_inlined_function_is_one_event_with_a_probe_wherever_it_is() {
    for_each_object(|compiler, session| {
        let found = lines(session, "always%inlined value");
        assert_eq!(found.len(), 3, "{compiler}: {found:?}");
        let functions: Vec<_> = found
            .iter()
            .map(|line| line.split(' ').nth(1).expect("a location"))
            .map(|place| place.split('+').next().expect("a name").to_string())
            .collect();
        for function in ["test:first", "test:second", "test:third"] {
            assert!(functions.iter().any(|found| found == function), "{found:?}");
        }
        // A line of it is there as well.
        assert!(lines(session, "always:2").len() >= 3);
    });
}

#[test]
fn a_function_that_is_inlined_in_two_parts_begins_once() {
    for compiler in COMPILERS {
        let object = compile(compiler, "parts.c", &["-O2", "-c", "-ffreestanding"]);
        with(&object.path, |session| {
            let function = find::function(session, "slot_of", None).expect("a function");
            let count = function.instances.len();
            assert!(count > 3, "{compiler} does not split it: {count} instances");
            for text in ["slot_of%inlined", "slot_of:0"] {
                let found = lines(session, text);
                let places = found.iter().filter_map(|line| line.split(' ').nth(1));
                let mut functions: Vec<_> = places
                    .map(|place| place.split('+').next().expect("a name"))
                    .collect();
                functions.sort_unstable();
                let expected = ["test:first", "test:second", "test:third"];
                assert_eq!(functions, expected, "{compiler}: {text}: {found:?}");
            }
        });
    }
}

#[test]
fn lines_that_are_listed_are_those_that_can_be_defined() {
    let (mut listed, mut refused) = (0, 0);
    for compiler in ["gcc", "clang"] {
        let object = compile(compiler, "values.c", &["-O2", "-c"]);
        with(&object.path, |session| {
            for name in session.index.functions() {
                let function = find::function(session, name, None).expect(name);
                let lines = list::of_function(session, &function).expect(name);
                let last = find::by_line(session, &function).expect(name);
                let last = last.keys().next_back().copied().unwrap_or(function.line);
                for line in function.line..=last {
                    let text = format!("{name}:{}", line - function.line);
                    let found = define(session, &text).map_or(0, |found| found.lines.len());
                    let expected = lines.get(&line).map_or(0, BTreeSet::len);
                    assert_eq!(found, expected, "{compiler}: {text}");
                    listed += expected;
                    refused += usize::from(define(session, &text).is_ok() && found == 0);
                }
            }
        });
    }
    assert!(listed > 300 && refused > 0, "{listed}, {refused}");
}

#[test]
fn two_functions_of_one_name_are_told_apart_by_their_files() {
    let objects = ["twin1.c", "twin2.c"].map(|file| support::programs().join(file));
    let objects = objects.map(|path| path.to_string_lossy().into_owned());
    let compiled = compile(
        "gcc",
        "shapes.c",
        &["-O2", "-no-pie", "-DMAIN", &objects[0], &objects[1]],
    );
    with(&compiled.path, |session| {
        let found = refusal(session, "twin");
        assert!(
            found.contains("2 functions are called twin: write twin@"),
            "{found}"
        );
        let found = define(session, "twin@twin2.c value").expect("a definition");
        // Their symbols are not: a kernel has _text to count from, a program has not.
        assert_eq!(found.lines, [""; 0]);
        assert!(
            found.refused[0].contains("several symbols are called twin"),
            "{found:?}"
        );
    });
}

#[test]
fn variables_that_gcc_did_not_follow_are_refused() {
    let flags = [
        "-O2",
        "-c",
        "-ffreestanding",
        "-fno-var-tracking-assignments",
    ];
    let object = compile("gcc", "shapes.c", &flags);
    with(&object.path, |session| {
        let found = refusal(session, "entry number");
        assert!(found.contains("-fno-var-tracking-assignments"), "{found}");
    });
}

#[test]
fn compressed_debug_sections_are_read() {
    for flag in ["-gz=zlib", "-gz=zstd"] {
        let object = compile("gcc", "shapes.c", &["-O2", "-c", "-ffreestanding", flag]);
        with(&object.path, |session| {
            assert_eq!(
                lines(session, "entry number"),
                ["p:e test:entry number=%di:s32"]
            );
        });
    }
}

#[test]
fn what_is_traced_is_found_in_the_source() {
    for_each_object(|compiler, session| {
        let written = [
            "always%inlined value if value > 1K",
            "entry:2 number",
            "always",
            "r entry $retval",
        ];
        let mut plan = Plan::new(&written.map(String::from)).expect("a plan");
        assert!(plan.needs_source() && plan.may_be_inlined());
        let notes = plan
            .resolve(session, Some("test"), false)
            .expect("locations");
        assert_eq!(notes.refused, [], "{compiler}");
        assert!(
            notes.said[0].starts_with("always is inlined at 3 places"),
            "{:?}",
            notes.said
        );
        assert_eq!(notes.said.len(), 1);
        let text = plan.events[0].text(|_| None);
        let lines: Vec<&str> = text.text().lines().collect();
        let name = format!("p:{}/always_inlined test:", plan.events[0].group);
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(
            lines.iter().all(|line| line.starts_with(&name)),
            "{lines:?}"
        );
        assert!(plan.events[1]
            .text(|_| None)
            .text()
            .contains("/entry_2 test:entry"));
        let mut plan = Plan::new(&["always%inlined nothing".to_string()]).expect("a plan");
        let notes = plan
            .resolve(session, Some("test"), true)
            .expect("locations");
        assert!(
            notes.refused[0].reason.contains("no variable nothing"),
            "{:?}",
            notes.refused
        );
    });
}
