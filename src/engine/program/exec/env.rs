// SPDX-License-Identifier: GPL-2.0

//! What a program needs from a hit.

use crate::engine::definition::task::TaskNumber;
use crate::engine::record::COMM_LEN;

/// Values that a hit's source passes to its probe.
///
/// The functions must not fault, sleep or take a lock.
///
/// Context: any.
pub trait Arguments {
    /// Returns the register with this index, see
    /// [`Isa::register`](crate::engine::code::arch::Isa::register).
    fn reg(&self, index: u8) -> u64;

    /// Returns word `n` from the stack pointer; 0 outside the stack, and for sources without a
    /// stack.
    #[inline(always)]
    fn stack(&self, _n: u16) -> u64 {
        0
    }

    /// Returns the address to which the function returns; return probes only.
    #[inline(always)]
    fn return_address(&self) -> u64 {
        0
    }

    /// Returns word `n` that [`capture`](super::capture) saved at entry; return probes only.
    #[inline(always)]
    fn entry_data(&self, _n: u16) -> u64 {
        0
    }
}

/// Memory and current task, the same for all sources.
///
/// The functions must not fault, sleep or take a lock.
///
/// Context: any.
pub trait Memory {
    /// Returns the current task's name, padded with NULs.
    fn comm(&self) -> [u8; COMM_LEN];

    /// Returns the address of the current task's `task_struct`.
    fn current(&self) -> u64;

    /// Returns a number of the current task; 0 if it cannot be read.
    fn task(&self, which: TaskNumber) -> u64;

    /// Writes the path of the current task's cgroup with a NUL, skipping the first `skip` bytes.
    /// Returns the same as [`read_string`](Self::read_string).
    fn read_cgroup(&self, skip: usize, out: &mut [u8]) -> Option<usize>;

    /// Returns the time of the hit by the trace clock `local`, in nanoseconds. All calls for one
    /// hit return the same time.
    fn now(&self) -> u64;

    /// Returns the address of this CPU's copy of the per-CPU variable at `address`.
    fn this_cpu(&self, address: u64) -> u64;

    /// Reads memory at a kernel address, or at a user address if it is below the limit of
    /// user space. Returns false if not all of it can be read; the content of `out` is then
    /// undefined.
    fn read(&self, address: u64, out: &mut [u8]) -> bool;

    /// [`read`](Self::read) of 1, 2, 4 or 8 bytes.
    #[inline(always)]
    fn read_word<const N: usize>(&self, address: u64, out: &mut [u8; N]) -> bool {
        self.read(address, out)
    }

    /// [`read`](Self::read) of up to some hundred bytes.
    #[inline(always)]
    fn read_block(&self, address: u64, out: &mut [u8]) -> bool {
        self.read(address, out)
    }

    /// Reads two words and the low half of a third one, at `offsets` from `address`. Returns false
    /// if they cannot be read, or if the caller must use [`read_word`](Self::read_word).
    #[inline(always)]
    fn read_three(&self, address: u64, offsets: [u16; 3], out: &mut [u64; 3]) -> bool {
        let read = |offset: u16, size: usize, out: &mut u64| {
            let mut bytes = [0; 8];
            let address = address.wrapping_add(offset.into());
            let to = bytes.get_mut(..size);
            let is_read = to.is_some_and(|to| self.read(address, to));
            *out = u64::from_le_bytes(bytes);
            is_read
        };
        let ([first, second, third], [to_first, to_second, to_third]) = (offsets, out);
        read(first, 8, to_first) && read(second, 8, to_second) && read(third, 4, to_third)
    }

    /// Reads `length` bytes to the end of `out`; may overwrite the bytes before them. Returns false
    /// if they cannot be read, or if the caller must use [`read_word`](Self::read_word).
    #[inline(always)]
    fn read_to_end(&self, address: u64, length: usize, out: &mut [u8]) -> bool {
        let start = out.len().checked_sub(length);
        let to = start.and_then(|start| out.get_mut(start..));
        to.is_some_and(|to| self.read(address, to))
    }

    /// [`read`](Self::read) of user memory.
    fn read_user(&self, address: u64, out: &mut [u8]) -> bool;

    /// Copies the string at `address` once, with its NUL, and returns the number of bytes.
    /// A number equal to `out.len()` means that the string did not fit, whatever the last
    /// byte is. Returns `None` if the string cannot be read.
    fn read_string(&self, address: u64, user: bool, out: &mut [u8]) -> Option<usize>;

    /// Copies the strings of an array argument of a system call, as they were copied when the call
    /// began, see [`Strings`](crate::engine::program::syscall::Strings), skipping the first `skip`
    /// bytes. `address` is the array's user address. Returns the number of bytes, which is that of
    /// `out` if there may be more; `None` if they could not be read.
    fn read_strings(&self, _address: u64, _skip: usize, _out: &mut [u8]) -> Option<usize> {
        None
    }

    /// Writes symbol and offset of `address` with a NUL, skipping the first `skip` bytes. Returns
    /// the same as [`read_string`](Self::read_string).
    fn read_symbol(&self, address: u64, skip: usize, out: &mut [u8]) -> Option<usize>;
}

/// Everything that a program needs from a hit.
pub trait Env: Arguments + Memory {}

impl<E: Arguments + Memory> Env for E {}
