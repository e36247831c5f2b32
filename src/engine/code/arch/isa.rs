// SPDX-License-Identifier: GPL-2.0

//! The interface of an architecture.
//!
//! A file beside this one implements [`Isa`] for each architecture, on top of its decoder
//! in `insn`. All other code sees an instruction as an [`Insn`], and does not depend on
//! the architecture.

use super::calling::{ArgumentPlace, ResultPlace, TypeShape, WordsTaken};
use super::point::PointPlace;
use crate::engine::code::insn::exclusive::{CodeWords, Exclusives};
use crate::engine::record::OpenFlag;
use crate::sys::AllocError;

/// An architecture: its registers, its instructions, and what the kernel does with them.
///
/// Where a method takes `bytes`, these are the original ones from an instruction on, at least
/// [`MAX_INSN_LEN`] of them unless the function ends before. Default implementations suit
/// architectures without the property in question.
///
/// Context: any, except where a method says otherwise.
pub trait Isa: Sync {
    /// Returns the index of the register called `name`, without its `%`.
    ///
    /// An index counts 64-bit words of the architecture's `struct pt_regs`, so that
    /// fetching a register is one load. `regs_query_register_offset()` of the kernel knows
    /// the same names.
    fn register(&self, name: &[u8]) -> Option<u8>;

