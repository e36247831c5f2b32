// SPDX-License-Identifier: GPL-2.0

//! Compiled fetch arguments.

use crate::engine::definition::task::TaskNumber;
use crate::engine::language::types::{Bits, Derived};
use crate::engine::program::paths::{PathMembers, PathStart};
use crate::engine::record::{self, Faults};
use crate::sys::{AllocError, Box, Vec};
use core::mem;

/// Bytes that a program writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Exactly this many: the record can be built in place.
    Fixed(usize),
    /// At most this many: the record is built elsewhere, then copied.
    UpTo(usize),
}

/// What a program fetches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// No arguments.
    Bare,
    /// All of the register with this index, as the first argument.
    Register(u8),
    /// The nanoseconds since a time that is the only word captured at entry, as the first
    /// argument.
    Duration,
    /// All of the register with this index, then the same duration.
    RegisterAndDuration(u8),
    /// Any other arguments.
    Any,
}

/// The origin of a value, as far as it is known before the hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum LoadOrigin {
    Register(u8),
    Stack(u16),
    Immediate(u64),
    EntryData(u16),
    ReturnAddress,
    Current,
    /// A number of the current task.
    Task(TaskNumber),
    /// The time now, in nanoseconds.
    Now,
    /// The nanoseconds since the time that this word was captured as.
    Since(u16),
    /// The word that is so many bytes from where a register points; 0 if it cannot be read.
    Behind {
        reg: u8,
        offset: i32,
    },
    /// Whether so many bytes there can be read.
    AreReadable {
        reg: u8,
        offset: i32,
        size: u16,
    },
}

/// A step from one value to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Hop {
    Read { offset: i64, user: bool },
    ThisCpu,
}

/// A string that is part of the definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) struct Constant {
    /// Its start in the program's texts.
    pub(in crate::engine) start: u16,
    /// Its length with its NUL.
    pub(in crate::engine) len: u16,
    /// Its offset in the record.
    pub(in crate::engine) at: u16,
}

/// What is recorded of the last value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Store {
    Value {
        bits: Option<Bits>,
        width: u8,
    },
    Memory {
        offset: i64,
        user: bool,
        width: u8,
        bits: Option<Bits>,
        count: u8,
    },
    Text {
        offset: i64,
        user: bool,
    },
    Texts {
        offset: i64,
        user_pointers: bool,
        user: bool,
        count: u8,
    },
    /// The strings up to a NULL pointer, as one text.
    Joined {
        offset: i64,
        user_pointers: bool,
        user: bool,
    },
    Symbol,
    /// The path of the task's cgroup.
    CgroupPath,
    /// The strings of a system call's argument, which were copied: `syscall::Strings`.
    Strings,
    /// The path of what is `offset` bytes behind the value.
    Path {
        offset: i64,
        start: PathStart,
    },
    Constant(Constant),
    /// Text of fixed length, at `at` in the record: what is made of the memory at the value.
    FixedText {
        offset: i64,
        at: u16,
        what: Derived,
    },
    /// The `size` bytes of a structure, at `at` in the record.
    Whole {
        offset: i64,
        user: bool,
        size: u16,
        at: u16,
    },
    /// The `size` bytes of a structure as they were at the function's entry, at `at` in the
    /// record, and behind them as they are. Saved are, from the word `first` on, whether they
    /// could be read, and their words.
    Changes {
        offset: i64,
        size: u16,
        first: u16,
        at: u16,
    },
    /// What is made of the value, or of the `read` bytes of memory to which it points.
    Derived {
        what: Derived,
        offset: i64,
        read: u8,
        bits: Option<Bits>,
    },
}

impl Store {
    /// Returns the bytes in the fixed part of the record.
    pub(in crate::engine) fn size(self) -> u16 {
        match self {
            Store::Value { width, .. } => u16::from(width),
            Store::Derived { what, .. } => u16::from(what.recorded().size()),
            Store::Memory { width, count, .. } => u16::from(width).saturating_mul(count.into()),
            Store::Texts { count, .. } => u16::from(count).saturating_mul(4),
            Store::Text { .. }
            | Store::Joined { .. }
            | Store::Symbol
            | Store::CgroupPath
            | Store::Strings
            | Store::Path { .. }
            | Store::Constant(_)
            | Store::Whole { .. }
            | Store::Changes { .. }
            | Store::FixedText { .. } => 4,
        }
    }

