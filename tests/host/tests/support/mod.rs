// SPDX-License-Identifier: GPL-2.0

//! A made-up kernel for the tests of the language.

#![allow(dead_code, reason = "each test uses a part")]

pub mod btf;
pub mod linked;
pub mod selftests;

use std::cell::Cell;
use std::collections::BTreeMap;

use ferroprobe_engine::engine::code::arch::{Arch, Machine};
use ferroprobe_engine::engine::definition::ast::{Definition, Place, Request};
use ferroprobe_engine::engine::definition::kind::ProbeKind;
use ferroprobe_engine::engine::definition::parse;
use ferroprobe_engine::engine::definition::task::TaskNumber;
use ferroprobe_engine::engine::hist::{HistScope, KnownHistogram, SynthField};
use ferroprobe_engine::engine::language::lex::Command;
use ferroprobe_engine::engine::print::{ShownEvent, SymbolNames, TextLines};
use ferroprobe_engine::engine::program::btf::{Btf, Index};
use ferroprobe_engine::engine::program::exec::{self, Arguments, Memory};
use ferroprobe_engine::engine::program::fetch::{
    self, CpuInstance, PathOffsets, Program, Size, Symbols, Target, FILE_START,
};
use ferroprobe_engine::engine::record::{self, Header, Layout};
use ferroprobe_engine::engine::refusal::error::Error;
use ferroprobe_engine::engine::refusal::suggest::distance::Nearest;
use ferroprobe_engine::engine::util::seq_buf::{SeqBuf, TextBuf};
use ferroprobe_engine::sys;

pub const DENTRY_NAME: u64 = 0x28;
pub const FILE_DENTRY: u64 = 0x48;

/// The counters of renames and of changes of mounts.
pub const RENAME_LOCK: u64 = 0x2_1000;
pub const MOUNT_LOCK: u64 = 0x2_1010;

/// Registers, memory and symbols that a test sets up.
#[derive(Clone)]
pub struct Kernel {
    pub arch: Arch,
    pub regs: [u64; 40],
    pub stack: Vec<u64>,
    pub memory: BTreeMap<u64, u8>,
    pub user: BTreeMap<u64, u8>,
    pub entry: Vec<u64>,
    pub comm: &'static [u8],
    pub cgroup: Option<&'static [u8]>,
    /// The strings of an array.
    pub strings: Option<&'static [u8]>,
    pub blob: Option<Vec<u8>>,
    pub current: u64,
    pub return_address: u64,
    pub per_cpu: u64,
    pub reads: Cell<usize>,
    pub now: Cell<u64>,
    /// Where the arguments are of the static point that is probed.
    pub point: Option<&'static str>,
}

impl Default for Kernel {
    fn default() -> Self {
        Self {
            arch: Arch::X86_64,
            regs: [0; 40],
            stack: vec![],
            memory: BTreeMap::new(),
            user: BTreeMap::new(),
            entry: vec![],
            comm: b"bash",
            cgroup: Some(b"/user.slice/x"),
            strings: None,
            blob: None,
            current: 0x7000,
            return_address: 0x8888,
            per_cpu: 0x10_0000,
            reads: Cell::new(0),
            now: Cell::new(1_000_000),
            point: None,
        }
    }
}

impl Kernel {
    pub fn set(&mut self, register: &str, value: u64) {
        let index = self
            .arch
            .isa()
            .register(register.as_bytes())
            .expect(register);
        self.regs[usize::from(index)] = value;
    }

    pub fn write(&mut self, address: u64, bytes: &[u8]) {
        for (at, &byte) in (address..).zip(bytes) {
            self.memory.insert(at, byte);
        }
    }

    pub fn write_user(&mut self, address: u64, bytes: &[u8]) {
        for (at, &byte) in (address..).zip(bytes) {
            self.user.insert(at, byte);
        }
    }

