// SPDX-License-Identifier: GPL-2.0

//! The sources of keys and values, when a hit is counted.

use core::num::NonZeroU64;

use super::column::{KeySource, KeyStep, BELOW_ZERO, COMM_WORDS, STACK_DEPTH, TEXT_ROOM};
use crate::engine::program::exec::{self, Env};
use crate::engine::program::fetch::Program;
use crate::engine::record::{Header, COMM_LEN};

/// Properties of a hit besides its arguments. Each function is called only if the histogram needs
/// the result.
///
/// The functions must not fault, sleep or take a lock.
///
/// Context: any.
pub trait Moment {
    /// Returns the task's pid.
    fn pid(&self) -> i32;

    /// Returns the header of the hit's record.
    fn header(&self) -> Header;

    /// Returns the number of the CPU.
    fn cpu(&self) -> u32;

    /// Returns `__probe_ip` or `__probe_func`, or the number of a system call.
    fn place(&self) -> u64;

    /// Returns the time, in microseconds if `in_usecs` and the clock counts nanoseconds, otherwise
    /// in units of the clock.
    fn time(&self, in_usecs: bool) -> u64;

    /// Writes the kernel stack to `frames`, innermost first. `frames` is zeroed before; a deeper
    /// stack has a nonzero last frame.
    fn stack(&self, frames: &mut [u64; STACK_DEPTH]);

    /// Writes the user stack like [`Moment::stack`], and returns the pid of the process. In an NMI
    /// and for kernel threads there are no frames.
    fn user_stack(&self, frames: &mut [u64; STACK_DEPTH]) -> u32;
}

/// A source of keys and values: one hit.
///
/// Context: any.
pub trait Values {
    /// Returns a number, sign-extended to 64 bits; 0 if it cannot be read.
    fn number(&self, source: KeySource, in_usecs: bool) -> u64;

    /// Returns element `n` of the array argument `index`; 0 if it cannot be read.
    fn element(&self, index: u8, n: u8) -> u64;

    /// Writes a string with its NUL and returns its length, or the length of `out` if it does not
    /// fit; `None` if it cannot be read.
    fn text(&self, index: u8, out: &mut [u8; TEXT_ROOM]) -> Option<usize>;

    /// Returns the name of the task.
    fn comm(&self) -> [u8; COMM_LEN];

    /// See [`Moment::stack`].
    fn stack(&self, frames: &mut [u64; STACK_DEPTH]);

    /// See [`Moment::user_stack`].
    fn user_stack(&self, frames: &mut [u64; STACK_DEPTH]) -> u32;
}

/// A probe's hit, whose arguments are fetched from registers and memory.
#[derive(Clone, Copy)]
pub struct ProbeHit<'a, E, M> {
    /// The program of the probe.
    pub program: &'a Program,
    /// Registers and memory.
    pub env: &'a E,
    /// Task, CPU, time and stacks.
    pub moment: &'a M,
}

impl<E: Env, M: Moment> Values for ProbeHit<'_, E, M> {
    #[inline(always)]
    fn number(&self, source: KeySource, in_usecs: bool) -> u64 {
        match source {
            KeySource::Argument {
                index,
                width,
                signed,
            } => {
                let value = match exec::register(self.program, index, self.env) {
                    Some(value) => Some(value),
                    None => exec::number(self.program, index, 0, self.env),
                };
                extend(value.unwrap_or(0), width, signed)
            }
            // CAST: extends the sign.
            KeySource::Pid => i64::from(self.moment.pid()) as u64,
            KeySource::Cpu => u64::from(self.moment.cpu()),
            KeySource::Hits => 1,
            KeySource::Place => self.moment.place(),
            KeySource::Time => self.moment.time(in_usecs),
            KeySource::ReturnAddress => self.env.return_address(),
            KeySource::Type => u64::from(self.moment.header().event),
            KeySource::Flags => u64::from(self.moment.header().flags),
            KeySource::PreemptCount => u64::from(self.moment.header().preempt_count),
            KeySource::Array { .. }
            | KeySource::Text { .. }
            | KeySource::Comm
            | KeySource::Stack
            | KeySource::UserStack
            | KeySource::Computed { .. } => 0,
        }
    }

    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn element(&self, index: u8, n: u8) -> u64 {
        exec::number(self.program, index, n, self.env).unwrap_or(0)
    }

    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn text(&self, index: u8, out: &mut [u8; TEXT_ROOM]) -> Option<usize> {
        exec::peek_text(self.program, index, 0, self.env, out).map(<[u8]>::len)
    }

    fn comm(&self) -> [u8; COMM_LEN] {
        self.env.comm()
    }

    fn stack(&self, frames: &mut [u64; STACK_DEPTH]) {
        self.moment.stack(frames);
    }

    fn user_stack(&self, frames: &mut [u64; STACK_DEPTH]) -> u32 {
        self.moment.user_stack(frames)
    }
}