    /// Returns the number of texts whose length is known only at the hit.
    pub(super) fn texts(self) -> u16 {
        match self {
            Store::Texts { count, .. } => u16::from(count),
            Store::Text { .. }
            | Store::Joined { .. }
            | Store::Symbol
            | Store::CgroupPath
            | Store::Strings
            | Store::Path { .. } => 1,
            Store::Value { .. }
            | Store::Memory { .. }
            | Store::Constant(_)
            | Store::FixedText { .. }
            | Store::Whole { .. }
            | Store::Changes { .. }
            | Store::Derived { .. } => 0,
        }
    }
}

/// Returns where the words begin in which a structure of `size` bytes is saved. The last one
/// reaches to its end: behind that there may be no memory.
pub(in crate::engine) fn saved_words(size: u16) -> impl Iterator<Item = u16> {
    let last = size.saturating_sub(8);
    (0..size.div_ceil(8)).map(move |n| n.saturating_mul(8).min(last))
}

/// An argument of any shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) struct General {
    pub(in crate::engine) origin: LoadOrigin,
    /// Range of the program's links.
    pub(in crate::engine) links: (u16, u16),
    pub(in crate::engine) store: Store,
    pub(in crate::engine) dst: u16,
    /// Its fault bit; a text shows a failed read without one.
    pub(in crate::engine) fault: Option<u8>,
    /// Number of texts that later arguments write.
    pub(in crate::engine) texts_behind: u16,
}

/// A register, all of it or its low bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) struct Load {
    pub(in crate::engine) dst: u16,
    pub(in crate::engine) reg: u8,
    pub(in crate::engine) width: u8,
}

/// Memory at a register plus an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) struct WordRead {
    pub(in crate::engine) offset: i32,
    pub(in crate::engine) dst: u16,
    pub(in crate::engine) reg: u8,
    pub(in crate::engine) width: u8,
    pub(in crate::engine) fault: u8,
}

/// Most pointers in [`Steps`].
const MOST_STEPS: usize = 3;

/// The way from a register over pointers, in memory that is not expressly the user's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) struct Steps {
    /// The offset of each pointer from the one before it, or from the register.
    offsets: [i32; MOST_STEPS],
    /// The number of pointers.
    count: u8,
    pub(in crate::engine) reg: u8,
    /// The offset of the destination from the last pointer.
    pub(in crate::engine) offset: i32,
}

impl Steps {
    /// Returns the way to what is `offset` bytes from where `links` lead; `None` if they
    /// are unusual.
    pub(super) fn of(origin: LoadOrigin, links: &[Hop], offset: i64) -> Option<Self> {
        let LoadOrigin::Register(reg) = origin else {
            return None;
        };
        let mut offsets = [0; MOST_STEPS];
        for (n, link) in links.iter().enumerate() {
            let Hop::Read {
                offset,
                user: false,
            } = *link
            else {
                return None;
            };
            *offsets.get_mut(n)? = i32::try_from(offset).ok()?;
        }
        Some(Self {
            offsets,
            count: u8::try_from(links.len()).ok()?,
            reg,
            offset: i32::try_from(offset).ok()?,
        })
    }

    /// Returns the offsets of the pointers.
    ///
    /// Context: any.
    #[inline(always)]
    pub(in crate::engine) fn pointers(&self) -> impl Iterator<Item = i64> + '_ {
        let used = self.offsets.iter().take(usize::from(self.count));
        used.map(|&offset| i64::from(offset))
    }
}

/// Memory behind pointers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) struct Chain {
    pub(in crate::engine) steps: Steps,
    pub(in crate::engine) dst: u16,
    pub(in crate::engine) width: u8,
    pub(in crate::engine) fault: u8,
}

