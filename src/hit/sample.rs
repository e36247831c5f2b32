// SPDX-License-Identifier: GPL-2.0

//! A hit as its source tells it, in one form for all sources.
//!
//! The fast stages get a [`Source`](super::source::Source) and never pass a reference to its
//! [`Sample`] on: that would spill it to the stack. The slow stage has one copy for all sources.
//!
//! The clock is read once per hit, on first use.

use crate::{
    engine::{
        definition::{kind::FIRST_OWN, task::TaskNumber},
        program::{
            exec::{Arguments, Memory},
            fetch::{Program, FILE_START},
            syscall::{Values, COPY_SIZE},
        },
        record::{COMM_LEN, MAX_SIZE},
        ring::Task,
    },
    kapi::{
        cgroup, clock,
        context::{self, EntryWay, PlainCount, Unpreempted},
        functions,
        interrupt::Interrupted,
        kprobe::Way,
        kretprobe, nofault,
        regs::Regs,
        stack::{StackFunction, StackOrigin},
        symbol, tracepoint,
        uprobe::UserHit,
        user,
    },
};
use core::cell::Cell;

/// The task that runs.
pub(super) struct Running(pub(super) context::Current);

impl Task for Running {
    #[inline(always)]
    fn id(&self) -> i32 {
        self.0.pid()
    }

    #[inline(always)]
    fn half(&self, n: usize) -> u64 {
        self.0.half_comm(n)
    }
}

/// Copies of the user memory that the arguments of a system call point to.
pub(super) type Copied<'a> = user::CopiesView<'a, COPY_SIZE>;

/// Copies for a call with long strings, of as many bytes as a record can have.
pub(super) type LongCopied<'a> = user::CopiesView<'a, MAX_SIZE>;

/// The fields that another event sends with a hit.
pub(crate) trait SentFields {
    /// Returns the value of field `index`.
    ///
    /// Context: any.
    fn value(&self, index: u8) -> u64;

    /// Returns the hit on which it sends them.
    fn hit(&self) -> &SentHit<'_>;
}

/// A hit that an event sends.
pub(crate) struct SentHit<'a> {
    /// Fetches the arguments.
    pub(super) program: &'a Program,
    pub(super) sample: &'a Sample<'a>,
    /// The value of the kernel's preemption counter in a plain context.
    pub(super) plain: PlainCount,
    pub(super) context: HitContext,
    /// The function that is probed, as far as its stacks need it.
    pub(super) function: &'a StackFunction,
}

/// The context in which code is hit.
#[derive(Clone, Copy)]
pub(crate) struct HitContext {
    /// How the CPU came to the handler.
    pub(super) way: EntryWay,
    pub(super) irqs_disabled: bool,
}

/// A hit.
#[derive(Clone)]
pub(crate) struct Sample<'a> {
    pub(super) args: HitArgs<'a>,
    /// The time of the hit by the trace clock `local`, in nanoseconds; 0 before it is asked for.
    time: Cell<u64>,
}

