// SPDX-License-Identifier: GPL-2.0

//! The targets: what must hold for every input.

use std::cell::Cell;

use ferroprobe_engine::engine::code::arch::{self, Arch};
use ferroprobe_engine::engine::definition::ast::{Definition, Place, Request};
use ferroprobe_engine::engine::definition::kind::ProbeKind;
use ferroprobe_engine::engine::definition::parse;
use ferroprobe_engine::engine::definition::task::TaskNumber;
use ferroprobe_engine::engine::filter::{Filter, Hit, LookupFunctions};
use ferroprobe_engine::engine::hist::{
    self, Emit, EmittedValues, Heading, HistScope, Histogram, InterEventRoom,
    KeyNames as HistNames, KnownHistogram, Moment, Printing, ProbeHit, SynthField, ValueSort,
    STACK_DEPTH,
};
use ferroprobe_engine::engine::language::lex::{self, Command};
use ferroprobe_engine::engine::language::trigger;
use ferroprobe_engine::engine::print::{ShownEvent, SymbolNames, TextLines};
use ferroprobe_engine::engine::program::btf::{Btf, Index};
use ferroprobe_engine::engine::program::exec::{self, Arguments, Memory};
use ferroprobe_engine::engine::program::fetch::{
    self, CpuInstance, PathOffsets, Program, Size, Symbols, Target,
};
use ferroprobe_engine::engine::record::format;
use ferroprobe_engine::engine::record::{self, Header, Layout};
use ferroprobe_engine::engine::refusal::suggest::distance::Nearest;
use ferroprobe_engine::engine::util::seq_buf::{SeqBuf, TextBuf};
use ferroprobe_engine::sys::{self, OnCpu, PerCpu};

/// A target.
pub struct Fuzz {
    name: &'static str,
    /// Panics where something does not hold.
    pub run: fn(&[u8]),
    /// What inputs are made from.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

const TARGETS: [Fuzz; 5] = [
    Fuzz {
        name: "definitions_are_survived_and_listed",
        run: definitions,
        seeds: definition_seeds,
    },
    Fuzz {
        name: "filters_end",
        run: filters,
        seeds: filter_seeds,
    },
    Fuzz {
        name: "histograms_are_survived_and_listed",
        run: histograms,
        seeds: histogram_seeds,
    },
    Fuzz {
        name: "triggers_are_survived",
        run: triggers,
        seeds: trigger_seeds,
    },
    Fuzz {
        name: "type_information_is_not_trusted",
        run: types,
        seeds: type_seeds,
    },
];

/// The target called `name`.
pub fn by_name(name: &str) -> Option<&'static Fuzz> {
    TARGETS.iter().find(|target| target.name == name)
}

/// All names.
pub fn names() -> impl Iterator<Item = &'static str> {
    TARGETS.iter().map(|target| target.name)
}

/// The text behind the first word of each line, without carets.
fn second_column(data: &str) -> Vec<Vec<u8>> {
    let lines = data
        .lines()
        .filter(|l| !l.is_empty() && !l.starts_with('#'));
    let text = |line: &str| {
        let (_, text) = line.split_once(' ')?;
        Some(text.trim_start().replace('^', "").into_bytes())
    };
    lines.filter_map(text).collect()
}

fn definition_seeds() -> Vec<Vec<u8>> {
    let mut seeds = second_column(include_str!("../../data/lang-errors.txt"));
    seeds.extend(second_column(include_str!(
        "../../data/lang-errors-btf.txt"
    )));
    let good = include_str!("../../data/lang-good.txt").lines();
    let good = good.filter(|l| !l.is_empty() && !l.starts_with('#'));
    for _ in 0..3 {
        seeds.extend(good.clone().map(|line| line.as_bytes().to_vec()));
    }
    seeds
}

fn filter_seeds() -> Vec<Vec<u8>> {
    second_column(include_str!("../../data/lang-filters.txt"))
}

fn histogram_seeds() -> Vec<Vec<u8>> {
    second_column(include_str!("../../data/lang-hist.txt"))
}