/// Where a string is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) struct TextAt {
    pub(in crate::engine) steps: Steps,
    /// Whether it is expressly in the user's memory.
    pub(in crate::engine) user: bool,
}

/// The task's name: 16 bytes at `at`, and the `__data_loc` word at `dst`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) struct Comm {
    pub(in crate::engine) dst: u16,
    pub(in crate::engine) at: u16,
}

/// How one argument is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Op {
    Load(Load),
    Read(WordRead),
    Comm(Comm),
    /// The chain with this index.
    Chain(u16),
    /// The general argument with this index.
    General(u16),
}

/// Compiled fetch arguments.
///
/// # Invariants
/// Every range of bytes that an operation writes, other than text whose length is known
/// only at the hit, lies below `fixed`, and `fixed` is at most [`record::MAX_SIZE`].
#[derive(Debug, PartialEq, Eq)]
pub struct Program {
    /// One for each argument, in order; used by filters.
    pub(in crate::engine) ops: Vec<Op>,
    // The same operations by shape, in the order in which they are run. A list for each
    // shape costs less at the hit than a match on the shape.
    /// Whole registers.
    pub(in crate::engine) words: Vec<Load>,
    /// Low bytes of registers.
    pub(in crate::engine) narrow: Vec<Load>,
    pub(in crate::engine) reads: Vec<WordRead>,
    pub(in crate::engine) comms: Vec<Comm>,
    pub(in crate::engine) chains: Vec<Chain>,
    pub(in crate::engine) general: Vec<General>,
    /// The only general argument, if it is a string that is easy to find.
    pub(in crate::engine) only_text: Option<TextAt>,
    pub(in crate::engine) links: Vec<Hop>,
    pub(in crate::engine) texts: Vec<u8>,
    pub(in crate::engine) entry: Vec<LoadOrigin>,
    /// What paths are made of, if there are any.
    pub(in crate::engine) paths: Option<Box<PathMembers>>,
    pub(in crate::engine) faults: Option<Faults>,
    pub(in crate::engine) fixed: u16,
    pub(super) dynamic: bool,
    /// There are chains or general arguments.
    pub(super) others: bool,
    /// All of these is a whole structure.
    pub(in crate::engine) only_whole: bool,
}

impl Program {
    /// Returns a program that fetches nothing, without the size of its records.
    pub(in crate::engine) const fn empty() -> Self {
        Self {
            ops: Vec::new(),
            words: Vec::new(),
            narrow: Vec::new(),
            reads: Vec::new(),
            comms: Vec::new(),
            chains: Vec::new(),
            general: Vec::new(),
            only_text: None,
            links: Vec::new(),
            texts: Vec::new(),
            entry: Vec::new(),
            paths: None,
            faults: None,
            fixed: 0,
            dynamic: false,
            others: false,
            only_whole: false,
        }
    }

    /// Returns the program, and leaves an empty one. Field by field, it is made where it is to
    /// stay: [`mem::replace`](core::mem::replace) copies it several times.
    #[inline]
    pub fn take(&mut self) -> Self {
        Self {
            ops: mem::take(&mut self.ops),
            words: mem::take(&mut self.words),
            narrow: mem::take(&mut self.narrow),
            reads: mem::take(&mut self.reads),
            comms: mem::take(&mut self.comms),
            chains: mem::take(&mut self.chains),
            general: mem::take(&mut self.general),
            only_text: self.only_text.take(),
            links: mem::take(&mut self.links),
            texts: mem::take(&mut self.texts),
            entry: mem::take(&mut self.entry),
            paths: self.paths.take(),
            faults: self.faults.take(),
            fixed: mem::take(&mut self.fixed),
            dynamic: mem::take(&mut self.dynamic),
            others: mem::take(&mut self.others),
            only_whole: mem::take(&mut self.only_whole),
        }
    }

    /// Adds an argument that is a whole register.
    pub(in crate::engine) fn add_word(&mut self, load: Load) -> Result<(), AllocError> {
        self.ops.push(Op::Load(load))?;
        self.words.push(load)
    }