    fn copy(&self, from: &BTreeMap<u64, u8>, address: u64, out: &mut [u8]) -> bool {
        self.reads.set(self.reads.get() + 1);
        for (i, byte) in out.iter_mut().enumerate() {
            match from.get(&address.wrapping_add(i as u64)) {
                Some(&value) => *byte = value,
                // A failed read leaves rubbish behind.
                None => {
                    *byte = 0xee;
                    return false;
                }
            }
        }
        true
    }
}

impl Symbols for Kernel {
    fn address(&mut self, name: &[u8]) -> Option<u64> {
        match name {
            b"jiffies" => Some(0xffff_ffff_8280_6980),
            b"cpu_number" => Some(0x2_0010),
            b"linux_proc_banner" if self.current != 0x7000 => Some(0xffff_ffff_8220_0140),
            b"linux_proc_banner" => Some(0x1000),
            b"pcpu" => Some(0x40),
            b"runqueues" => Some(0x100),
            b"current_bag" | b"untyped_cpu" => Some(0x200),
            b"init_bag.llvm.77" => Some(0x9000),
            b"rename_lock" => Some(RENAME_LOCK),
            b"mount_lock" => Some(MOUNT_LOCK),
            b"x" | b"sym" | b"symbol" => Some(0x2000),
            _ => None,
        }
    }

    fn is_per_cpu(&mut self, address: u64) -> bool {
        address < 0x10_0000
    }

    fn of_cpu(&mut self, address: u64, cpu: u32) -> CpuInstance {
        match cpu {
            0..4 => CpuInstance::At(address + self.per_cpu * u64::from(cpu + 1)),
            _ => CpuInstance::Last(3),
        }
    }

    fn each_similar_data(&mut self, nearest: &mut Nearest<'_>) {
        for name in ["jiffies", "jiffies_64", "linux_proc_banner", "cpu_number"] {
            nearest.consider_symbol(name.as_bytes());
        }
    }
}

impl SymbolNames for &Kernel {
    fn symbolize(&mut self, address: u64, with_offset: bool, buf: &mut SeqBuf<'_>) {
        let text = match address {
            0xffff_ffff_8132_a1cc => "ksys_read+0x6c/0xe0".into(),
            0x8000..0x9000 if with_offset => format!("vfs_read+{:#x}/0x1000", address - 0x8000),
            0x8000..0x9000 => "vfs_read".into(),
            _ => format!("{address:#x}"),
        };
        buf.bytes(text.as_bytes());
    }
}

impl Arguments for Kernel {
    fn reg(&self, index: u8) -> u64 {
        match index {
            FILE_START => 0x40_0000,
            index => self.regs[usize::from(index)],
        }
    }

    fn stack(&self, n: u16) -> u64 {
        self.stack.get(usize::from(n)).copied().unwrap_or(0)
    }

    fn return_address(&self) -> u64 {
        self.return_address
    }

    fn entry_data(&self, n: u16) -> u64 {
        self.entry.get(usize::from(n)).copied().unwrap_or(0)
    }
}

impl Memory for Kernel {
    fn comm(&self) -> [u8; 16] {
        let mut comm = [0; 16];
        comm[..self.comm.len()].copy_from_slice(self.comm);
        comm
    }

    fn current(&self) -> u64 {
        self.current
    }

    fn task(&self, which: TaskNumber) -> u64 {
        match which {
            TaskNumber::Thread => 4712,
            TaskNumber::Process => 4711,
            TaskNumber::OwnPid => 12,
            TaskNumber::OwnProcess => 7,
            TaskNumber::Cgroup => 5309,
        }
    }

    fn read_cgroup(&self, skip: usize, out: &mut [u8]) -> Option<usize> {
        let path = [self.cgroup?, b"\0"].concat();
        let rest = &path[skip..];
        let length = rest.len().min(out.len());
        out[..length].copy_from_slice(&rest[..length]);
        Some(length)
    }

    fn now(&self) -> u64 {
        self.now.get()
    }

