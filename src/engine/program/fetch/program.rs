// SPDX-License-Identifier: GPL-2.0

//! Compiled fetch arguments.

use crate::engine::definition::task::TaskNumber;
use crate::engine::language::types::{Bits, Derived};
use crate::engine::program::paths::{PathMembers, PathStart};
use crate::engine::record::{self, Faults};
use crate::sys::{AllocError, Box, Vec};
use core::mem;

/// The size of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Exact: the record can be built in place.
    Fixed(usize),
    /// Maximum: the record is built elsewhere, then copied.
    UpTo(usize),
}

/// The arguments of a program, as far as fast stages distinguish them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// No arguments.
    Bare,
    /// A whole register, the first argument.
    Register(u8),
    /// The nanoseconds since a time that is the only word captured at entry; the first argument.
    Duration,
    /// A whole register, and the duration as in [`Form::Duration`].
    RegisterAndDuration(u8),
    /// Any other arguments.
    Any,
}

/// The register of a hit in a program with the address at which the probed file would begin.
pub const FILE_START: u8 = u8::MAX;

/// The origin of a value, as far as it is known before a hit.
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
    /// The nanoseconds since the time captured in this word.
    Since(u16),
    /// The word at an offset from where a register points; 0 if it cannot be read.
    Behind {
        reg: u8,
        offset: i32,
    },
    /// Whether the given bytes can be read.
    AreReadable {
        reg: u8,
        offset: i32,
        size: u16,
    },
}

/// A link: a step from one value to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Hop {
    Read { offset: i64, user: bool },
    ThisCpu,
}

/// A string constant of the definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) struct Constant {
    /// Start in the program's texts.
    pub(in crate::engine) start: u16,
    /// Length with the NUL.
    pub(in crate::engine) len: u16,
    /// Offset in the record.
    pub(in crate::engine) at: u16,
}

/// How the last value is recorded.
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
    /// The strings of a NULL-terminated array, as one text.
    Joined {
        offset: i64,
        user_pointers: bool,
        user: bool,
    },
    Symbol,
    /// The path of the task's cgroup.
    CgroupPath,
    /// The strings of a system call's array argument, which were copied: `syscall::Strings`.
    Strings,
    /// The path of the object at `offset` from the value.
    Path {
        offset: i64,
        start: PathStart,
    },
    Constant(Constant),
    /// Text of fixed length, derived from the memory at the value; stored at `at` in the record.
    FixedText {
        offset: i64,
        at: u16,
        what: Derived,
    },
    /// The `size` bytes of a structure, stored at `at` in the record.
    Whole {
        offset: i64,
        user: bool,
        size: u16,
        at: u16,
    },
    /// The `size` bytes of a structure as it was at the function's entry, stored at `at` in the
    /// record, and behind them as it is now. The words captured from `first` on are: whether it
    /// could be read, and its contents.
    Changes {
        offset: i64,
        size: u16,
        first: u16,
        at: u16,
    },
    /// A value derived from the value, or from the `read` bytes that it points to.
    Derived {
        what: Derived,
        offset: i64,
        read: u8,
        bits: Option<Bits>,
    },
}

impl Store {
    /// Returns the store with all memory in user space.
    pub(super) fn of_user(self) -> Self {
        let mut store = self;
        match &mut store {
            Store::Memory { user, .. } | Store::Text { user, .. } | Store::Whole { user, .. } => {
                *user = true;
            }
            Store::Texts {
                user_pointers,
                user,
                ..
            }
            | Store::Joined {
                user_pointers,
                user,
                ..
            } => {
                (*user_pointers, *user) = (true, true);
            }
            Store::Value { .. }
            | Store::Symbol
            | Store::CgroupPath
            | Store::Strings
            | Store::Path { .. }
            | Store::Constant(_)
            | Store::FixedText { .. }
            | Store::Changes { .. }
            | Store::Derived { .. } => {}
        }
        store
    }

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

/// Returns the offsets of the words in which a structure of `size` bytes is saved. The last word
/// ends with the structure, because there may be no memory behind it.
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
    /// The fault bit; `None` for a text, which shows a failed read without one.
    pub(in crate::engine) fault: Option<u8>,
    /// Number of texts that later arguments write.
    pub(in crate::engine) texts_behind: u16,
}

