// SPDX-License-Identifier: GPL-2.0

//! The context of a hit, as fetch programs, filters and the ring see it.

use crate::{
    engine::{
        exec::{Arguments, Memory},
        record::COMM_LEN,
        ring::Task,
    },
    kapi::{clock::Clock, context, functions, nofault, regs::Regs, symbol, tracepoint},
};

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

/// A hit, as fetch programs see it: the arguments that its source passes, and the memory
/// of the kernel.
pub(super) struct Hit<A>(pub(super) A);

/// What a source tells of the code that it has interrupted.
pub(super) trait Interrupted {
    /// Returns the register with this index, as [`Arguments::reg`].
    fn register(&self, index: u8) -> u64;

    /// Returns whether interrupts are disabled there.
    fn irqs_disabled(&self) -> bool;

    /// Returns the place that the record names. A probe with one place passes it as `own`.
    #[inline(always)]
    fn place<'a>(&'a self, own: &'a [u32; 2]) -> &'a [u32; 2] {
        own
    }
}

impl Interrupted for Regs {
    #[inline(always)]
    fn register(&self, index: u8) -> u64 {
        self.word(usize::from(index))
    }

    #[inline(always)]
    fn irqs_disabled(&self) -> bool {
        Self::irqs_disabled(self)
    }
}

/// The arguments of a probe.
#[derive(Clone, Copy)]
pub(super) struct Registers<'a> {
    pub(super) regs: &'a Regs,
    /// The address to which the function returns, of a return probe.
    pub(super) return_address: Option<u64>,
    /// What was saved at the function's entry, for a return probe.
    pub(super) entry: &'a [u64],
}

impl<'a> Registers<'a> {
    /// Returns the arguments of a probe that is hit with `regs`, and not at a return.
    #[inline(always)]
    pub(super) fn at_entry(regs: &'a Regs) -> Self {
        Self {
            regs,
            return_address: None,
            entry: &[],
        }
    }
}

impl Interrupted for Registers<'_> {
    #[inline(always)]
    fn register(&self, index: u8) -> u64 {
        self.regs.register(index)
    }

    #[inline(always)]
    fn irqs_disabled(&self) -> bool {
        self.regs.irqs_disabled()
    }
}

/// The only argument of a tracepoint that is used, if one is.
pub(super) struct Only(pub(super) Option<u64>);

impl Interrupted for Only {
    #[inline(always)]
    fn register(&self, _index: u8) -> u64 {
        self.0.unwrap_or(0)
    }

    #[inline(always)]
    fn irqs_disabled(&self) -> bool {
        context::irqs_disabled()
    }
}

// The index of a register counts the arguments of a tracepoint.
impl Interrupted for tracepoint::Arguments<'_> {
    #[inline(always)]
    fn register(&self, index: u8) -> u64 {
        self.get(usize::from(index))
    }

    #[inline(always)]
    fn irqs_disabled(&self) -> bool {
        context::irqs_disabled()
    }
}

impl Arguments for tracepoint::Arguments<'_> {
    #[inline(always)]
    fn reg(&self, index: u8) -> u64 {
        self.get(usize::from(index))
    }
}

impl Interrupted for functions::Entry<'_> {
    #[inline(always)]
    fn register(&self, index: u8) -> u64 {
        self.word(usize::from(index))
    }

    #[inline(always)]
    fn irqs_disabled(&self) -> bool {
        context::irqs_disabled()
    }

    #[inline(always)]
    fn place<'a>(&'a self, _own: &'a [u32; 2]) -> &'a [u32; 2] {
        functions::Entry::place(self)
    }
}

impl Arguments for functions::Entry<'_> {
    #[inline(always)]
    fn reg(&self, index: u8) -> u64 {
        self.word(usize::from(index))
    }

    #[inline]
    fn stack(&self, n: u16) -> u64 {
        self.stack_word(u64::from(n))
    }
}

impl Arguments for Registers<'_> {
    #[inline(always)]
    fn reg(&self, index: u8) -> u64 {
        self.regs.word(usize::from(index))
    }

    #[inline]
    fn stack(&self, n: u16) -> u64 {
        self.regs.stack_word(u64::from(n))
    }

    #[inline(always)]
    fn return_address(&self) -> u64 {
        self.return_address.unwrap_or(0)
    }

    #[inline(always)]
    fn entry_data(&self, n: u16) -> u64 {
        self.entry.get(usize::from(n)).copied().unwrap_or(0)
    }
}

impl<A: Arguments> Arguments for Hit<A> {
    #[inline(always)]
    fn reg(&self, index: u8) -> u64 {
        self.0.reg(index)
    }

    #[inline(always)]
    fn stack(&self, n: u16) -> u64 {
        self.0.stack(n)
    }

    #[inline(always)]
    fn return_address(&self) -> u64 {
        self.0.return_address()
    }

    #[inline(always)]
    fn entry_data(&self, n: u16) -> u64 {
        self.0.entry_data(n)
    }
}

/// What a source has copied of the user's memory before a hit was served.
pub(super) trait UserMemory {
    /// Returns what was copied from `address`, `None` in it if that could not be read;
    /// `None` if nothing was copied from there.
    #[inline(always)]
    fn copied(&self, _address: u64) -> Option<Option<&[u8]>> {
        None
    }
}

impl UserMemory for Registers<'_> {}
impl UserMemory for functions::Entry<'_> {}
impl UserMemory for tracepoint::Arguments<'_> {}

impl<A: UserMemory> Memory for Hit<A> {
    #[inline(always)]
    fn comm(&self) -> [u8; COMM_LEN] {
        context::current().comm()
    }

    #[inline(always)]
    fn current(&self) -> u64 {
        context::current().address()
    }

    #[inline]
    fn tgid(&self) -> u32 {
        context::current().ids().1
    }

    #[inline]
    fn now(&self) -> u64 {
        Clock::Local.now()
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

    #[inline]
    fn read_user(&self, address: u64, out: &mut [u8]) -> bool {
        nofault::read_user(address, out)
    }

    #[inline]
    fn read_string(&self, address: u64, user: bool, out: &mut [u8]) -> Option<usize> {
        if let Some(copied) = self.0.copied(address).filter(|_| user) {
            let copied = copied?;
            out.get_mut(..copied.len())?.copy_from_slice(copied);
            return Some(copied.len());
        }
        nofault::read_string(address, user, out)
    }

    #[inline]
    fn read_symbol(&self, address: u64, out: &mut [u8]) -> Option<usize> {
        symbol::write_name(address, out)
    }
}