    /// Adds a whole register to the record, which is no argument itself.
    pub(in crate::engine) fn add_whole_word(
        &mut self,
        dst: u16,
        reg: u8,
    ) -> Result<(), AllocError> {
        self.words.push(Load { dst, reg, width: 8 })
    }

    /// Adds an argument that a word of the record holds.
    pub(in crate::engine) fn add_op(&mut self, load: Load) -> Result<(), AllocError> {
        self.ops.push(Op::Load(load))
    }

    /// Adds an argument that is text of user memory.
    pub(in crate::engine) fn add_general(&mut self, argument: General) -> Result<(), AllocError> {
        // CAST: There are fewer than 256 arguments.
        self.ops.push(Op::General(self.general.len() as u16))?;
        self.dynamic |= argument.store.texts() != 0;
        self.others = true;
        self.general.push(argument)
    }

    /// Returns the bytes of the record, including its common header.
    ///
    /// Context: any.
    #[inline]
    pub fn size(&self) -> Size {
        if self.dynamic {
            Size::UpTo(record::MAX_SIZE)
        } else {
            Size::Fixed(usize::from(self.fixed))
        }
    }

    /// Returns the form of the arguments.
    pub fn form(&self) -> Form {
        match *self.ops {
            [] => Form::Bare,
            [Op::Load(Load { reg, width: 8, .. })] => Form::Register(reg),
            [Op::General(at)] if self.is_duration(at) => Form::Duration,
            [Op::Load(Load { reg, width: 8, .. }), Op::General(at)] if self.is_duration(at) => {
                Form::RegisterAndDuration(reg)
            }
            _ => Form::Any,
        }
    }

    /// Returns whether a general argument is all of the only duration.
    fn is_duration(&self, at: u16) -> bool {
        let whole = Store::Value {
            bits: None,
            width: 8,
        };
        let arg = self.general.get(usize::from(at));
        let is_since = arg.is_some_and(|arg| {
            arg.origin == LoadOrigin::Since(0) && arg.links.0 == arg.links.1 && arg.store == whole
        });
        is_since && self.captures_time()
    }

    /// Returns whether [`capture`](crate::engine::program::exec::capture) saves the time alone.
    pub fn captures_time(&self) -> bool {
        *self.entry == [LoadOrigin::Now]
    }

    /// Returns whether no memory is read, so that running it meets no fault.
    ///
    /// Context: any.
    #[inline(always)]
    pub fn reads_no_memory(&self) -> bool {
        self.reads.is_empty() && !self.others
    }

    /// Returns one more than the highest index of a register that is fetched; 0 if none is.
    pub fn register_limit(&self) -> usize {
        let general = self.general.iter().filter_map(|arg| match arg.origin {
            LoadOrigin::Register(reg) => Some(reg),
            _ => None,
        });
        let derived = self.general.iter().filter_map(|arg| match arg.store {
            Store::Derived { what, .. } => what.argument(),
            _ => None,
        });
        let loads = self.words.iter().chain(&self.narrow).map(|load| load.reg);
        let reads = self.reads.iter().map(|read| read.reg);
        let chains = self.chains.iter().map(|chain| chain.steps.reg);
        let all = loads.chain(reads).chain(chains).chain(general);
        let all = all.chain(derived);
        all.map(|reg| usize::from(reg).saturating_add(1))
            .max()
            .unwrap_or(0)
    }

    /// Returns whether all arguments are of the common shapes.
    ///
    /// Context: any.
    #[inline(always)]
    pub fn is_compact(&self) -> bool {
        !self.others
    }

    /// Returns whether a whole structure is all that is not of the common shapes.
    ///
    /// Context: any.
    #[inline(always)]
    pub fn is_only_whole(&self) -> bool {
        self.only_whole
    }

    /// Returns whether the only text is a string that is easy to find, see
    /// [`find_text`](crate::engine::program::exec::find_text).
    pub fn has_only_text(&self) -> bool {
        self.only_text.is_some()
    }

    /// Returns the number of words that [`capture`](crate::engine::program::exec::capture) saves at
    /// entry.
    pub fn entry_words(&self) -> usize {
        self.entry.len()
    }
}