    /// Returns the names that [`Isa::register`] knows.
    fn registers(&self) -> &'static [&'static [u8]];

    /// Returns the name of the register that assemblers and debuggers call `name`, if
    /// [`Isa::register`] does not know that name.
    fn register_alias(&self, name: &[u8]) -> Option<&'static [u8]>;

    /// Returns the place that an operand means, in the words of the GNU assembler, if it is a
    /// register, memory at a constant offset from one, or a constant.
    fn operand(&self, text: &[u8]) -> Option<PointPlace>;

    /// Returns the index of the stack pointer.
    fn stack_register(&self) -> u8;

    /// Returns the index of the register that holds a function's return value.
    fn return_register(&self) -> u8;

    /// Returns the location of argument `n` at function entry, counted from zero, for an unknown
    /// function.
    ///
    /// The rule is that of `regs_get_kernel_argument()`: integers and pointers only, each
    /// in one register or stack word.
    fn argument(&self, n: u16) -> EntryPlace;

    /// Returns the number of integer argument registers.
    fn argument_registers(&self) -> u16;

    /// Returns the location at function entry of word `n` of the arguments, see
    /// [`calling`](super::calling).
    fn argument_word(&self, n: u16) -> EntryPlace {
        self.argument(n)
    }

    /// Assigns words to the next argument of a call, of this shape.
    fn pass(&self, taken: &mut WordsTaken, shape: TypeShape) -> ArgumentPlace;

    /// Returns how a result of this shape is returned.
    fn returned(&self, shape: TypeShape) -> ResultPlace;

    /// Returns the indices of the registers of a result, in order.
    fn return_registers(&self) -> [u8; 2];

    /// Returns the location of the return address at function entry.
    fn return_address(&self) -> EntryPlace;

    /// Returns the registers in which a system call's arguments are saved while it runs, in order.
    fn call_arguments(&self) -> [u8; 6];

    /// Returns the bits of the flags of `openat`, with the names that the kernel prints, in
    /// its order.
    fn open_flags(&self) -> &'static [OpenFlag; 16];

    /// Decodes the first instruction of `bytes`.
    ///
    /// # Errors
    ///
    /// [`Undecoded`] if they begin with none.
    fn decode(&self, bytes: &[u8]) -> Result<Insn, Undecoded>;

    /// Returns the mnemonic of the instruction, without operands; empty if there is none.
    fn mnemonic(&self, bytes: &[u8]) -> &'static str;

    /// Returns why the instruction alone cannot carry a probe; `None` if it can.
    fn refusal(&self, bytes: &[u8]) -> Option<Refusal>;

    /// Returns why the instruction alone cannot carry a probe of a program; `None` if it can.
    fn user_refusal(&self, bytes: &[u8]) -> Option<&'static str> {
        self.refusal(bytes).map(|refusal| refusal.reason)
    }

    /// Returns the length of every instruction; `None` if instructions differ in length, so
    /// that only a walk from the function's start finds the boundaries, and a breakpoint
    /// hides where the next one is.
    fn fixed_len(&self) -> Option<usize>;

    /// Returns the breakpoint that the kernel writes for a probe.
    fn breakpoint(&self) -> &'static [u8];

    /// Returns the number of bytes that the kernel overwrites at most for a probe, no more
    /// than [`MAX_PATCH`].
    fn patch_len(&self) -> usize;

    /// Returns whether `live` bytes begin with what the kernel writes for a probe.
    fn is_patched(&self, live: &[u8]) -> bool;

    /// Returns the length of the landing pad at a function's start over which the kernel
    /// moves the probe of the entry; 0 if it does not move it.
    fn skipped_pad(&self, _bytes: &[u8]) -> usize {
        0
    }

    /// Returns the instruction that ftrace replaces, where the kernel probes it.
    fn ftrace_nop(&self) -> &'static [u8] {
        &[]
    }

    /// Returns offsets at which ftrace may patch the function that begins with `bytes`, at most
    /// [`ENTRY_LEN`] of them, the likeliest first. A breakpoint may hide an instruction.
    fn ftrace_offsets(&self, bytes: &[u8]) -> [Option<u8>; 2];

    /// Returns the instruction that the kernel writes at boot in front of the one that ftrace
    /// patches, if the kernel accepts no probe on the latter; otherwise empty.
    fn ftrace_mark(&self) -> &'static [u8] {
        &[]
    }

    /// Returns whether `last`, aligned bytes before the next function, hold ftrace's
    /// pointer to the ops that trace it (`DYNAMIC_FTRACE_WITH_CALL_OPS`), or nops in its
    /// place. The function begins with `next`.
    fn is_ops_pointer(&self, _last: [u8; OPS_LEN], _next: &[u8]) -> bool {
        false
    }

    /// Returns whether the type of a function is a word of data before it, with
    /// `CONFIG_CFI`.
    fn has_type_words(&self) -> bool {
        false
    }

    /// Returns whether one of the instructions of the type check of an indirect call, which
    /// the kernel decodes, begins here.
    fn is_type_check(&self, _bytes: &[u8]) -> bool {
        false
    }

    /// Returns whether the kernel refuses a probe on an instruction with an entry in the
    /// exception table, instead of handling the fault of a step.
    fn refuses_exception_table(&self) -> bool {
        false
    }

    /// Returns whether linkers and compilers put nops behind every function that does not
    /// end where the next one begins.
    fn pads_with_nops(&self) -> bool {
        false
    }

    /// Returns the possible sizes of `struct alt_instr`.
    fn alternative_lens(&self) -> &'static [usize];

    /// Returns the jump table that the branch at word `index` of the function at `address`
    /// uses; `None` if the word is no such branch.
    fn jump_table(
        &self,
        _words: &dyn CodeWords,
        _address: u64,
        _index: usize,
    ) -> Option<JumpTable> {
        None
    }

    /// Returns the exclusive sequences of a function; `None` if the architecture has none.
    ///
    /// Context: process, may sleep.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if out of memory.
    fn exclusives(&self, _words: &dyn CodeWords) -> Result<Option<Exclusives>, AllocError> {
        Ok(None)
    }

    /// Returns the index of the load-exclusive that the kernel's scan finds for the word at
    /// `index`, so that it refuses a probe there.
    fn exclusive_scan(&self, _words: &dyn CodeWords, _index: usize) -> Option<usize> {
        None
    }
}

/// The maximum length of an instruction, in bytes.
pub const MAX_INSN_LEN: usize = 15;

