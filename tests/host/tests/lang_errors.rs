// SPDX-License-Identifier: GPL-2.0

//! Every refusal: kind, and the column of its caret.

use crate::support;

use std::collections::BTreeSet;

use ferroprobe_engine::engine::definition::ast::DefinedProbe;
use ferroprobe_engine::engine::language::lex::Command;
use ferroprobe_engine::engine::record::numbers::Numbers;
use ferroprobe_engine::engine::refusal::error::{Errno, Error, Kind, Subject};
use support::{compile, Kernel};

/// Kinds that only the lookups around the language raise: a guest's selftest
/// must name the text of each.
const RAISED_ELSEWHERE: &[&str] = &[
    // The kernel's tracepoints.
    "NO_TRACEPOINT",
    // The symbol table and the placement judge.
    "NON_UNIQ_SYMBOL",
    "BAD_RETPROBE",
    "NEVER_RETURNS",
    "BAD_INSN_BNDRY",
    // The files of programs.
    "FILE_NOT_FOUND",
    "NO_REGULAR_FILE",
    "NO_FILE_SYMBOL",
    "OTHER_FILE",
    // Other events.
    "EVENT_IN_USE",
    "BAD_ATTACH_ARG",
    "BAD_ATTACH_EVENT",
    "ATTACHED_TOO_DEEP",
    "EVENT_EXISTS",
    // Registration.
    "FAIL_REG_PROBE",
    "NO_WATCHPOINT",
    "NOSUP_WATCH",
    "EVENT_EXIST",
    // See appended_probes_must_fit.
    "DIFF_PROBE_TYPE",
    "DIFF_ARG_TYPE",
    "SAME_PROBE",
    "NO_SUCH_EVENT",
    "AMBIGUOUS_EVENT",
    "EVENT_BUSY",
    "OTHER_OWNER",
    "FILTER_LOST",
    // The words of the line.
    "TOO_MANY_ARGS",
    // The events of an instance: the others are in lang_trigger.rs.
    "TRIGGER_EXIST",
    "TRIGGER_EVENT_NOT_FOUND",
];

/// Refusals of values for files that no row of `tests/data/mistakes` raises: they need more
/// than one write, or a kernel of its own.
const OF_FILES_ELSEWHERE: &[&str] = &[
    // mapped.tc
    "FILE_MAPPED",
    // mistakes.tc, behind the table.
    "FILE_GONE",
    "FILE_TOO_LONG",
    // Not raised by a test: a file that is open when the kernel is locked down, and a kernel
    // that fails to arm a probe.
    "FILE_LOCKED",
    "FILE_FAILED",
];

const MISTAKES: &str = include_str!("../../data/mistakes");

/// Fails for a kind of a file's refusals without a row in `tests/data/mistakes`.
#[test]
fn every_refusal_of_a_value_is_among_the_mistakes() {
    let of_files = |kind: &&Kind| kind.subject() == Subject::File;
    for kind in Kind::ALL.iter().filter(of_files) {
        let words = format!("\t{}", kind.text());
        let is_elsewhere = OF_FILES_ELSEWHERE.contains(&kind.name());
        assert_ne!(MISTAKES.contains(&words), is_elsewhere, "{}", kind.name());
    }
}

/// Each mistake's words go on behind the text of the kind: they name a remedy.
#[test]
fn every_mistake_has_a_remedy() {
    let rows = MISTAKES
        .lines()
        .filter(|l| !l.is_empty() && !l.starts_with('#'));
    let mut mistakes = 0;
    for row in rows {
        let columns: Vec<_> = row.split('\t').collect();
        let [needs, _, _, words] = columns[..] else {
            panic!("not four columns: {row}");
        };
        let needs = needs.strip_prefix("btf+").unwrap_or(needs);
        let known = [
            "any",
            "btf",
            "net",
            "points",
            "functions",
            "cgroups",
            "x86_64",
            "arm64",
        ];
        assert!(known.contains(&needs), "{row}");
        mistakes += usize::from(words != "@accepted");
    }
    assert!(mistakes >= 150, "only {mistakes} mistakes");
}

