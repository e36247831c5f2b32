// SPDX-License-Identifier: GPL-2.0

//! Block-wise reading of the table.

/// Memory that can be read at an address.
pub trait TableMemory {
    /// Fills `out` from `address`; returns false if it cannot be read.
    fn read(&mut self, address: u64, out: &mut [u8]) -> bool;
}

/// The addresses of the arrays.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    /// `kallsyms_num_syms`, of 4 bytes.
    pub count: u64,
    /// `kallsyms_names`.
    pub names: u64,
    /// `kallsyms_token_table`.
    pub token_table: u64,
    /// `kallsyms_token_index`, of 2 bytes each.
    pub token_index: u64,
    /// `kallsyms_offsets`, of 4 bytes each.
    pub offsets: u64,
    /// What these are relative to.
    pub origin: OffsetOrigin,
    /// `kallsyms_seqs_of_names`.
    pub sequence: u64,
}

/// What the offset of a symbol is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffsetOrigin {
    /// Its own entry, a signed distance.
    Entry,
    /// This address, `kallsyms_relative_base`, an unsigned distance.
    Base(u64),
    /// This address if it is negative, which -1 says is the address itself; otherwise the offset
    /// is the address of a per-CPU variable (`CONFIG_KALLSYMS_ABSOLUTE_PERCPU`).
    BaseOrPerCpu(u64),
}

impl OffsetOrigin {
    /// Returns the address of the symbol with `offset`, whose entry is at `entry`.
    pub(super) fn address(self, entry: u64, offset: [u8; 4]) -> Option<u64> {
        let signed = i64::from(i32::from_le_bytes(offset));
        match self {
            Self::Entry => entry.checked_add_signed(signed),
            Self::Base(base) => base.checked_add(u32::from_le_bytes(offset).into()),
            Self::BaseOrPerCpu(base) => match u64::try_from(signed) {
                Ok(address) => Some(address),
                Err(_) => base.checked_add_signed((-1i64).checked_sub(signed)?),
            },
        }
    }
}

/// Block size for reading single names.
const FEW: usize = 128;

/// Block size for reading all names, deep on the stack.
pub(super) const SOME: usize = 256;

/// Block size for reading all names.
pub(super) const MANY: usize = 1024;

/// The latest block of memory, of `SIZE` bytes: a divisor of the page size, so that a read touches
/// no page beyond the table.
pub(super) struct Block<const SIZE: usize = FEW> {
    at: Option<u64>,
    bytes: [u8; SIZE],
}

impl<const SIZE: usize> Block<SIZE> {
    pub(super) const EMPTY: Self = Self {
        at: None,
        bytes: [0; SIZE],
    };

    fn byte<M: TableMemory>(&mut self, memory: &mut M, address: u64) -> Option<u8> {
        self.rest(memory, address)?.first().copied()
    }

    /// Returns the bytes from `address` to the end of its block.
    pub(super) fn rest<M: TableMemory>(&mut self, memory: &mut M, address: u64) -> Option<&[u8]> {
        const { assert!(SIZE.is_power_of_two()) };
        let within = const { SIZE as u64 - 1 };
        let at = address & !within;
        if self.at != Some(at) {
            self.at = None;
            if !memory.read(at, &mut self.bytes) {
                return None;
            }
            self.at = Some(at);
        }
        // CAST: Less than the size of a block.
        self.bytes.get((address & within) as usize..)
    }

    /// Returns the length of the name at `at`, in tokens, and the address of the first one.
    pub(super) fn length<M: TableMemory>(&mut self, memory: &mut M, at: u64) -> Option<(u64, u64)> {
        let low = self.byte(memory, at)?;
        let next = at.checked_add(1)?;
        if low & 0x80 == 0 {
            return Some((next, u64::from(low)));
        }
        let high = self.byte(memory, next)?;
        let length = u64::from(low & 0x7f) | u64::from(high) << 7;
        Some((next.checked_add(1)?, length))
    }

    /// Returns the address behind `count` names from `at` on.
    pub(super) fn skip<M: TableMemory>(
        &mut self,
        memory: &mut M,
        mut at: u64,
        mut count: u32,
    ) -> Option<u64> {
        while count > 0 {
            // Up to the end of the block, while lengths have one byte.
            let block = self.rest(memory, at)?;
            let mut passed = 0usize;
            while let Some(&length) = block.get(passed) {
                if length & 0x80 != 0 || count == 0 {
                    break;
                }
                passed = passed.wrapping_add(usize::from(length).wrapping_add(1));
                count = count.wrapping_sub(1);
            }
            at = at.checked_add(u64::try_from(passed).ok()?)?;
            if passed == 0 {
                let (tokens, length) = self.length(memory, at)?;
                at = tokens.checked_add(length)?;
                count = count.wrapping_sub(1);
            }
        }
        Some(at)
    }
}

/// Reads an array at `address`.
pub(super) fn array<const N: usize>(
    memory: &mut impl TableMemory,
    address: u64,
) -> Option<[u8; N]> {
    let mut array = [0; N];
    memory.read(address, &mut array).then_some(array)
}
