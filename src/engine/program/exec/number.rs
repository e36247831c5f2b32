// SPDX-License-Identifier: GPL-2.0

//! Arguments as numbers, and numbers derived from others.

use super::env::Env;
use super::value::{end_of, follow};
use crate::engine::definition::task::{self, TaskNumber};
use crate::engine::language::types::{Bits, Derived};
use crate::engine::program::derive;
use crate::engine::program::fetch::{Load, Op, Program, Store, WordRead};
use crate::engine::record::COMM_LEN;

/// Returns the value of argument `index` if it is a whole register; `None` otherwise.
///
/// Context: any.
#[inline(always)]
pub(in crate::engine) fn register<E: Env>(program: &Program, index: u8, env: &E) -> Option<u64> {
    match program.ops.get(usize::from(index))? {
        Op::Load(load) => Some(env.reg(load.reg)),
        _ => None,
    }
}

/// Returns element `n` of argument `index` as a number, without sign extension, or a number of the
/// task for [`task::CGROUP`], [`task::TGID`] and [`task::PID`]; `None` for text and unreadable
/// values.
///
/// Context: any.
pub(in crate::engine) fn number<E: Env>(
    program: &Program,
    index: u8,
    n: u8,
    env: &E,
) -> Option<u64> {
    let Some(op) = program.ops.get(usize::from(index)) else {
        return of_task(index, env);
    };
    match *op {
        Op::Load(Load { reg, width, .. }) => Some(truncate(env.reg(reg), width)),
        Op::Read(WordRead {
            reg, width, offset, ..
        }) => read_number(env, env.reg(reg), i64::from(offset), width, false),
        Op::Comm(_) => None,
        Op::Chain(at) => {
            let chain = program.chains.get(usize::from(at))?;
            read_number(env, end_of(&chain.steps, env)?, 0, chain.width, false)
        }
        Op::General(at) => {
            let arg = program.general.get(usize::from(at))?;
            let from = follow(program, arg, env)?;
            let (value, bits, width) = match arg.store {
                Store::Value { bits, width } => (from, bits, width),
                Store::Memory {
                    offset,
                    user,
                    width,
                    bits,
                    count,
                } if n < count => {
                    let skip = u64::from(width).wrapping_mul(u64::from(n));
                    let from = from.wrapping_add(skip);
                    (read_number(env, from, offset, width, user)?, bits, width)
                }
                Store::Derived {
                    what,
                    offset,
                    read,
                    bits,
                } => {
                    let value = derived(what, env, (from, offset), read, bits)?;
                    (value, None, what.recorded().size())
                }
                _ => return None,
            };
            Some(truncate(
                bits.map_or(value, |bits| bits.extract(value)),
                width,
            ))
        }
    }
}

/// Returns the number of the current task that `index` stands for.
#[inline(never)]
#[link_section = ".kprobes.text"]
fn of_task<E: Env>(index: u8, env: &E) -> Option<u64> {
    match index {
        task::CGROUP => Some(env.task(TaskNumber::Cgroup)),
        task::TGID => Some(env.task(TaskNumber::Process)),
        task::PID => Some(env.task(TaskNumber::Thread)),
        _ => None,
    }
}

/// Returns the low `width` bytes of `value`.
fn truncate(value: u64, width: u8) -> u64 {
    let unused = 64u32.saturating_sub(u32::from(width).saturating_mul(8));
    value.wrapping_shl(unused).wrapping_shr(unused)
}

/// Reads a number of `size` bytes.
pub(super) fn read_number<E: Env>(
    env: &E,
    from: u64,
    offset: i64,
    size: u8,
    user: bool,
) -> Option<u64> {
    let address = from.wrapping_add_signed(offset);
    let mut bytes = [0; 8];
    let to = bytes.get_mut(..usize::from(size))?;
    let read = if user {
        env.read_user(address, to)
    } else {
        env.read(address, to)
    };
    read.then(|| u64::from_le_bytes(bytes))
}

/// Returns the derived value of `at`, or of the `read` bytes at `offset` from that address. Returns
/// `None` if they cannot be read.
#[inline(never)]
#[link_section = ".kprobes.text"]
pub(super) fn derived<E: Env>(
    what: Derived,
    env: &E,
    (at, offset): (u64, i64),
    read: u8,
    bits: Option<Bits>,
) -> Option<u64> {
    // In the kernel, two values of the pointer mean that there is nothing to read.
    match (what, at) {
        (Derived::PidNumber | Derived::SignalErrno | Derived::SignalCode, 0)
        | (Derived::SignalErrno, 1) => return Some(0),
        (Derived::SignalCode, 1) => return Some(0x80),
        _ => {}
    }
    let from_memory = || read_number(env, at, offset, read, false);
    let value = if read == 0 { at } else { from_memory()? };
    let value = bits.map_or(value, |bits| bits.extract(value));
    Some(match what {
        Derived::SwitchState => derive::switch_state(env.reg(0), env.reg(3), value),
        Derived::InheritedPriority => {
            let normal = offset.wrapping_add(derive::NORMAL_PRIORITY);
            let normal = read_number(env, at, normal, 4, false)?;
            match env.reg(1) {
                0 => normal,
                donor => derive::inherited(normal, read_number(env, donor, offset, 4, false)?),
            }
        }
        // CAST: The sign of an `int`.
        Derived::Long => i64::from(value as i32) as u64,
        Derived::RequestSector => derive::request_sector(value),
        // CAST: The same bits.
        Derived::BlockErrno => i64::from(derive::block_errno(value)) as u64,
        _ => value,
    })
}

/// Returns the text derived from the memory at `address`; `None` if it cannot be read.
#[inline(never)]
#[link_section = ".kprobes.text"]
pub(super) fn fixed_text<E: Env>(what: Derived, env: &E, address: u64) -> Option<[u8; COMM_LEN]> {
    if what == Derived::Rwbs {
        return read_number(env, address, 0, 4, false).map(derive::rwbs);
    }
    let mut name = [0; COMM_LEN];
    env.read(address, &mut name).then_some(())?;
    // The memory may have changed meanwhile.
    let [.., last] = &mut name;
    *last = 0;
    Some(name)
}