/// The maximum of [`Isa::patch_len`].
pub const MAX_PATCH: usize = 5;

/// The bytes of a function that [`Isa::ftrace_offsets`] looks at.
pub const ENTRY_LEN: usize = 16;

/// The bytes before a function in which ftrace keeps its pointer.
pub const OPS_LEN: usize = 8;

/// The location of an argument or of the return address at function entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryPlace {
    /// The register with this index, see [`Isa::register`].
    Register(u8),
    /// This word of the stack, counted from the stack pointer.
    Stack(u16),
    /// Not available to the kernel's own accessor, which returns 0.
    Zero,
}

/// An instruction, as far as the placement of probes depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Insn {
    /// Its length in bytes.
    pub len: usize,
    /// Where control goes from it.
    pub flow: Flow,
    /// Its kind.
    pub kind: InsnKind,
}

/// Where control goes from an instruction. Distances are in bytes, counted from its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// To the next instruction, be it after a system call or an indirect call.
    Next,
    /// To the next instruction or to this distance.
    Branch(i64),
    /// To this distance only.
    Jump(i64),
    /// To this distance, and then to the next instruction if the callee returns.
    Call(i64),
    /// Elsewhere, and not to the next instruction.
    Away,
}

/// The kind of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsnKind {
    /// None of the following.
    Ordinary,
    /// Does nothing; fills gaps.
    Nop,
    /// The breakpoint of a probe, which hides the instruction there, or one of the
    /// function's own; fills gaps.
    Breakpoint,
    /// Undefined, and no trap of the kernel's; fills gaps.
    Filler,
    /// A trap as in BUG and WARN. Control returns from the trap of a WARN.
    Trap,
    /// Loads data relative to the program counter.
    Literal {
        /// The distance of the data from the instruction's end, in bytes.
        distance: i64,
        /// The length of the data in bytes.
        len: usize,
    },
}

/// Why bytes do not decode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undecoded {
    /// The bytes end before the instruction does.
    Cut,
    /// No instruction begins like that.
    Invalid,
}

/// Why an instruction cannot carry a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The kernel itself refuses the probe; otherwise it would accept one that cannot work.
    pub by_kernel: bool,
    /// The reason, for use behind "cannot be probed: ".
    pub reason: &'static str,
}

impl Insn {
    /// Returns whether control does not continue at the next instruction.
    pub const fn ends_flow(&self) -> bool {
        matches!(self.flow, Flow::Jump(_) | Flow::Away)
    }

    /// Returns whether compilers and linkers fill gaps with it.
    pub const fn is_filler(&self) -> bool {
        matches!(
            self.kind,
            InsnKind::Nop | InsnKind::Breakpoint | InsnKind::Filler
        )
    }
}

/// A jump table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JumpTable {
    /// Its address.
    pub address: u64,
    /// The number of its entries.
    pub count: usize,
    /// The length of an entry, in bytes: 1, 2 or 4.
    pub entry_len: usize,
    /// The address from which the distances count.
    pub base: u64,
    /// The unit of the distances, in bytes.
    pub unit: i64,
}

impl JumpTable {
    /// Returns the target of `entry`; `None` if its length is not that of an entry.
    pub fn target(&self, entry: &[u8]) -> Option<u64> {
        let distance = match *entry {
            [byte] => i64::from(i8::from_le_bytes([byte])),
            [low, high] => i64::from(i16::from_le_bytes([low, high])),
            [first, second, third, fourth] => {
                i64::from(i32::from_le_bytes([first, second, third, fourth]))
            }
            _ => return None,
        };
        Some(
            self.base
                .wrapping_add_signed(distance.wrapping_mul(self.unit)),
        )
    }
}

/// Returns the index of `name` among the names of an architecture's registers.
pub(super) fn index_of(names: &[&[u8]], name: &[u8]) -> Option<u8> {
    let position = names.iter().position(|known| *known == name)?;
    u8::try_from(position).ok()
}