fn type_seeds() -> Vec<Vec<u8>> {
    // The kernel's own is too large to be copied for each input.
    vec![include_bytes!("../seeds/types.btf").to_vec()]
}

/// Memory that reads as its address, with holes.
struct Machine {
    reads: Cell<u64>,
}

impl Arguments for Machine {
    fn reg(&self, index: u8) -> u64 {
        u64::from(index) << 12
    }

    fn stack(&self, n: u16) -> u64 {
        u64::from(n)
    }

    fn return_address(&self) -> u64 {
        0x8888
    }

    fn entry_data(&self, n: u16) -> u64 {
        u64::from(n)
    }
}

impl Memory for Machine {
    fn comm(&self) -> [u8; 16] {
        *b"fifteen letters\0"
    }

    fn current(&self) -> u64 {
        0x7000
    }

    fn task(&self, which: TaskNumber) -> u64 {
        match which {
            TaskNumber::Cgroup => 0x1_0000_0077,
            _ => 0x77,
        }
    }

    fn read_cgroup(&self, skip: usize, out: &mut [u8]) -> Option<usize> {
        let path = b"/user.slice/session-1.scope\0";
        let rest = path.get(skip..)?;
        let length = rest.len().min(out.len());
        out[..length].copy_from_slice(&rest[..length]);
        Some(length)
    }

    fn now(&self) -> u64 {
        0x9000
    }

    fn this_cpu(&self, address: u64) -> u64 {
        address ^ 0x40
    }

    fn read(&self, address: u64, out: &mut [u8]) -> bool {
        self.reads.set(self.reads.get() + 1);
        out.fill(address as u8);
        address & 0x300 != 0x300
    }

    fn read_user(&self, address: u64, out: &mut [u8]) -> bool {
        self.read(address, out)
    }

    fn read_string(&self, address: u64, _user: bool, out: &mut [u8]) -> Option<usize> {
        if !self.read(address, out) {
            return None;
        }
        let length = (address as usize & 0x1fff).min(out.len());
        if let Some(last) = length.checked_sub(1) {
            out[last] = 0;
        }
        Some(length)
    }

    fn read_symbol(&self, address: u64, _skip: usize, out: &mut [u8]) -> Option<usize> {
        self.read_string(address, false, out)
    }
}

impl SymbolNames for &Machine {
    fn symbolize(&mut self, address: u64, _with_offset: bool, buf: &mut SeqBuf<'_>) {
        buf.hexadecimal(address);
    }
}

struct KeyNames;

impl Symbols for KeyNames {
    fn address(&mut self, name: &[u8]) -> Option<u64> {
        (name.len() % 7 != 0).then_some(0x4000)
    }

    fn is_per_cpu(&mut self, address: u64) -> bool {
        address & 1 == 0
    }

    fn of_cpu(&mut self, address: u64, cpu: u32) -> CpuInstance {
        match cpu {
            0..4 => CpuInstance::At(address.wrapping_add(u64::from(cpu) << 16)),
            _ => CpuInstance::Last(3),
        }
    }

    fn each_similar_data(&mut self, nearest: &mut Nearest<'_>) {
        nearest.consider_symbol(b"jiffies");
    }
}

impl LookupFunctions for KeyNames {
    fn last_cpu(&self) -> u32 {
        3
    }

    fn named(&mut self, name: &[u8]) -> Option<(u64, u64)> {
        self.address(name).map(|start| (start, start + 16))
    }

    fn around(&mut self, address: u64) -> Option<(u64, u64)> {
        Some((address, address.saturating_add(16)))
    }
}

/// A compiled definition.
#[derive(Debug, PartialEq, Eq)]
struct Compiled {
    program: sys::Box<Program>,
    layout: Layout,
}

impl Compiled {
    /// Where the arguments are in a record.
    fn layout(&self) -> &Layout {
        &self.layout
    }
}

impl std::ops::Deref for Compiled {
    type Target = Program;

    fn deref(&self) -> &Program {
        &self.program
    }
}