/// What a source tells of a hit.
#[derive(Clone, Copy)]
pub(crate) enum HitArgs<'a> {
    /// Of a kprobe.
    Probe(&'a Regs, Way<'a>),
    /// Of a kretprobe.
    Return(&'a Regs, kretprobe::FollowedCall<'a>),
    /// Of a program that reaches a location.
    Reached(UserHit<'a>),
    /// Of a program's function that returns.
    Left(UserHit<'a>),
    /// Of a function that begins, as ftrace reports it.
    Function(functions::Entry<'a>),
    /// Of a function that returns, as ftrace reports it.
    Exit(functions::Exit<'a>),
    /// Of a tracepoint: register `n` is argument `n`.
    Tracepoint(tracepoint::PointArguments<'a>),
    /// Of a system call that begins or returns, or of a function that begins and whose return is
    /// probed.
    Registers(&'a Regs, Copied<'a>),
    /// Of a whole system call.
    Call(&'a Values, Copied<'a>),
    /// Of a whole system call with long strings.
    LongCall(&'a Values, LongCopied<'a>),
    /// Of an interrupt.
    Interrupt(&'a Interrupted<'a>),
    /// Of any source, with one argument at most.
    Word(u64),
    /// Of another event: register `n` is field `n`.
    Sent(&'a dyn SentFields, HitContext),
}

impl<'a> Sample<'a> {
    /// Makes the sample of a hit.
    #[inline(always)]
    pub(super) fn of(args: HitArgs<'a>) -> Self {
        let time = Cell::new(0);
        Self { args, time }
    }

    /// Returns how the CPU came to the handler.
    #[inline(always)]
    pub(super) fn way(&self) -> EntryWay {
        match self.args {
            HitArgs::Probe(regs, way) => way.entry(regs),
            HitArgs::Return(..) => EntryWay::Return,
            HitArgs::Exit(_) => EntryWay::Followed,
            HitArgs::Function(_) => EntryWay::Call,
            HitArgs::Tracepoint(_) => tracepoint::WAY,
            HitArgs::Reached(_) | HitArgs::Left(_) => EntryWay::Program,
            HitArgs::Interrupt(interrupted) => interrupted.way,
            HitArgs::Sent(_, context) => context.way,
            _ => EntryWay::Tracepoint,
        }
    }

    /// Returns whether the context of the hit is plain.
    #[inline(always)]
    pub(super) fn is_plain(&self) -> bool {
        // The compiler lays out the branches of each better than those of one with three cases.
        match self.args {
            HitArgs::Probe(_, way) => context::is_plain(|| way.entry_or_trap()),
            HitArgs::Return(..) => context::is_plain(|| EntryWay::Return),
            HitArgs::Exit(_) => context::is_plain_followed(),
            HitArgs::Function(_) => context::is_plain(|| EntryWay::Call),
            HitArgs::Tracepoint(_) => context::is_plain(|| tracepoint::WAY),
            HitArgs::Reached(_) | HitArgs::Left(_) => context::is_plain(|| EntryWay::Program),
            HitArgs::Interrupt(interrupted) => PlainCount::of(interrupted.way).is_plain(),
            HitArgs::Sent(_, context) => PlainCount::of(context.way).is_plain(),
            _ => context::is_plain(|| EntryWay::Tracepoint),
        }
    }

    /// Returns whether interrupts are disabled in the code that is hit.
    #[inline(always)]
    pub(super) fn irqs_disabled(&self) -> bool {
        match self.args {
            HitArgs::Probe(regs, _) | HitArgs::Return(regs, _) => regs.irqs_disabled(),
            HitArgs::Interrupt(interrupted) => interrupted.regs.irqs_disabled(),
            // User space has them enabled.
            HitArgs::Reached(_) | HitArgs::Left(_) => false,
            HitArgs::Registers(..) | HitArgs::Call(..) | HitArgs::LongCall(..) => false,
            HitArgs::Function(_) | HitArgs::Exit(_) | HitArgs::Tracepoint(_) | HitArgs::Word(_) => {
                context::irqs_disabled()
            }
            HitArgs::Sent(_, context) => context.irqs_disabled,
        }
    }

    /// Returns the place that the record names. A probe with one place passes it as `own`.
    #[inline(always)]
    pub(super) fn place<'b>(&self, own: &'b [u32; 2]) -> &'b [u32; 2]
    where
        'a: 'b,
    {
        match self.args {
            HitArgs::Function(entry) => entry.place(),
            HitArgs::Exit(exit) => exit.place(),
            HitArgs::Reached(hit) | HitArgs::Left(hit) => hit.place,
            HitArgs::Interrupt(interrupted) => &interrupted.ip,
            _ => own,
        }
    }

    /// Returns the address to which the function returns, of a return probe.
    #[inline(always)]
    pub(super) fn returns_to(&self) -> Option<u64> {
        match self.args {
            HitArgs::Return(regs, call) => Some(call.return_address(regs)),
            HitArgs::Exit(exit) => Some(exit.return_address()),
            HitArgs::Left(hit) => Some(hit.regs.instruction_pointer()),
            _ => None,
        }
    }

    /// Returns what was saved at the function's entry, for a return probe.
    #[inline(always)]
    fn entry(&self) -> &'a [u64] {
        match self.args {
            HitArgs::Return(_, call) => call.data(),
            HitArgs::Exit(exit) => exit.data(),
            _ => &[],
        }
    }

    /// Returns the time of the entry, for the return of a call that has saved only this.
    #[inline(always)]
    pub(super) fn began(&self) -> Option<u64> {
        self.entry().first().copied()
    }

    /// Returns whether a program is hit, and user memory is read from the page cache, too.
    #[inline(always)]
    fn is_of_program(&self) -> bool {
        matches!(self.args, HitArgs::Reached(_) | HitArgs::Left(_))
    }

    /// Returns the user memory that was copied before the hit was served.
    #[inline(always)]
    pub(super) fn copied(&self) -> Copied<'a> {
        match self.args {
            HitArgs::Registers(_, copied) | HitArgs::Call(_, copied) => copied,
            _ => Copied::NOTHING,
        }
    }

    /// Returns where the stack of the hit begins. `function` is the probed function, or the
    /// function that calls the handler.
    #[inline(always)]
    pub(super) fn origin(&self, function: StackFunction) -> StackOrigin<'a> {
        match self.args {
            HitArgs::Probe(regs, way) => StackOrigin::Probe(regs, way.entry_or_trap(), function),
            HitArgs::Return(regs, _) => StackOrigin::Return(regs),
            HitArgs::Function(entry) => StackOrigin::Function(entry),
            HitArgs::Exit(exit) => StackOrigin::Exit(exit),
            HitArgs::Interrupt(interrupted) if interrupted.is_user => StackOrigin::Nothing,
            HitArgs::Interrupt(interrupted) => StackOrigin::Return(interrupted.regs),
            HitArgs::Sent(sent, _) => {
                let hit = sent.hit();
                hit.sample.origin(*hit.function)
            }
            // The registers belong to the caller of a system call.
            _ => StackOrigin::Caller(function),
        }
    }
}

impl Sample<'_> {
    /// Reads the time, for all that ask for it from now on.
    #[inline(never)]
    fn read_clock(&self) -> u64 {
        let on_cpu = Unpreempted::begin();
        let time = clock::now(&on_cpu.here());
        on_cpu.end();
        self.time.set(time);
        time
    }
}