    fn this_cpu(&self, address: u64) -> u64 {
        address.wrapping_add(self.per_cpu)
    }

    fn read(&self, address: u64, out: &mut [u8]) -> bool {
        self.copy(&self.memory, address, out)
    }

    /// As in the kernel: by whole words, or not at all.
    fn read_to_end(&self, address: u64, length: usize, out: &mut [u8]) -> bool {
        let Some(before) = out.len().checked_sub(length).filter(|before| *before >= 8) else {
            return false;
        };
        let (room, to) = out.split_at_mut(before);
        room[before - 7..].fill(b'?');
        self.copy(&self.memory, address, to)
    }

    fn read_user(&self, address: u64, out: &mut [u8]) -> bool {
        self.copy(&self.user, address, out)
    }

    fn read_string(&self, address: u64, user: bool, out: &mut [u8]) -> Option<usize> {
        let from = if user { &self.user } else { &self.memory };
        for (i, slot) in out.iter_mut().enumerate() {
            *slot = *from.get(&address.wrapping_add(i as u64))?;
            if *slot == 0 {
                return Some(i + 1);
            }
        }
        Some(out.len())
    }

    fn read_strings(&self, _address: u64, skip: usize, out: &mut [u8]) -> Option<usize> {
        let strings = &self.strings?[skip..];
        let length = strings.len().min(out.len());
        out[..length].copy_from_slice(&strings[..length]);
        Some(length)
    }

    fn read_symbol(&self, address: u64, skip: usize, out: &mut [u8]) -> Option<usize> {
        let mut names = self;
        let mut name = text(|buf| names.symbolize(address, true, buf));
        name.push('\0');
        let name = &name.as_bytes()[skip..];
        let length = name.len().min(out.len());
        out[..length].copy_from_slice(&name[..length]);
        Some(length)
    }
}

/// A machine of `arch` whose stacks have 16 KiB.
pub fn with_stacks(arch: Arch) -> Machine {
    Machine {
        arch,
        stack_words: 2048,
    }
}

pub fn definition(text: &str, arch: Arch) -> Result<Definition, Error> {
    let command = Command::new(text.as_bytes())?;
    match parse::request(&command, with_stacks(arch))? {
        Request::Create(definition) => Ok(definition),
        Request::Delete(_) => panic!("a deletion: {text}"),
    }
}

pub fn compile(text: &str, kernel: &mut Kernel) -> Result<(Definition, Compiled), Error> {
    compile_with(text, kernel, None)
}

/// Compiles with room for `allocations` allocations.
pub fn compile_failing(
    text: &str,
    kernel: &mut Kernel,
    allocations: usize,
) -> Result<(Definition, Compiled), Error> {
    compile_with(text, kernel, Some(allocations))
}

fn compile_with(
    text: &str,
    kernel: &mut Kernel,
    allocations: Option<usize>,
) -> Result<(Definition, Compiled), Error> {
    let blob = kernel.blob.clone();
    let index = blob
        .as_deref()
        .map(|blob| Index::build(blob, None).expect("a blob"));
    let btf = blob.as_deref().zip(index.as_ref());
    let btf = btf.and_then(|(blob, index)| Btf::new(blob, index, None));
    sys::fail_allocation_after(allocations);
    let result = compile_by(text, kernel, btf);
    sys::fail_allocation_after(None);
    result
}