fn compile(definition: &mut Definition, arch: Arch, btf: Option<Btf<'_>>) -> Option<Compiled> {
    let name = definition.place.symbol().map(|(_, name)| name.to_vec());
    let mut names = KeyNames;
    let mut target = Target {
        arch,
        at_entry: true,
        point: None,
        symbols: &mut names,
        paths: PathOffsets {
            dentry_name: 0x28,
            file_dentry: 0x48,
        },
        btf,
        function: name.as_deref(),
    };
    fetch::expand(definition, &target).ok()?;
    let (program, layout) = fetch::compile(definition, &mut target).ok()?;
    Some(Compiled { program, layout })
}

fn parse(text: &[u8], arch: Arch) -> Option<(Command, Definition)> {
    let command = Command::new(text).ok()?;
    if command.is_empty() {
        return None;
    }
    let machine = arch::Machine {
        arch,
        stack_words: 2048,
    };
    match parse::request(&command, machine) {
        // A pattern of tracepoints becomes a definition of each, and is listed nowhere.
        Ok(Request::Create(definition))
            if definition.kind == ProbeKind::Tracepoint && definition.place.is_each() =>
        {
            None
        }
        Ok(Request::Create(definition)) => Some((command, definition)),
        Ok(Request::Delete(_)) => None,
        Err(error) => {
            assert!(
                error.at <= command.text().len() + 1,
                "caret at {}",
                error.at
            );
            let mut out = String::new();
            error
                .write_entry(&mut out, 0, command.text())
                .expect("a String");
            assert_eq!(out.lines().count(), 3, "{out}");
            None
        }
    }
}

/// Every line is refused with a caret inside it, or gives a program that stays
/// within its record, and is listed as a line that gives the same program.
fn definitions(input: &[u8]) {
    let blob = include_bytes!("../seeds/types.btf");
    let index = Index::build(blob, None).expect("a good blob");
    let btf = Btf::new(blob, &index, None);
    for (line, arch) in lex::lines(input).zip([Arch::X86_64, Arch::Arm64].into_iter().cycle()) {
        let Some((_, mut definition)) = parse(line.text, arch) else {
            continue;
        };
        relisted(&definition, arch);
        if let Some(program) = compile(&mut definition, arch, btf) {
            let mut again = relisted(&definition, arch);
            let same = compile(&mut again, arch, btf);
            assert_eq!(
                Some(&program),
                same.as_ref(),
                "{}",
                line.text.escape_ascii()
            );
            hit(&definition, &program);
        }
    }
}

/// What the listed line of `definition` is parsed as.
fn relisted(definition: &Definition, arch: Arch) -> Definition {
    let mut listed = String::new();
    definition.write_line(&mut listed).expect("a String");
    assert_eq!(listed.lines().count(), 1, "{listed}");
    let again = parse(listed.as_bytes(), arch);
    let (_, again) = again.unwrap_or_else(|| panic!("refused when listed: {listed}"));
    assert_eq!(definition.kind, again.kind);
    // The sides of a pair are in other columns.
    let sides = |place: &Place| match place {
        Place::Pair(sides) => Some(
            sides
                .iter()
                .map(|side| side.to_string())
                .collect::<Vec<_>>(),
        ),
        _ => None,
    };
    match sides(&definition.place) {
        Some(written) => assert_eq!(Some(written), sides(&again.place)),
        None => assert_eq!(definition.place, again.place),
    }
    assert_eq!(
        (&definition.group, &definition.event),
        (&again.group, &again.event)
    );
    assert_eq!(definition.args.len(), again.args.len(), "{listed}");
    again
}