impl Arguments for Sample<'_> {
    #[inline(always)]
    fn reg(&self, index: u8) -> u64 {
        let index = usize::from(index);
        match self.args {
            HitArgs::Probe(regs, _) | HitArgs::Return(regs, _) | HitArgs::Registers(regs, _) => {
                regs.word(index)
            }
            HitArgs::Function(entry) => entry.word(index),
            HitArgs::Exit(exit) => exit.word(index),
            HitArgs::Reached(hit) | HitArgs::Left(hit) => match index == usize::from(FILE_START) {
                true => hit.file_start(),
                false => hit.regs.word(index),
            },
            HitArgs::Tracepoint(arguments) => arguments.get(index),
            HitArgs::Call(values, _) | HitArgs::LongCall(values, _) => {
                values.get(index).copied().unwrap_or(0)
            }
            HitArgs::Word(word) => word,
            HitArgs::Interrupt(interrupted) => {
                let own = index.checked_sub(usize::from(FIRST_OWN));
                match own.and_then(|own| interrupted.values.get(own)) {
                    Some(value) => *value,
                    None => interrupted.regs.word(index),
                }
            }
            HitArgs::Sent(sent, _) => sent.value(u8::try_from(index).unwrap_or(u8::MAX)),
        }
    }

    #[inline]
    fn stack(&self, n: u16) -> u64 {
        match self.args {
            HitArgs::Probe(regs, _) | HitArgs::Return(regs, _) | HitArgs::Registers(regs, _) => {
                regs.stack_word(u64::from(n))
            }
            HitArgs::Function(entry) => entry.stack_word(u64::from(n)),
            HitArgs::Exit(exit) => exit.stack_word(u64::from(n)),
            HitArgs::Reached(hit) | HitArgs::Left(hit) => hit.regs.user_stack_word(u64::from(n)),
            HitArgs::Interrupt(interrupted) => interrupted.regs.stack_word(u64::from(n)),
            HitArgs::Tracepoint(_)
            | HitArgs::Call(..)
            | HitArgs::LongCall(..)
            | HitArgs::Word(_)
            | HitArgs::Sent(..) => 0,
        }
    }

    #[inline(always)]
    fn return_address(&self) -> u64 {
        self.returns_to().unwrap_or(0)
    }

    #[inline(always)]
    fn entry_data(&self, n: u16) -> u64 {
        self.entry().get(usize::from(n)).copied().unwrap_or(0)
    }
}