/// Refusals that no line of the tables raises.
fn raised_here() -> Vec<Error> {
    let long = [b"p vfs_read ", &[b'x'; 4096][..]].concat();
    vec![
        Command::new(&long).expect_err("a line that is too long"),
        Command::new(b"p vfs_read\0").expect_err("a NUL"),
        support::compile_failing("p vfs_read a=%ax", &mut Kernel::default(), 0)
            .expect_err("no memory"),
        numbers_are_taken(),
    ]
}

/// The refusal of an event when there are as many as there are numbers.
fn numbers_are_taken() -> Error {
    let mut numbers = Numbers::new().expect("memory");
    while numbers.take().is_ok() {}
    numbers.take().expect_err("all are taken")
}

/// The judge of places, whose cases are in a table of its own, raises it.
const BY_THE_JUDGE: (&str, &str) = ("BAD_PLACE", "the kernel would accept it");

fn cases(data: &str) -> Vec<(String, usize, String)> {
    let lines = data
        .lines()
        .filter(|l| !l.is_empty() && !l.starts_with('#'));
    lines
        .map(|line| {
            let (kind, command) = line.split_once(' ').expect("KIND COMMAND");
            let marked = command.trim_start();
            let caret = marked.find('^').expect("a caret");
            (kind.to_string(), caret, marked.replacen('^', "", 1))
        })
        .collect()
}

const PLAIN: &str = include_str!("../../data/lang-errors.txt");
const WITH_BTF: &str = include_str!("../../data/lang-errors-btf.txt");

fn check(data: &str, mut kernel: Kernel) {
    for (kind, caret, command) in cases(data) {
        let error = compile(&command, &mut kernel).expect_err(&command);
        assert_eq!(error.kind.name(), kind, "{command}");
        assert_eq!(error.at, caret, "{kind}: {command}");
    }
}

#[test]
fn every_refusal_has_its_kind_and_caret() {
    check(PLAIN, Kernel::default());
}

#[test]
fn every_refusal_by_type_has_its_kind_and_caret() {
    check(
        WITH_BTF,
        Kernel {
            blob: Some(support::btf::sample()),
            ..Kernel::default()
        },
    );
}

/// The expressions that `words` tell to write in place of an argument.
fn advised(words: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, start) in words.match_indices("write ") {
        let mut rest = &words[at + start.len()..];
        for end in [
            ": ",
            ", ",
            " for ",
            " behind ",
            " (",
            " of ",
            " or ",
            " instead ",
        ] {
            rest = rest.split(end).next().unwrap_or(rest);
        }
        let is_expression = rest.starts_with(['$', '@', '%', '+', '(']) || rest.contains("->");
        // What is in capitals stands for something.
        let stands = [
            "NAME", "OFFSET", "ADDRESS", "VALUE", "SYMBOL", "MEMBER", "argN", "CPU]", "VARIABLE",
        ];
        let is_open = stands.iter().any(|word| rest.contains(word)) || rest.contains("...");
        let is_part = rest.starts_with("->") || rest.starts_with("%p");
        if is_expression && !is_open && !is_part {
            found.push(rest.to_string());
        }
    }
    found
}