fn hit(definition: &Definition, program: &Compiled) {
    let machine = Machine {
        reads: Cell::new(0),
    };
    let (room, exact) = match program.size() {
        Size::Fixed(n) => (n, true),
        Size::UpTo(n) => (n, false),
    };
    assert!(room <= record::MAX_SIZE);
    let mut out = vec![0xaa; room];
    let header = Header {
        event: 1,
        flags: 0,
        preempt_count: 0,
        pid: 1,
    };
    assert!(record::start_probe(&mut out, header, 1));
    if definition.kind.is_return {
        assert!(record::put_return_address(&mut out, 2));
    }
    let length = exec::run(program, &machine, &mut out);
    assert!(if exact {
        length == room
    } else {
        length <= room
    });
    // 128 arguments of 64 elements, each behind 16 links.
    assert!(machine.reads.get() <= 128 * 64 * 17);
    let mut line = TextBuf::new();
    let event = ShownEvent {
        key: 0,
        group: b"kprobes",
        name: b"e",
        layout: program.layout(),
    };
    line.add(|buf| TextLines::new().put(buf, event, &out[..length], &mut &machine))
        .expect("memory");
    let line = std::str::from_utf8(line.as_bytes()).expect("UTF-8");
    assert_eq!(line.lines().count(), 1, "{line}");
    let mut text = String::new();
    format::write_format(&mut text, "e", 1, program.layout()).expect("a String");
}

/// Every filter is refused with a caret inside it, or comes to an end.
fn filters(input: &[u8]) {
    let event = b"p vfs_read num=%cx neg=%bx:s32 big=%bx byte=%bx:u8 bits=%cx:b4@0/8 place=%bp \
        task=$comm const=\\\"a b\" str=+8(%di):string ptr=%r8 names=+0(%si):string[2] \
        array=+0(%r9):s8[4] fault=+0x300(%r10) faulttext=+0x300(%r10):string";
    let (_, mut definition) = parse(event, Arch::X86_64).expect("the event");
    let program = compile(&mut definition, Arch::X86_64, None).expect("the event");
    match Filter::compile(input, program.layout(), &mut KeyNames) {
        Ok(filter) => {
            let machine = Machine {
                reads: Cell::new(0),
            };
            let header = Header {
                event: 1,
                flags: 0,
                preempt_count: 0,
                pid: 1,
            };
            let hit = Hit {
                header,
                cpu: 1,
                place: 0x4000,
            };
            filter.matches(&program, &machine, &hit);
        }
        Err(error) => assert!(error.at <= input.len()),
    }
}

impl HistNames for &Machine {
    fn syscall(&mut self, number: u64, buf: &mut SeqBuf<'_>) -> bool {
        buf.decimal(number);
        number % 2 == 0
    }
}

impl Moment for Machine {
    fn pid(&self) -> i32 {
        -1
    }

    fn header(&self) -> Header {
        Header {
            event: 1,
            flags: 2,
            preempt_count: 3,
            pid: -1,
        }
    }

    fn cpu(&self) -> u32 {
        0
    }

    fn place(&self) -> u64 {
        0x4000
    }

    fn time(&self, _in_usecs: bool) -> u64 {
        u64::MAX
    }

    fn stack(&self, frames: &mut [u64; STACK_DEPTH]) {
        frames.fill(0x4000);
    }

    fn user_stack(&self, frames: &mut [u64; STACK_DEPTH]) -> u32 {
        frames.fill(0x4000);
        9
    }
}

/// An instance without other histograms.
struct Alone;

impl HistScope for Alone {
    fn own(&self) -> (&[u8], &[u8]) {
        (b"kprobes", b"own")
    }

    fn histograms(&self) -> &[KnownHistogram<'_>] {
        &[]
    }

    fn has_event(&self, group: &[u8], _event: &[u8]) -> bool {
        group == b"kprobes"
    }

    fn synthetic(&self, name: &[u8]) -> Option<&[SynthField]> {
        const FIELD: SynthField = SynthField {
            sort: ValueSort::Number,
            size: 8,
            signed: false,
        };
        (name == b"synth").then_some(&[FIELD])
    }
}

impl Emit for Alone {
    fn emit(&self, _action: usize, values: EmittedValues<'_>) {
        assert_eq!(values.iter().count(), 1);
    }

    fn lend(&self, work: impl FnOnce(&mut InterEventRoom)) -> bool {
        work(&mut [u64::MAX; 80]);
        true
    }

    fn snapshot(&self) {}
}