impl Memory for Sample<'_> {
    #[inline(always)]
    fn comm(&self) -> [u8; COMM_LEN] {
        context::current().comm()
    }

    #[inline(always)]
    fn current(&self) -> u64 {
        context::current().address()
    }

    #[inline]
    fn task(&self, which: TaskNumber) -> u64 {
        let task = context::current();
        match which {
            TaskNumber::Thread => task.ids().0.into(),
            TaskNumber::Process => task.ids().1.into(),
            TaskNumber::OwnPid => task.own_pid().into(),
            TaskNumber::OwnProcess => task.own_tgid().into(),
            TaskNumber::Cgroup => cgroup::id(),
        }
    }

    #[inline]
    fn read_cgroup(&self, skip: usize, out: &mut [u8]) -> Option<usize> {
        cgroup::write_path(skip, out)
    }

    #[inline]
    fn now(&self) -> u64 {
        match self.time.get() {
            0 => self.read_clock(),
            time => time,
        }
    }

    #[inline]
    fn this_cpu(&self, address: u64) -> u64 {
        context::this_cpu_address(address)
    }

    #[inline]
    fn read(&self, address: u64, out: &mut [u8]) -> bool {
        nofault::read(address, out)
    }

    #[inline(always)]
    fn read_word<const N: usize>(&self, address: u64, out: &mut [u8; N]) -> bool {
        nofault::read_word(address, out)
    }

    #[inline(always)]
    fn read_block(&self, address: u64, out: &mut [u8]) -> bool {
        nofault::read_block(address, out)
    }

    #[inline(always)]
    fn read_three(&self, address: u64, offsets: [u16; 3], out: &mut [u64; 3]) -> bool {
        nofault::read_three(address, offsets, out)
    }

    #[inline(always)]
    fn read_to_end(&self, address: u64, length: usize, out: &mut [u8]) -> bool {
        nofault::read_to_end(address, length, out)
    }

    #[inline]
    fn read_user(&self, address: u64, out: &mut [u8]) -> bool {
        nofault::read_user(address, out) || self.is_of_program() && user::read(address, out)
    }

    #[inline]
    fn read_string(&self, address: u64, user: bool, out: &mut [u8]) -> Option<usize> {
        if user {
            let mut all = self.copied().iter();
            if let Some((_, copied)) = all.find(|(of, _)| *of == address) {
                let copied = copied?;
                out.get_mut(..copied.len())?.copy_from_slice(copied);
                return Some(copied.len());
            }
            if let HitArgs::LongCall(_, all) = self.args {
                if let Some(put) = put_long(all, address, out) {
                    return put;
                }
            }
        }
        match nofault::read_string(address, user, out) {
            None if self.is_of_program() => user::read_string(address, out),
            length => length,
        }
    }

    #[inline(never)]
    fn read_strings(&self, address: u64, skip: usize, out: &mut [u8]) -> Option<usize> {
        // A call has one array at most; its copy comes behind that of a string at the same address.
        let copied = match self.args {
            HitArgs::LongCall(_, all) => last_copy(all.iter(), address)?,
            _ => last_copy(self.copied().iter(), address)?,
        };
        let rest = copied.get(skip..)?;
        let length = rest.len().min(out.len());
        let (to, from) = (out.get_mut(..length)?, rest.get(..length)?);
        to.copy_from_slice(from);
        Some(length)
    }

    #[inline]
    fn read_symbol(&self, address: u64, skip: usize, out: &mut [u8]) -> Option<usize> {
        symbol::write_name(address, skip, out)
    }
}

/// Returns the last copy from `address`, if it could be read.
fn last_copy<'a>(
    all: impl Iterator<Item = (u64, Option<&'a [u8]>)>,
    address: u64,
) -> Option<&'a [u8]> {
    all.filter(|(of, _)| *of == address).last()?.1
}

/// Writes what was copied from `address`, as much of it as fits, and returns its length, or `None`
/// in place of that if it could not be read; `None` if nothing was copied from there. Strings are
/// also read in pieces, so `address` may be in the middle of a copy. If there are two copies from
/// `address`, writes the first one.
#[cold]
#[inline(never)]
fn put_long(all: LongCopied<'_>, address: u64, out: &mut [u8]) -> Option<Option<usize>> {
    let (mut exact, mut inside) = (None, None);
    for (of, copied) in all.iter() {
        let behind = usize::try_from(address.wrapping_sub(of)).ok();
        let rest = behind.and_then(|behind| copied?.get(behind..));
        match of == address {
            true => exact = exact.or(Some(rest)),
            false => inside = inside.or(rest.filter(|rest| !rest.is_empty())),
        }
    }
    let Some(rest) = exact.unwrap_or(inside) else {
        return exact.map(|_| None);
    };
    let length = rest.len().min(out.len());
    let (to, from) = (out.get_mut(..length)?, rest.get(..length)?);
    to.copy_from_slice(from);
    Some(Some(length))
}
