// SPDX-License-Identifier: GPL-2.0

//! Where keys and values come from when a hit is counted.

use super::spec::{Modifier, Source, COMM_WORDS, STACK_DEPTH, TEXT_SIZE};
use crate::engine::exec::{self, Env};
use crate::engine::fetch::Program;
use crate::engine::record::{Header, COMM_LEN};

/// What is known of a hit beside its arguments. Each function is called only if the
/// histogram needs its result.
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

    /// Returns `__probe_ip` or `__probe_func`; the number of a system call.
    fn place(&self) -> u64;

    /// Returns the time: in microseconds, if `in_usecs` and the clock counts nanoseconds;
    /// otherwise as the clock counts.
    fn time(&self, in_usecs: bool) -> u64;

    /// Writes the addresses of the stack's frames, the innermost first; zeroes behind them.
    fn stack(&self, frames: &mut [u64; STACK_DEPTH]);
}

/// A source of keys and values: one hit.
///
/// Context: any.
pub trait Values {
    /// Returns a number, with its sign extended to 64 bits; 0 if it cannot be read.
    fn number(&self, source: Source, in_usecs: bool) -> u64;

    /// Writes a text without its NUL and returns its length, truncated at the end of `out`;
    /// `None` if it cannot be read.
    fn text(&self, index: u8, out: &mut [u8; TEXT_SIZE]) -> Option<usize>;

    /// Returns the name of the task.
    fn comm(&self) -> [u8; COMM_LEN];

    /// Writes the frames of the stack; zeroes behind them.
    fn stack(&self, frames: &mut [u64; STACK_DEPTH]);
}

/// The hit of a probe, whose arguments are fetched from registers and memory.
#[derive(Clone, Copy)]
pub struct ProbeHit<'a, E, M> {
    /// The program of the probe.
    pub program: &'a Program,
    /// Registers and memory.
    pub env: &'a E,
    /// What else is known.
    pub moment: &'a M,
}

impl<E: Env, M: Moment> Values for ProbeHit<'_, E, M> {
    #[inline(always)]
    fn number(&self, source: Source, in_usecs: bool) -> u64 {
        match source {
            Source::Argument {
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
            Source::Pid => i64::from(self.moment.pid()) as u64,
            Source::Cpu => u64::from(self.moment.cpu()),
            Source::Hits => 1,
            Source::Place => self.moment.place(),
            Source::Time => self.moment.time(in_usecs),
            Source::ReturnAddress => self.env.return_address(),
            Source::Type => u64::from(self.moment.header().event),
            Source::Flags => u64::from(self.moment.header().flags),
            Source::PreemptCount => u64::from(self.moment.header().preempt_count),
            Source::Text { .. } | Source::Comm | Source::Stack => 0,
        }
    }

    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn text(&self, index: u8, out: &mut [u8; TEXT_SIZE]) -> Option<usize> {
        exec::peek_text(self.program, index, 0, self.env, out).map(<[u8]>::len)
    }

    fn comm(&self) -> [u8; COMM_LEN] {
        self.env.comm()
    }

    fn stack(&self, frames: &mut [u64; STACK_DEPTH]) {
        self.moment.stack(frames);
    }
}

/// Returns the low `width` bytes of `value`, with their sign if `signed`.
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

/// Returns a number as its key.
#[inline(always)]
pub(super) fn modified(modifier: Modifier, value: u64) -> u64 {
    match modifier {
        Modifier::Log2 => log2(value),
        Modifier::Buckets(size) => {
            let rest = value.checked_rem(size.get()).unwrap_or(0);
            value.wrapping_sub(rest)
        }
        _ => value,
    }
}

/// Returns the least power of two that `value` does not exceed: the kernel's
/// `order_base_2()`.
#[inline(always)]
fn log2(value: u64) -> u64 {
    match value {
        0 | 1 => 0,
        value => u64::from(64u32.wrapping_sub(value.wrapping_sub(1).leading_zeros())),
    }
}

/// Returns a task's name in words.
pub(super) fn comm_words(comm: [u8; COMM_LEN]) -> [u64; COMM_WORDS] {
    let whole = u128::from_le_bytes(comm);
    // CAST: the low and the high half.
    [whole as u64, (whole >> 64) as u64]
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn numbers_are_extended() {
        assert_eq!(extend(0x1ff, 1, false), 0xff);
        assert_eq!(extend(0x1ff, 1, true), u64::MAX);
        assert_eq!(extend(0x1_8000_0000, 4, true), 0xffff_ffff_8000_0000);
        assert_eq!(extend(7, 8, true), 7);
    }
}