fn compile_by(
    text: &str,
    kernel: &mut Kernel,
    btf: Option<Btf<'_>>,
) -> Result<(Definition, Compiled), Error> {
    let mut definition = definition(text, kernel.arch)?;
    let at_entry = match &definition.place {
        Place::Symbol { offset, .. } => *offset == 0,
        Place::File(place) => place.symbol.is_some() && place.offset == 0,
        _ => false,
    };
    let function = definition.place.symbol().map(|(_, symbol)| {
        // The function `__probestub_NAME` declares the arguments of a tracepoint.
        let prefix: &[u8] = match definition.kind {
            ProbeKind::Tracepoint => b"__probestub_",
            _ => b"",
        };
        [prefix, symbol].concat()
    });
    let mut target = Target {
        arch: kernel.arch,
        at_entry,
        point: kernel.point.map(str::as_bytes),
        symbols: kernel,
        paths: PathOffsets {
            dentry_name: DENTRY_NAME as u32,
            file_dentry: FILE_DENTRY as u32,
        },
        btf,
        function: function.as_deref().filter(|_| at_entry),
    };
    fetch::expand(&mut definition, &target)?;
    let (program, layout) = fetch::compile(&definition, &mut target)?;
    Ok((definition, Compiled { program, layout }))
}

/// A compiled definition.
#[derive(Debug, PartialEq, Eq)]
pub struct Compiled {
    program: sys::Box<Program>,
    layout: Layout,
}

impl Compiled {
    /// Where the arguments are in a record.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }
}

impl std::ops::Deref for Compiled {
    type Target = Program;

    fn deref(&self) -> &Program {
        &self.program
    }
}

/// Nanoseconds from the entry of a function to its return.
pub const CALL_NS: u64 = 1234;

/// The record of one hit of the probe defined by `text`.
pub fn hit(text: &str, kernel: &mut Kernel) -> (Definition, Compiled, Vec<u8>) {
    let (definition, program) = compile(text, kernel).unwrap_or_else(|e| panic!("{text}: {e:?}"));
    let room = match program.size() {
        Size::Fixed(n) | Size::UpTo(n) => n,
    };
    let mut out = vec![0xaa; room];
    let header = Header {
        event: 7,
        flags: 0,
        preempt_count: 0,
        pid: 42,
    };
    if definition.kind.is_return {
        kernel.entry = vec![0xdead; program.entry_words()];
        let mut entry = vec![0; program.entry_words()];
        exec::capture(&program, kernel, &mut entry);
        kernel.entry = entry;
        kernel.now.set(kernel.now.get() + CALL_NS);
        assert!(record::start_probe(&mut out, header, 0x8000));
        assert!(record::put_return_address(&mut out, 0x8100));
    } else {
        assert!(record::start_probe(&mut out, header, 0x8000));
    }
    let length = exec::run(&program, kernel, &mut out);
    if let Size::Fixed(n) = program.size() {
        assert_eq!(length, n);
    }
    out.truncate(length);
    (definition, program, out)
}

/// The text of the arguments of one hit.
pub fn printed(definition: &str, kernel: &mut Kernel) -> String {
    let (_, program, record) = hit(definition, kernel);
    let out = text(|buf| put(buf, b"ev", &program, &record, kernel));
    out.split_once(')').expect("a place").1.trim().to_string()
}

/// The text that `write` makes.
pub fn text(write: impl FnMut(&mut SeqBuf<'_>)) -> String {
    let mut text = TextBuf::new();
    text.add(write).expect("memory");
    String::from_utf8(text.as_bytes().to_vec()).expect("UTF-8")
}

/// Adds the line of `record`, of the event called `name`.
pub fn put(
    buf: &mut SeqBuf<'_>,
    name: &[u8],
    program: &Compiled,
    record: &[u8],
    mut kernel: &Kernel,
) {
    let event = ShownEvent {
        key: 0,
        group: b"kprobes",
        name,
        layout: program.layout(),
    };
    TextLines::new().put(buf, event, record, &mut kernel);
}

/// An instance without other histograms, and without synthetic events.
pub struct Alone;

impl HistScope for Alone {
    fn own(&self) -> (&[u8], &[u8]) {
        (b"kprobes", b"own")
    }

    fn histograms(&self) -> &[KnownHistogram<'_>] {
        &[]
    }

    fn has_event(&self, _group: &[u8], event: &[u8]) -> bool {
        event == b"own"
    }

    fn synthetic(&self, _name: &[u8]) -> Option<&[SynthField]> {
        None
    }
}