/// Every trigger of a histogram is refused with a caret inside it, or is listed as one that
/// is listed in the same way, and counts each hit once.
fn histograms(input: &[u8]) {
    let event = b"p vfs_read num=%cx neg=%bx:s32 big=%bx byte=%bx:u8 bits=%cx:b4@0/8 place=%bp \
        str=+8(%di):string empty=+13(%di):string array=+0(%r9):s8[4]";
    let (_, mut definition) = parse(event, Arch::X86_64).expect("the event");
    let program = compile(&mut definition, Arch::X86_64, None).expect("the event");
    let span = |bytes| lex::Span { bytes, at: 0 };
    let text = input.strip_prefix(b"hist:").unwrap_or(input);
    let parsed = hist::parse(span(text), program.layout(), &Alone);
    let parsed = parsed.and_then(|mut request| {
        let needed = request.bind(program.layout(), &Alone)?;
        assert_eq!(needed, None);
        Ok(request)
    });
    let spec = match parsed {
        Ok(request) => request.spec,
        Err(error) => return assert!(error.at <= text.len()),
    };
    let listed = |spec: &hist::Spec| {
        let mut out = String::new();
        spec.write(&mut out).expect("a String");
        out
    };
    let first = listed(&spec);
    let again = hist::parse(span(&first.as_bytes()[5..]), program.layout(), &Alone);
    assert_eq!(listed(&again.expect(&first).spec), first);
    if spec.size > 256 {
        return;
    }
    let tables = PerCpu::new(1, |_| spec.own_table(true)).expect("memory");
    let shared = spec.shared_table(&tables).expect("memory");
    let is_linked = spec.is_inter_event();
    let histogram = Histogram::inter_event(spec, (tables, shared), false).expect("memory");
    let machine = Machine {
        reads: Cell::new(0),
    };
    let hit = ProbeHit {
        program: &program,
        env: &machine,
        moment: &machine,
    };
    // SAFETY: this thread is the only one.
    let here = unsafe { OnCpu::new(0) };
    for _ in 0..3 {
        match is_linked {
            true => histogram.update_inter_event(&hit, &Alone),
            false => histogram.update(&hit, &here),
        }
    }
    let snapshot = histogram.read().expect("memory");
    assert_eq!(snapshot.hits() + snapshot.dropped(), 3);
    let heading = Heading {
        filter: None,
        is_paused: false,
        index: 0,
    };
    for as_graph in [false, true] {
        let snapshot = histogram.read().expect("memory");
        let mut printing = Printing::new(snapshot, as_graph).expect("memory");
        let mut out = sys::Vec::new();
        let mut write_next = || printing.write_next(&mut out, heading, &mut &machine);
        while write_next().expect("memory") {}
    }
}

/// Whatever a blob holds, lookups in it end.
fn types(input: &[u8]) {
    let Ok(index) = Index::build(input, None) else {
        return;
    };
    let btf = Btf::new(input, &index, None);
    for line in definition_seeds() {
        if let Some((_, mut definition)) = parse(&line, Arch::X86_64) {
            compile(&mut definition, Arch::X86_64, btf);
        }
    }
}

fn trigger_seeds() -> Vec<Vec<u8>> {
    let data = include_str!("../../data/lang-triggers.txt").lines();
    let rows = data.filter(|l| !l.is_empty() && !l.starts_with('#'));
    let last = |row: &str| row.rsplit('\t').next().map(|text| text.replace('^', ""));
    rows.filter_map(last).map(String::into_bytes).collect()
}

/// What a trigger names is part of its text, and the caret of a refusal is inside it.
fn triggers(text: &[u8]) {
    let length = text.trim_ascii().len();
    match trigger::parse(text) {
        Err(error) => assert!(error.at <= length, "{error:?}"),
        Ok(request) => {
            if let Some(trigger::Trigger::Event { event, .. }) = request.trigger() {
                assert!(!event.group.bytes.is_empty() && !event.event.bytes.is_empty());
                assert!(event.event.end() <= length);
            }
            if let trigger::TriggerRequest::Set {
                filter: Some(filter),
                ..
            } = request
            {
                assert_eq!(filter.end(), length);
            }
        }
    }
}