/// A whole register, or its low bytes.
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

/// Maximum number of pointers of [`Steps`].
const MOST_STEPS: usize = 3;

/// Pointers to follow from a register, in memory that is not declared as user memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) struct Steps {
    /// Offset of each pointer from the preceding one, or from the register.
    offsets: [i32; MOST_STEPS],
    /// The number of pointers.
    count: u8,
    pub(in crate::engine) reg: u8,
    /// Offset of the destination from the last pointer.
    pub(in crate::engine) offset: i32,
}

impl Steps {
    /// Returns the steps for `links` and a final `offset`; `None` if the links have another form.
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

/// The location of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) struct TextAt {
    pub(in crate::engine) steps: Steps,
    /// Whether it is declared as user memory.
    pub(in crate::engine) user: bool,
}

/// The comm: 16 bytes at `at`, and the `__data_loc` word at `dst`.
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
    /// The operation of each argument, in order; used by filters.
    pub(in crate::engine) ops: Vec<Op>,
    // The same operations by shape, in order of execution. At a hit, a list for each shape costs
    // less than a match on the shape.
    /// Whole registers.
    pub(in crate::engine) words: Vec<Load>,
    /// Low bytes of registers.
    pub(in crate::engine) narrow: Vec<Load>,
    pub(in crate::engine) reads: Vec<WordRead>,
    pub(in crate::engine) comms: Vec<Comm>,
    pub(in crate::engine) chains: Vec<Chain>,
    pub(in crate::engine) general: Vec<General>,
    /// The only general argument, if it is a string at a simple location.
    pub(in crate::engine) only_text: Option<TextAt>,
    pub(in crate::engine) links: Vec<Hop>,
    pub(in crate::engine) texts: Vec<u8>,
    pub(in crate::engine) entry: Vec<LoadOrigin>,
    /// Structure offsets for full paths, if there are any.
    pub(in crate::engine) paths: Option<Box<PathMembers>>,
    pub(in crate::engine) faults: Option<Faults>,
    pub(in crate::engine) fixed: u16,
    pub(super) dynamic: bool,
    /// Whether there are chains or general arguments.
    pub(super) others: bool,
    /// Whether the only such argument is a whole structure.
    pub(in crate::engine) only_whole: bool,
}

impl Program {
    /// Returns an empty program, with an unset record size.
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

    /// Moves the program out, leaving an empty one. Done field by field, to construct it in place:
    /// [`mem::replace`](core::mem::replace) copies it several times.
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

    /// Adds a whole register to the record that is not an argument.
    pub(in crate::engine) fn add_whole_word(
        &mut self,
        dst: u16,
        reg: u8,
    ) -> Result<(), AllocError> {
        self.words.push(Load { dst, reg, width: 8 })
    }

    /// Adds an argument that is part of a word of the record.
    pub(in crate::engine) fn add_op(&mut self, load: Load) -> Result<(), AllocError> {
        self.ops.push(Op::Load(load))
    }

    /// Adds an argument that is text in user memory.
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

    /// Returns whether general argument `at` is the whole of the only duration.
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

    /// Returns whether [`capture`](crate::engine::program::exec::capture) only saves the time.
    pub fn captures_time(&self) -> bool {
        *self.entry == [LoadOrigin::Now]
    }

    /// Returns whether the program reads no memory, so that running it causes no fault.
    ///
    /// Context: any.
    #[inline(always)]
    pub fn reads_no_memory(&self) -> bool {
        self.reads.is_empty() && !self.others
    }

    /// Returns the highest index of a fetched register plus one; 0 if there is none.
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

    /// Returns whether all arguments have common shapes.
    ///
    /// Context: any.
    #[inline(always)]
    pub fn is_compact(&self) -> bool {
        !self.others
    }

    /// Returns whether a whole structure is the only argument without a common shape.
    ///
    /// Context: any.
    #[inline(always)]
    pub fn is_only_whole(&self) -> bool {
        self.only_whole
    }

    /// Returns whether the only text is a string at a simple location, see
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