/// A refusal that tells what to write instead is of no use if that is refused, too.
#[test]
fn what_a_refusal_tells_to_write_is_accepted() {
    let (mut count, mut wrong) = (0, Vec::new());
    for (data, blob) in [(PLAIN, None), (WITH_BTF, Some(support::btf::sample()))] {
        for (_, caret, command) in cases(data) {
            let mut kernel = Kernel {
                blob: blob.clone(),
                ..Kernel::default()
            };
            let error = compile(&command, &mut kernel).expect_err(&command);
            let words = String::from_utf8_lossy(error.detail()).into_owned();
            for advice in advised(&words) {
                let caret = caret.min(command.len());
                let start = command[..caret].rfind(' ').map_or(0, |at| at + 1);
                let end = command[caret..]
                    .find(' ')
                    .map_or(command.len(), |at| caret + at);
                let (before, argument) = command[..end].split_at(start);
                let name = argument.find('=').map_or("", |at| &argument[..=at]);
                let ty = argument.rfind(':').map_or("", |at| &argument[at..]);
                let ty = if advice.contains(':') { "" } else { ty };
                let told = format!("{before}{name}{advice}{ty}{}", &command[end..]);
                if let Err(error) = compile(&told, &mut kernel) {
                    let again = String::from_utf8_lossy(error.detail()).into_owned();
                    let kind = error.kind.name();
                    wrong.push(format!("{command}: {words}: but {told}: {kind} {again}"));
                }
                count += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(count >= 8, "only {count}");
}

/// The lines of the guests' selftests that ask for a refusal.
fn selftests() -> Vec<String> {
    let table = support::selftests::folder().join("refusals.txt");
    let mut lines = Vec::new();
    for path in support::selftests::by_name().into_values().chain([table]) {
        let is_table = path.ends_with("refusals.txt");
        let text = std::fs::read_to_string(&path).expect("text");
        let asks = |line: &str| {
            let words = ["expect_refused ", "expect_line "];
            is_table || words.iter().any(|word| line.starts_with(word))
        };
        let text = text.lines().map(str::trim_start);
        lines.extend(text.filter(|line| asks(line)).map(str::to_string));
    }
    lines
}

/// Fails for a kind of the table in `error.rs` that no test raises.
#[test]
fn every_kind_has_a_test() {
    let all = cases(PLAIN).into_iter().chain(cases(WITH_BTF));
    let tested: BTreeSet<_> = all.map(|(kind, ..)| kind).collect();
    let (selftests, here) = (selftests(), raised_here());
    for kind in Kind::ALL.iter().filter(|kind| {
        !matches!(
            kind.subject(),
            Subject::Filter | Subject::Histogram | Subject::File
        )
    }) {
        let name = kind.name();
        if kind.subject() == Subject::Trigger && !RAISED_ELSEWHERE.contains(&name) {
            continue;
        }
        let places = [
            tested.contains(name),
            RAISED_ELSEWHERE.contains(&name),
            here.iter().any(|error| error.kind == *kind),
            name == BY_THE_JUDGE.0,
        ];
        let count = places.into_iter().filter(|is| *is).count();
        assert_eq!(count, 1, "{name} is tested in {count} ways, not one");
        if RAISED_ELSEWHERE.contains(&name) {
            let errno = kind.errno().0.to_string();
            let asks = |line: &String| {
                let is_errno = line.starts_with("expect_line") || line.contains(&errno);
                is_errno && line.contains(kind.text())
            };
            assert!(selftests.iter().any(asks), "no selftest raises {name}");
        }
    }
    let judged = include_str!("../../data/placement.txt");
    assert!(judged.contains(BY_THE_JUDGE.1), "no case for BAD_PLACE");
}

#[test]
fn too_many_arguments_are_refused() {
    let many = |n: usize| {
        let args = (0..n).fold(String::new(), |args, i| args + &format!(" a{i}=%ax:u8"));
        format!("p vfs_read{args}")
    };
    assert!(compile(&many(128), &mut Kernel::default()).is_ok());
    let error = compile(&many(129), &mut Kernel::default()).expect_err("129 arguments");
    assert_eq!((error.kind, error.at), (Kind::TooManyArgs, 11));
    assert_eq!(error.errno, Errno::E2BIG);
}

#[test]
fn argument_zero_is_explained() {
    let error = compile("p vfs_read $arg0", &mut Kernel::default()).expect_err("$arg0");
    assert_eq!(error.detail(), b"arguments count from $arg1");
}

#[test]
fn a_misspelt_data_symbol_is_explained() {
    for (fetcharg, detail) in [
        (
            "@jifies",
            "there is no symbol jifies, did you mean jiffies?",
        ),
        (
            "+0(@jiffies_65+8)",
            "there is no symbol jiffies_65, did you mean jiffies_64?",
        ),
        ("@nothing", "there is no symbol nothing, see /proc/kallsyms"),
    ] {
        let line = format!("p vfs_read {fetcharg}");
        let error = compile(&line, &mut Kernel::default()).expect_err(&line);
        assert_eq!(error.kind, Kind::NoDataSymbol);
        assert_eq!(String::from_utf8_lossy(error.detail()), detail);
    }
}

#[test]
fn what_is_known_from_elsewhere_is_translated() {
    let p =
        |name: &str| format!("p takes one symbol: write f {name} for the entries of all functions");
    for (line, kind, detail) in [
        ("p vfs_*", Kind::BadProbeAddr, &*p("vfs_*")),
        (
            "p vfs_read,vfs_write+4",
            Kind::BadProbeAddr,
            &p("vfs_read,vfs_write"),
        ),
        (
            "r vfs_*",
            Kind::BadProbeAddr,
            "r takes one symbol: write f vfs_*%return for the returns of all functions",
        ),
        (
            "p:ev vfs_*%return",
            Kind::BadProbeAddr,
            "p takes one symbol: write f vfs_*%return for the returns of all functions",
        ),
        (
            "p vfs_read $stack1->f_mode",
            Kind::BadVar,
            "$stack1 has no type: write (struct NAME *)$stack1->f_mode",
        ),
        (
            "p vfs_read %di->f_mode",
            Kind::BadRegName,
            "a register has no type: write (struct NAME *)%di->f_mode",
        ),
        (
            "p vfs_read +8(%di)->f_mode",
            Kind::BadFetchArg,
            "it has no type: write (struct NAME *)+8(%di)->f_mode",
        ),
        (
            "p vfs_read (struct file **)%di->f_mode",
            Kind::NoPtrStrct,
            "a cast is to a structure: write (struct NAME *)",
        ),
        (
            "p vfs_read (unsigned long *)%di->f_mode",
            Kind::NoPtrStrct,
            "a cast is to a structure: write (struct NAME *)",
        ),
        (
            "p vfs_read (struct file)%di.f_mode",
            Kind::NosupDatArg,
            "the value is an address: write ->f_mode",
        ),
        (
            "p vfs_read file->f_path.dentry.d_flags",
            Kind::BadBtfTid,
            "f_path.dentry is a pointer: write f_path.dentry->d_flags",
        ),
        (
            "p vfs_read file->f_mnt->x",
            Kind::NoBtfField,
            "it is a macro, or a member of a member: write f_path.mnt",
        ),
        (
            "p vfs_read $current->sk_node.next",
            Kind::NoBtfField,
            "it is a macro, or a member of a member: write se.group_node",
        ),
        (
            "p take sk->next",
            Kind::NoBtfField,
            "it is a macro, or a member of a member: write __sk_common.next",
        ),
        (
            "p take sk->inet_dport",
            Kind::NoBtfField,
            "it is a macro, or a member of a member: write __sk_common.skc_dport",
        ),
        (
            "p take bag->items[3].first",
            Kind::BadArrayNum,
            "the last element is [2]",
        ),
        (
            "p take bag->items[i].first",
            Kind::BadArrayNum,
            "an element is written by its number",
        ),
        (
            "p take bag->low[0]",
            Kind::NoPtrStrct,
            "it is no array, or of no known size: write +OFFSET(...), with the offset of the \
             element in bytes",
        ),
        (
            "p take pairs.first",
            Kind::NosupDatArg,
            "write pairs->first",
        ),
        (
            "p take @jiffies[0]",
            Kind::NoPtrStrct,
            "the kernel's types do not tell of it: write @jiffies+OFFSET, with the offset of the \
             element in bytes",
        ),
        (
            "p take @jiffies->x",
            Kind::NoPtrStrct,
            "the kernel's types do not tell of it: write (struct NAME *)@jiffies->x",
        ),
        (
            "p take @0x1000->x",
            Kind::BadMemAddr,
            "an address has no type: write (struct NAME *)(@0x1000)->x",
        ),
        (
            "p take @runqueues->nr_running",
            Kind::NoPtrStrct,
            "each CPU has one: write @runqueues[CPU].nr_running, or \
             this_cpu_ptr(@runqueues)->nr_running",
        ),
        (
            "p take @current_bag->low",
            Kind::NoPtrStrct,
            "each CPU has one: write @current_bag[CPU]->low, or this_cpu_read(@current_bag)->low",
        ),
        (
            "p take @runqueues[4].nr_running",
            Kind::BadArrayNum,
            "the last CPU is 3",
        ),
        (
            "p take @runqueues[cpu].nr_running",
            Kind::BadArrayNum,
            "it is the number of a CPU: write this_cpu_ptr(@runqueues) for this one",
        ),
    ] {
        let mut kernel = Kernel {
            blob: Some(support::btf::sample()),
            ..Kernel::default()
        };
        let error = compile(line, &mut kernel).expect_err(line);
        assert_eq!(
            (error.kind, &*String::from_utf8_lossy(error.detail())),
            (kind, detail),
            "{line}"
        );
    }
}

/// Compiles `command`, failing each allocation in turn.
fn survive(command: &str, blob: Option<Vec<u8>>, least: usize) {
    let mut kernel = Kernel {
        blob,
        ..Kernel::default()
    };
    for n in 0.. {
        let result = support::compile_failing(command, &mut kernel, n);
        match result {
            Ok(_) => {
                assert!(n > least, "only {n} allocations: {command}");
                break;
            }
            Err(error) => assert_eq!(error.kind, Kind::NoMemory, "allocation {n}"),
        }
    }
}

#[test]
fn every_failed_allocation_is_survived() {
    survive(
        "r10:g/e vfs_read+0 a=$arg1 b=+0(%di):string c=\\\"x\" d=$comm e=+4(%si):u8[4]",
        None,
        20,
    );
    let members = "p vfs_read $arg* m=(file)%di->f_path.dentry->d_name.name:string $current->pid";
    survive(members, Some(support::btf::sample()), 30);
}

#[test]
fn texts_are_unique() {
    let texts: BTreeSet<_> = Kind::ALL.iter().map(|kind| kind.text()).collect();
    assert_eq!(texts.len(), Kind::ALL.len());
    let names: BTreeSet<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
    assert_eq!(names.len(), Kind::ALL.len());
    assert_eq!(Error::new(Kind::BadInsnBndry, 0).errno, Errno::EILSEQ);
}

/// Appends `marked` to an event with the probes `existing`; the caret marks
/// where the refusal goes, if there is one.
fn append(existing: &[&str], marked: &str) -> Result<(), Kind> {
    let mut kernel = Kernel::default();
    let text = marked.replacen('^', "", 1);
    let (definition, program) = compile(&text, &mut kernel).expect(&text);
    let others: Vec<_> = existing
        .iter()
        .map(|e| compile(e, &mut kernel).expect(e))
        .collect();
    let mut probes = others.iter().map(|(d, p)| DefinedProbe {
        definition: d,
        layout: p.layout(),
    });
    let command = Command::new(text.as_bytes()).expect(&text);
    let result = definition.check_append(program.layout(), &command, &mut probes);
    if let Err(error) = &result {
        assert_eq!(Some(error.at), marked.find('^'), "{marked}");
        assert_eq!(error.errno, Errno::EEXIST);
    }
    result.map_err(|error| error.kind)
}

#[test]
fn appended_probes_must_fit() {
    let one = ["p:e fork abcd=\\1"];
    assert_eq!(append(&["p:e fork"], "^r:e exit"), Err(Kind::DiffProbeType));
    assert_eq!(append(&one, "p:e fork ^bcd=\\1"), Err(Kind::DiffArgType));
    assert_eq!(
        append(&one, "p:e fork ^abcd=\\1:u8"),
        Err(Kind::DiffArgType)
    );
    assert_eq!(
        append(&one, "p:e fork ^abcd=\\\"foo\""),
        Err(Kind::DiffArgType)
    );
    assert_eq!(
        append(&one, "p:e fork abcd=\\1 ^x=\\1"),
        Err(Kind::DiffArgType)
    );
    assert_eq!(append(&one, "p:e fork ^"), Err(Kind::DiffArgType));
    assert_eq!(append(&one, "^p:e fork abcd=\\1"), Err(Kind::SameProbe));
    assert_eq!(
        append(&["p:e fork a=%ax:u8"], "p:e fork ^a=+0(%ax):u8[2]"),
        Err(Kind::DiffArgType)
    );
    assert_eq!(append(&one, "p:e fork abcd=\\2"), Ok(()));
    assert_eq!(append(&one, "p:e exit abcd=\\1"), Ok(()));
    // Whether an argument can fail does not matter.
    assert_eq!(
        append(&["p:e fork a=%ax:u8"], "p:e fork a=+0(%ax):u8"),
        Ok(())
    );
    assert_eq!(
        append(&["p:e f a=%ax", "p:e g a=%ax"], "^p:e g a=%ax"),
        Err(Kind::SameProbe)
    );
}

/// What bpftrace, perf probe and C write, and a part of what its refusal says. The selftest
/// foreign-words writes more of it, and what is suggested.
#[test]
fn words_of_other_tools_lead_on() {
    for (written, words) in [
        ("p vfs_read:11", "ferroprobe define 'vfs_read:11' prints"),
        ("vfs_read:11", "ferroprobe define 'vfs_read:11' prints"),
        ("kprobe:vfs_read { }", "here it is p vfs_read, and a hist"),
        ("kretprobe:vfs_read", "here it is r vfs_read"),
        ("fexit:vfs_read", "here it is f vfs_read%return"),
        ("tracepoint:sched:sched_switch", "here it is t sched_switch"),
        ("uprobe:/bin/x:y", "in uprobe_events it is p /bin/x:y"),
        ("uretprobe:/bin/x:y", "in uprobe_events it is r /bin/x:y"),
        (
            "usdt:/bin/x:y:z",
            "in uprobe_events it is p usdt:/bin/x:y:z",
        ),
        ("vfs_read%return a=%ax", "write r vfs_read a=%ax"),
        ("vfs_*", "write f vfs_*"),
        ("F vfs_read", "letters are small: f"),
        ("b:x sched_switch a.b", "did you mean sched.sched_switch?"),
        ("b:x a:b a.b", "a dot, not a colon: a.b, as in b:NAME"),
        ("b vfs_read vfs_read%return", "write r vfs_read $duration"),
        (
            "e:x events",
            "write e:NAME GROUP.EVENT, see available_events",
        ),
        ("p:g/e vfs_read a=%ax<5", "write it to events/g/e/filter"),
        ("p vfs_read *%ax", "write +0(%ax) for what it points to"),
        ("p vfs_read $name", "; a parameter has no $: name"),
        ("p vfs_read %ax:long", "did you mean s64?"),
    ] {
        let error = compile(written, &mut Kernel::default()).expect_err(written);
        let said = String::from_utf8(error.detail().to_vec()).expect("text");
        assert!(said.contains(words), "{written}: {said}");
    }
    // The details of what is no word of others stay.
    for written in ["px vfs_read", "p vfs_read this_cpu_read(@", "p vfs_read &1"] {
        let error = compile(written, &mut Kernel::default()).expect_err(written);
        assert_eq!(error.detail(), b"", "{written}");
    }
}