/// Returns the low `width` bytes of `value`, sign-extended if `signed`.
#[inline(always)]
pub(super) fn extend(value: u64, width: u8, signed: bool) -> u64 {
    let unused = 64u32.wrapping_sub(u32::from(width).wrapping_mul(8));
    let high = value.wrapping_shl(unused);
    if signed {
        // CAST: extends the sign.
        (high as i64).wrapping_shr(unused) as u64
    } else {
        high.wrapping_shr(unused)
    }
}

/// Transforms a number by `step`.
#[inline(always)]
pub(super) fn stepped(step: KeyStep, value: u64) -> u64 {
    match step {
        KeyStep::None => value,
        KeyStep::Log2 => log2(value),
        KeyStep::Bucket { size, last } if value <= last => start_of_bucket(value, size),
        KeyStep::Bucket { size, last } => stepped_beyond(value, size, last == 0),
    }
}

/// Transforms a number outside of non-negative buckets: negative, or with a logarithm if `is_log2`.
#[inline(always)]
fn stepped_beyond(value: u64, size: NonZeroU64, is_log2: bool) -> u64 {
    match (is_log2, is_negative(value)) {
        (true, true) => BELOW_ZERO,
        (true, false) => log2(value),
        (false, _) => {
            // The distance of the bucket's upper end from zero.
            let near = start_of_bucket(!value, size);
            let far = near.saturating_add(size.get()).min(1 << 63);
            far.wrapping_neg()
        }
    }
}

#[inline(always)]
fn is_negative(value: u64) -> bool {
    value >> 63 != 0
}

#[inline(always)]
fn start_of_bucket(value: u64, size: NonZeroU64) -> u64 {
    let rest = value.checked_rem(size.get()).unwrap_or(0);
    value.wrapping_sub(rest)
}

/// Returns the exponent of the least power of two that is not less than `value`: the kernel's
/// `order_base_2()`.
#[inline(always)]
fn log2(value: u64) -> u64 {
    match value {
        0 | 1 => 0,
        value => u64::from(64u32.wrapping_sub(value.wrapping_sub(1).leading_zeros())),
    }
}

/// Returns a comm as words.
pub(super) fn comm_words(comm: [u8; COMM_LEN]) -> [u64; COMM_WORDS] {
    let whole = u128::from_le_bytes(comm);
    // CAST: the low and the high half.
    [whole as u64, (whole >> 64) as u64]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::hist::column::Modifier;

    #[test]
    fn log2_is_the_kernels() {
        let expected = [(0, 0), (1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (1024, 10)];
        for (value, log) in expected {
            assert_eq!(log2(value), log, "{value}");
        }
        assert_eq!(log2(1025), 11);
        assert_eq!(log2(u64::MAX), 64);
    }

    #[test]
    fn numbers_below_zero_have_buckets_and_one_logarithm() {
        let bucket = |value: i64, size| {
            let size = NonZeroU64::new(size).unwrap();
            stepped(Modifier::SignedBuckets(size).step(), value as u64) as i64
        };
        for (value, size, start) in [
            (0, 10, 0),
            (9, 10, 0),
            (-1, 10, -10),
            (-10, 10, -10),
            (-11, 10, -20),
            (-1, 1, -1),
            (i64::MAX, 1 << 62, 1 << 62),
            (i64::MIN, 7, i64::MIN),
            (-1, u64::MAX, i64::MIN),
        ] {
            assert_eq!(bucket(value, size), start, "{value} {size}");
        }
        let log2 = |value: i64| stepped(Modifier::SignedLog2.step(), value as u64);
        assert_eq!([log2(0), log2(2), log2(i64::MAX)], [0, 1, 63]);
        assert_eq!([log2(-1), log2(i64::MIN)], [BELOW_ZERO; 2]);
        assert_eq!(stepped(Modifier::Log2.step(), u64::MAX), 64);
        let unsigned = Modifier::Buckets(NonZeroU64::new(10).unwrap()).step();
        assert_eq!(stepped(unsigned, u64::MAX), u64::MAX - 5);
        assert_eq!(stepped(Modifier::Hex.step(), u64::MAX), u64::MAX);
    }

    #[test]
    fn numbers_are_extended() {
        assert_eq!(extend(0x1ff, 1, false), 0xff);
        assert_eq!(extend(0x1ff, 1, true), u64::MAX);
        assert_eq!(extend(0x1_8000_0000, 4, true), 0xffff_ffff_8000_0000);
        assert_eq!(extend(7, 8, true), 7);
    }
}
