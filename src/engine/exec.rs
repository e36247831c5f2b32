// SPDX-License-Identifier: GPL-2.0

//! Runs a fetch program: the part of a probe hit that depends on the definition.
//!
//! [`run`] and [`capture`] take no lock, do not allocate, loop only over the bounded lists
//! of a compiled [`Program`](super::fetch::Program), and cannot panic. Memory is read only
//! through [`Memory`], whose reads cannot fault.
//!
//! Context: any.

mod peek;

pub use peek::{copy_text, field_value};
pub(super) use peek::{each_piece, each_piece_at, peek_text};

use super::derive;
use super::fetch::{
    saved_words, Constant, General, Hop, Load, LoadOrigin, Op, Program, Steps, Store, WordRead,
};
use super::paths::{write_path, PathSource, PathStart};
use super::record::{self, Faults, COMM_LEN};
use super::seq_buf::copy;
use super::task::{self, TaskNumber};
use super::types::{Bits, Derived};
use crate::sys;

/// What the source of a hit passes to its probe.
///
/// The functions must not fault, sleep or take a lock.
///
/// Context: any.
pub trait Arguments {
    /// Returns the register with this index, see
    /// [`Isa::register`](super::arch::Isa::register).
    fn reg(&self, index: u8) -> u64;

    /// Returns word `n` from the stack pointer; 0 outside the stack, and for a source that
    /// has none.
    #[inline(always)]
    fn stack(&self, _n: u16) -> u64 {
        0
    }

    /// Returns the address to which the function returns; return probes only.
    #[inline(always)]
    fn return_address(&self) -> u64 {
        0
    }

    /// Returns word `n` of what [`capture`] saved at entry; return probes only.
    #[inline(always)]
    fn entry_data(&self, _n: u16) -> u64 {
        0
    }
}

/// The memory and the current task of the machine, the same for all sources.
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

    /// Writes the path of the current task's cgroup with a NUL, but for the first `skip` bytes.
    /// Returns the same as [`read_string`](Self::read_string).
    fn read_cgroup(&self, skip: usize, out: &mut [u8]) -> Option<usize>;

    /// Returns the time by the trace clock `local`, in nanoseconds.
    fn now(&self) -> u64;

    /// Returns the address of this CPU's copy of the per-CPU variable at `address`.
    fn this_cpu(&self, address: u64) -> u64;

    /// Reads memory at a kernel address, or at a user address if it is below the limit of
    /// user space. Returns false if not all of it can be read; the content of `out` is then
    /// undefined.
    fn read(&self, address: u64, out: &mut [u8]) -> bool;

    /// As [`read`](Self::read), for 1, 2, 4 or 8 bytes.
    #[inline(always)]
    fn read_word<const N: usize>(&self, address: u64, out: &mut [u8; N]) -> bool {
        self.read(address, out)
    }

    /// As [`read`](Self::read), for user memory.
    fn read_user(&self, address: u64, out: &mut [u8]) -> bool;

    /// Copies the string at `address` once, with its NUL, and returns the number of bytes.
    /// A number equal to `out.len()` means that the string did not fit, whatever the last
    /// byte is. Returns `None` if the string cannot be read.
    fn read_string(&self, address: u64, user: bool, out: &mut [u8]) -> Option<usize>;

    /// Copies the strings of an array that a system call was given at the user's `address`: what
    /// was copied when it began, see [`Strings`](super::syscall::Strings). Returns their number
    /// of bytes; `None` if they could not be read.
    fn read_strings(&self, _address: u64, _out: &mut [u8]) -> Option<usize> {
        None
    }

    /// Writes symbol and offset of `address` with a NUL, but for the first `skip` bytes.
    /// Returns the same as [`read_string`](Self::read_string).
    fn read_symbol(&self, address: u64, skip: usize, out: &mut [u8]) -> Option<usize>;
}

/// What a program needs from a hit.
pub trait Env: Arguments + Memory {}

impl<E: Arguments + Memory> Env for E {}

/// Fetches the arguments of one hit into the record `out` and returns the record's length.
///
/// The caller writes the parts of the record before the arguments. `out` must have the
/// length [`Program::size`]; a shorter one lacks the arguments that do not fit.
///
/// Context: any.
#[inline(always)]
pub fn run<E: Env>(program: &Program, env: &E, out: &mut [u8]) -> usize {
    run_compact(program, env, out);
    if program.is_compact() {
        usize::from(program.fixed)
    } else {
        run_general(program, env, out)
    }
}

/// Fetches the arguments of the common shapes, as a part of [`run`]. Makes no calls, so that
/// `env` need not exist in memory.
///
/// Context: any.
#[inline(always)]
pub fn run_compact<E: Env>(program: &Program, env: &E, out: &mut [u8]) {
    run_quiet(program, env, out);
    for read in &program.reads {
        let address = env
            .reg(read.reg)
            .wrapping_add_signed(i64::from(read.offset));
        // The compiler would test the most frequent width last.
        let done = if read.width == 8 {
            read_to::<8, E>(env, address, out, read.dst)
        } else {
            cold();
            match read.width {
                4 => read_to::<4, E>(env, address, out, read.dst),
                2 => read_to::<2, E>(env, address, out, read.dst),
                _ => read_to::<1, E>(env, address, out, read.dst),
            }
        };
        if !done {
            failed(
                program,
                out,
                read.dst,
                u16::from(read.width),
                Some(read.fault),
            );
        }
    }
}

/// Fetches the arguments that are in registers, and the task's name, as a part of [`run`]:
/// all of a program that [is quiet](Program::is_quiet).
///
/// Context: any.
#[inline(always)]
pub fn run_quiet<E: Env>(program: &Program, env: &E, out: &mut [u8]) {
    if let Some(Faults { offset, size }) = program.faults {
        match size.get() {
            1 => put(out, offset, [0; 1]),
            size => {
                cold();
                fill(out, offset, u16::from(size))
            }
        }
    }
    for load in &program.words {
        put(out, load.dst, env.reg(load.reg).to_le_bytes());
    }
    for load in &program.narrow {
        let [b0, b1, b2, b3, ..] = env.reg(load.reg).to_le_bytes();
        match load.width {
            4 => put(out, load.dst, [b0, b1, b2, b3]),
            2 => put(out, load.dst, [b0, b1]),
            _ => put(out, load.dst, [b0]),
        }
    }
    for comm in &program.comms {
        put(out, comm.at, env.comm());
        put(
            out,
            comm.dst,
            record::data_loc(comm.at, COMM_LEN_U16).to_le_bytes(),
        );
    }
}

/// Fetches all other arguments, as a part of [`run`].
///
/// Context: any.
#[inline(always)]
pub fn run_general<E: Env>(program: &Program, env: &E, out: &mut [u8]) -> usize {
    run_chains(program, env, out);
    let mut end = program.fixed;
    for arg in &program.general {
        end = general(program, arg, env, out, end);
    }
    usize::from(end)
}

/// Fetches the memory behind pointers, as a part of [`run_general`].
///
/// Context: any.
#[inline(always)]
pub fn run_chains<E: Env>(program: &Program, env: &E, out: &mut [u8]) {
    for chain in &program.chains {
        let (dst, width, fault) = (chain.dst, chain.width, chain.fault);
        let Some(address) = end_of(&chain.steps, env) else {
            failed(program, out, dst, u16::from(width), Some(fault));
            continue;
        };
        let done = if width == 8 {
            read_to::<8, E>(env, address, out, dst)
        } else {
            cold();
            match width {
                4 => read_to::<4, E>(env, address, out, dst),
                2 => read_to::<2, E>(env, address, out, dst),
                _ => read_to::<1, E>(env, address, out, dst),
            }
        };
        if !done {
            failed(program, out, dst, u16::from(width), Some(fault));
        }
    }
}

/// Returns the address of the string that is the only general argument, and whether it is
/// expressly in the user's memory; `None` if there is no such string, or if a pointer to it
/// cannot be read.
///
/// Context: any.
#[inline(always)]
pub fn find_text<E: Env>(program: &Program, env: &E) -> Option<(u64, bool)> {
    let text = program.only_text.as_ref()?;
    Some((end_of(&text.steps, env)?, text.user))
}

/// Writes words as the arguments of a record, as many as there is room for.
///
/// Context: any.
#[inline(always)]
pub fn put_words<const N: usize>(words: [u64; N], out: &mut [u8]) {
    let Some((_, mut rest)) = out.split_first_chunk_mut::<{ record::PROBE_SIZE }>() else {
        return;
    };
    for word in words {
        let Some((to, behind)) = rest.split_first_chunk_mut() else {
            return;
        };
        sys::store(to, word.to_le_bytes());
        rest = behind;
    }
}

/// Returns the length of the record of a program whose other arguments are texts of so many
/// bytes together.
///
/// Context: any.
#[inline(always)]
pub fn length_with(program: &Program, texts: usize) -> usize {
    usize::from(program.fixed).wrapping_add(texts)
}

/// Writes texts that are known already, instead of [`run_general`].
///
/// Context: any.
#[inline(always)]
pub fn put_texts<'a>(program: &Program, texts: impl Iterator<Item = &'a [u8]>, out: &mut [u8]) {
    let mut end = program.fixed;
    for (arg, text) in program.general.iter().zip(texts) {
        // CAST: A record is shorter than 64 KiB.
        let length = text.len() as u16;
        if let Some(to) = field(out, end, length) {
            copy(to, text);
        }
        put(out, arg.dst, record::data_loc(end, length).to_le_bytes());
        end = end.wrapping_add(length);
    }
}

/// [`COMM_LEN`] in the type that the record uses.
const COMM_LEN_U16: u16 = 16;

/// Saves the function's arguments that the program needs at return.
///
/// Context: any.
#[inline(always)]
pub fn capture<E: Env>(program: &Program, env: &E, data: &mut [u64]) {
    for (word, origin) in data.iter_mut().zip(&program.entry) {
        *word = value(*origin, env);
    }
}

#[inline(always)]
fn field(out: &mut [u8], at: u16, size: u16) -> Option<&mut [u8]> {
    let at = usize::from(at);
    // Two 16-bit numbers: the sum does not overflow.
    out.get_mut(at..at.wrapping_add(usize::from(size)))
}

#[inline(always)]
fn put<const N: usize>(out: &mut [u8], at: u16, bytes: [u8; N]) {
    if !record::put(out, usize::from(at), bytes) {
        cold();
    }
}

/// Marks the branch that calls this as unlikely.
#[cold]
fn cold() {}

/// Reads memory into the `N` bytes at `at`.
#[inline(always)]
fn read_to<const N: usize, E: Env>(env: &E, address: u64, out: &mut [u8], at: u16) -> bool {
    let at = usize::from(at);
    // As in `field`.
    let to = out.get_mut(at..at.wrapping_add(N));
    to.and_then(|to| to.try_into().ok())
        .is_some_and(|to| env.read_word::<N>(address, to))
}

#[inline]
fn fill(out: &mut [u8], at: u16, size: u16) {
    if let Some(to) = field(out, at, size) {
        to.fill(0);
    }
}

/// Records that an argument could not be read: zeroes and its fault bit.
#[cold]
#[inline(never)]
#[link_section = ".kprobes.text"]
fn failed(program: &Program, out: &mut [u8], dst: u16, size: u16, fault: Option<u8>) {
    fill(out, dst, size);
    if let (Some(faults), Some(fault)) = (program.faults, fault) {
        faults.set(out, fault);
    }
}

#[inline(always)]
fn value<E: Env>(origin: LoadOrigin, env: &E) -> u64 {
    match origin {
        LoadOrigin::Register(reg) => env.reg(reg),
        LoadOrigin::Stack(n) => env.stack(n),
        LoadOrigin::Immediate(value) => value,
        LoadOrigin::EntryData(n) => env.entry_data(n),
        LoadOrigin::ReturnAddress => env.return_address(),
        LoadOrigin::Current => env.current(),
        LoadOrigin::Task(which) => env.task(which),
        LoadOrigin::Now => env.now(),
        // The clock may differ between CPUs by some nanoseconds.
        LoadOrigin::Since(n) => env.now().saturating_sub(env.entry_data(n)),
        LoadOrigin::Behind { reg, offset } => behind(env, env.reg(reg), offset),
        LoadOrigin::AreReadable { reg, offset, size } => {
            are_readable(env, env.reg(reg), offset, size)
        }
    }
}

/// Returns the word `offset` bytes from `address`, 0 if it cannot be read.
#[inline(never)]
#[link_section = ".kprobes.text"]
fn behind<E: Env>(env: &E, address: u64, offset: i32) -> u64 {
    let address = address.wrapping_add_signed(i64::from(offset));
    word(env, address, false).unwrap_or(0)
}

/// Returns 1 if the first and the last of `size` bytes there can be read, otherwise 0.
#[cold]
#[inline(never)]
#[link_section = ".kprobes.text"]
fn are_readable<E: Env>(env: &E, address: u64, offset: i32, size: u16) -> u64 {
    let first = address.wrapping_add_signed(i64::from(offset));
    let last = first.wrapping_add(u64::from(size.saturating_sub(1)));
    let is_read = |address| env.read_word(address, &mut [0]);
    u64::from(is_read(first) && is_read(last))
}

/// Reads a word at `address`.
#[inline]
fn word<E: Env>(env: &E, address: u64, user: bool) -> Option<u64> {
    let mut bytes = [0; 8];
    let read = if user {
        env.read_user(address, &mut bytes)
    } else {
        env.read_word(address, &mut bytes)
    };
    read.then(|| u64::from_le_bytes(bytes))
}

/// Returns the address to which `steps` lead, or `None` if a pointer cannot be read.
#[inline(always)]
fn end_of<E: Env>(steps: &Steps, env: &E) -> Option<u64> {
    let mut at = env.reg(steps.reg);
    for offset in steps.pointers() {
        let mut bytes = [0; 8];
        if !env.read_word(at.wrapping_add_signed(offset), &mut bytes) {
            return None;
        }
        at = u64::from_le_bytes(bytes);
    }
    Some(at.wrapping_add_signed(i64::from(steps.offset)))
}

/// Follows the argument's links; returns `None` if one cannot be read.
fn follow<E: Env>(program: &Program, arg: &General, env: &E) -> Option<u64> {
    let mut at = value(arg.origin, env);
    let (first, last) = (usize::from(arg.links.0), usize::from(arg.links.1));
    for link in program.links.get(first..last).unwrap_or(&[]) {
        at = match *link {
            Hop::Read { offset, user } => word(env, at.wrapping_add_signed(offset), user)?,
            Hop::ThisCpu => env.this_cpu(at),
        };
    }
    Some(at)
}

/// Fetches an argument of any shape. `end` is the current end of the record; returns the
/// new end.
#[inline(never)]
#[link_section = ".kprobes.text"]
fn general<E: Env>(program: &Program, arg: &General, env: &E, out: &mut [u8], end: u16) -> u16 {
    let (dst, fault) = (arg.dst, arg.fault);
    let size = arg.store.size();
    if let Store::Constant(constant) = arg.store {
        constant_text(program, constant, out, dst);
        return end;
    }
    let Some(at) = follow(program, arg, env) else {
        failed(program, out, dst, size, fault);
        if let Store::Whole { size, at, .. } = arg.store {
            fill(out, at, size);
        }
        return end;
    };
    match arg.store {
        Store::Value { bits, width } => {
            let value = bits.map_or(at, |bits| bits.extract(at));
            store(out, dst, width, value);
        }
        Store::Memory {
            offset,
            user,
            width,
            bits: Some(bits),
            count,
        } => {
            for n in 0..u16::from(count) {
                let step = n.wrapping_mul(u16::from(width));
                let address = at.wrapping_add_signed(offset).wrapping_add(u64::from(step));
                let mut bytes = [0; 8];
                let to = bytes.get_mut(..usize::from(width)).unwrap_or(&mut []);
                if !(if user {
                    env.read_user(address, to)
                } else {
                    env.read(address, to)
                }) {
                    failed(program, out, dst, size, fault);
                    break;
                }
                store(
                    out,
                    dst.wrapping_add(step),
                    width,
                    bits.extract(u64::from_le_bytes(bytes)),
                );
            }
        }
        Store::Memory {
            offset,
            user,
            width,
            bits: None,
            count,
        } => {
            let address = at.wrapping_add_signed(offset);
            let read = match (user, count, width) {
                (false, 1, 8) => read_to::<8, E>(env, address, out, dst),
                (false, 1, 4) => read_to::<4, E>(env, address, out, dst),
                (true, ..) => field(out, dst, size).is_some_and(|to| env.read_user(address, to)),
                _ => field(out, dst, size).is_some_and(|to| env.read(address, to)),
            };
            if !read {
                failed(program, out, dst, size, fault);
            }
        }
        Store::Text { offset, user } => {
            let address = at.wrapping_add_signed(offset);
            let later = arg.texts_behind;
            return text(out, dst, end, later, |to| {
                env.read_string(address, user, to)
            });
        }
        Store::Joined {
            offset,
            user_pointers,
            user,
        } => {
            let pointers = (at.wrapping_add_signed(offset), user_pointers);
            return text(out, dst, end, arg.texts_behind, |to| {
                joined(env, pointers, user, to)
            });
        }
        Store::Symbol => {
            return text(out, dst, end, arg.texts_behind, |to| {
                env.read_symbol(at, 0, to)
            });
        }
        Store::Strings => {
            let later = arg.texts_behind;
            return text(out, dst, end, later, |to| env.read_strings(at, to));
        }
        Store::CgroupPath => {
            return text(out, dst, end, arg.texts_behind, |to| env.read_cgroup(0, to));
        }
        Store::Path { offset, start } => {
            let at = (at.wrapping_add_signed(offset), start);
            return text(out, dst, end, arg.texts_behind, |to| {
                path(program, env, at, 0, to)
            });
        }
        Store::Texts {
            offset,
            user_pointers,
            user,
            count,
        } => {
            let mut end = end;
            for n in 0..u16::from(count) {
                let slot = u64::from(n).wrapping_mul(8);
                let pointer = at.wrapping_add_signed(offset).wrapping_add(slot);
                let later = arg.texts_behind.saturating_add(u16::from(count) - 1 - n);
                end = text(out, dst.wrapping_add(n.wrapping_mul(4)), end, later, |to| {
                    env.read_string(word(env, pointer, user_pointers)?, user, to)
                });
            }
            return end;
        }
        Store::FixedText {
            offset,
            at: text_at,
            what,
        } => {
            let text = fixed_text(what, env, at.wrapping_add_signed(offset));
            let length = if text.is_some() { COMM_LEN_U16 } else { 0 };
            put(out, text_at, text.unwrap_or_default());
            put(out, dst, record::data_loc(text_at, length).to_le_bytes());
        }
        Store::Whole {
            offset,
            user,
            size,
            at: whole_at,
        } => {
            let address = at.wrapping_add_signed(offset);
            let read = field(out, whole_at, size).is_some_and(|to| match user {
                true => env.read_user(address, to),
                false => env.read(address, to),
            });
            let length = if read { size } else { 0 };
            if !read {
                fill(out, whole_at, size);
            }
            put(out, dst, record::data_loc(whole_at, length).to_le_bytes());
        }
        Store::Changes {
            offset,
            size,
            first,
            at: changes_at,
        } => {
            let address = at.wrapping_add_signed(offset);
            let saved = (first, changes_at);
            let is_read = changes(env, address, size, saved, out);
            let length = if is_read { size.wrapping_mul(2) } else { 0 };
            put(out, dst, record::data_loc(changes_at, length).to_le_bytes());
        }
        Store::Derived {
            what,
            offset,
            read,
            bits,
        } => match derived(what, env, (at, offset), read, bits) {
            Some(value) => store(out, dst, what.recorded().size(), value),
            None => failed(program, out, dst, size, fault),
        },
        Store::Constant(_) => {}
    }
    end
}

/// Stores the low `width` bytes of `value`.
fn store(out: &mut [u8], dst: u16, width: u8, value: u64) {
    let bytes = value.to_le_bytes();
    if let (Some(to), Some(from)) = (
        field(out, dst, u16::from(width)),
        bytes.get(..usize::from(width)),
    ) {
        to.copy_from_slice(from);
    }
}

/// Writes the `size` bytes of a structure as they were saved from the word `first` on, to `at`,
/// and behind them those at `address`. Returns false, and zeros, if they could not be read.
#[inline(never)]
#[link_section = ".kprobes.text"]
fn changes<E: Env>(
    env: &E,
    address: u64,
    size: u16,
    (first, at): (u16, u16),
    out: &mut [u8],
) -> bool {
    let mut is_read = env.entry_data(first) != 0;
    if let Some(to) = field(out, at, size) {
        let mut slot = first;
        for start in saved_words(size) {
            slot = slot.wrapping_add(1);
            let word = env.entry_data(slot).to_le_bytes();
            let to = to.get_mut(usize::from(start)..).unwrap_or_default();
            for (to, from) in to.iter_mut().zip(word) {
                *to = from;
            }
        }
    }
    let after = field(out, at.wrapping_add(size), size);
    is_read &= after.is_some_and(|to| env.read(address, to));
    if !is_read {
        fill(out, at, size.wrapping_mul(2));
    }
    is_read
}

/// Copies a string known since the definition into the record.
fn constant_text(program: &Program, constant: Constant, out: &mut [u8], dst: u16) {
    let start = usize::from(constant.start);
    let from = program
        .texts
        .get(start..start.wrapping_add(usize::from(constant.len)));
    if let (Some(from), Some(to)) = (from, field(out, constant.at, constant.len)) {
        to.copy_from_slice(from);
    }
    put(
        out,
        dst,
        record::data_loc(constant.at, constant.len).to_le_bytes(),
    );
}

/// Most bytes of one string, with its NUL: `PATH_MAX`.
const MAX_STRING: usize = 4096;

/// Most bytes that a long string leaves for each later one.
const RESERVED: usize = 64;

/// Calls `read` to write a string at `end`, leaving room for the `later` strings, and
/// points the word at `dst` to it. Returns the new end.
///
/// Whole strings end in one NUL, truncated ones in two, see [`record::text`]; a string that
/// cannot be read has length zero.
#[inline(never)]
#[link_section = ".kprobes.text"]
fn text(
    out: &mut [u8],
    dst: u16,
    end: u16,
    later: u16,
    read: impl FnOnce(&mut [u8]) -> Option<usize>,
) -> u16 {
    let start = usize::from(end);
    let later = usize::from(later);
    let mut limit = out.len();
    if later != 0 {
        let left = limit.saturating_sub(start);
        let share = left.checked_div(later.saturating_add(1)).unwrap_or(0);
        limit = limit.saturating_sub(share.min(RESERVED).saturating_mul(later));
    }
    let limit = limit.min(start.saturating_add(MAX_STRING));
    // Two NULs at the end of that many bytes are the padding of a task's name.
    let ambiguous = limit == start.saturating_add(COMM_LEN);
    let limit = limit.saturating_sub(usize::from(ambiguous));
    let length = match out.get_mut(start..limit) {
        // The mark for truncated text takes two bytes.
        Some(room) if room.len() >= 2 => {
            let most = room.len() - 1;
            match room.get_mut(..most).and_then(read) {
                None => 0,
                Some(n) if n < most => n,
                Some(_) => {
                    if let [.., nul, mark] = room {
                        *nul = 0;
                        *mark = 0;
                    }
                    room.len()
                }
            }
        }
        _ => 0,
    };
    // CAST: a record is shorter than 64 KiB, and `out` bounds the sum.
    let length = length.min(usize::from(u16::MAX - end)) as u16;
    put(out, dst, record::data_loc(end, length).to_le_bytes());
    end.wrapping_add(length)
}

/// Where paths are read, for [`write_path`].
struct PathsOf<'a, E>(&'a E);

impl<E: Env> PathSource for PathsOf<'_, E> {
    #[inline(always)]
    fn task(&self) -> u64 {
        self.0.current()
    }

    #[inline(always)]
    fn bytes<const N: usize>(&self, address: u64, to: &mut [u8; N]) -> bool {
        self.0.read_word(address, to)
    }
}

/// Writes the path of what is at an address, see [`write_path`].
fn path<E: Env>(
    program: &Program,
    env: &E,
    at: (u64, PathStart),
    skip: usize,
    out: &mut [u8],
) -> Option<usize> {
    write_path(program.paths.as_deref()?, at, &PathsOf(env), skip, out)
}

/// Most strings of an array up to a NULL.
const MAX_JOINED: u64 = 64;

/// Writes the strings of an array that ends at a NULL, with a space between two of them and a
/// NUL behind the last one. `pointers` is the address of the array, and whether it is expressly
/// in the user's memory. Returns the same as [`Memory::read_string`]; `None` if the array
/// cannot be read.
///
/// A string that cannot be read is `(fault)`, and what follows [`MAX_JOINED`] of them `...`.
fn joined<E: Env>(
    env: &E,
    (first, user_pointers): (u64, bool),
    user: bool,
    out: &mut [u8],
) -> Option<usize> {
    let mut end = 0usize;
    for n in 0..=MAX_JOINED {
        let address = first.wrapping_add(n.wrapping_mul(8));
        let pointer = match word(env, address, user_pointers) {
            Some(0) => break,
            None if n == 0 => return None,
            pointer => pointer,
        };
        if n > 0 {
            *out.get_mut(end)? = b' ';
            end = end.wrapping_add(1);
        }
        let room = out.get_mut(end..).unwrap_or_default();
        let pointer_or_end = pointer.filter(|_| n < MAX_JOINED);
        let length = match pointer_or_end.and_then(|at| env.read_string(at, user, room)) {
            Some(length) => length,
            None if n == MAX_JOINED => put_constant(b"...\0", room),
            None => put_constant(b"(fault)\0", room),
        };
        if length >= room.len() {
            return Some(out.len());
        }
        // The next space, or the last NUL, takes the place of the NUL.
        end = end.wrapping_add(length.saturating_sub(1));
        if pointer.is_none() {
            break;
        }
    }
    *out.get_mut(end)? = 0;
    Some(end.wrapping_add(1))
}

/// Writes `text`, as much of it as fits, and returns its length.
fn put_constant(text: &[u8], out: &mut [u8]) -> usize {
    for (to, from) in out.iter_mut().zip(text) {
        *to = *from;
    }
    text.len()
}

/// Returns the register that is, in full, the argument of this index; `None` if the
/// argument is something else.
///
/// Context: any.
#[inline(always)]
pub(super) fn register<E: Env>(program: &Program, index: u8, env: &E) -> Option<u64> {
    match program.ops.get(usize::from(index))? {
        Op::Load(load) => Some(env.reg(load.reg)),
        _ => None,
    }
}

/// Returns element `n` of the argument of this index as a number, without sign extension, or the
/// id of the task's cgroup for [`task::CGROUP`]; `None` for text and for what cannot be read.
///
/// Context: any.
pub(super) fn number<E: Env>(program: &Program, index: u8, n: u8, env: &E) -> Option<u64> {
    let Some(op) = program.ops.get(usize::from(index)) else {
        return (index == task::CGROUP).then(|| env.task(TaskNumber::Cgroup));
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

/// Returns the low `width` bytes of `value`.
fn truncate(value: u64, width: u8) -> u64 {
    let unused = 64u32.saturating_sub(u32::from(width).saturating_mul(8));
    value.wrapping_shl(unused).wrapping_shr(unused)
}

/// Reads a number of `size` bytes.
fn read_number<E: Env>(env: &E, from: u64, offset: i64, size: u8, user: bool) -> Option<u64> {
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

/// Returns what is made of the value `at`, or of the `read` bytes that are `offset` behind that
/// address. Returns `None` if they cannot be read.
#[inline(never)]
#[link_section = ".kprobes.text"]
fn derived<E: Env>(
    what: Derived,
    env: &E,
    (at, offset): (u64, i64),
    read: u8,
    bits: Option<Bits>,
) -> Option<u64> {
    // The kernel has two values of the pointer for which there is nothing to read.
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
        // CAST: The same bits.
        Derived::BlockErrno => i64::from(derive::block_errno(value)) as u64,
        _ => value,
    })
}

/// Returns the text that is made of the memory at `address`; `None` if it cannot be read.
#[inline(never)]
#[link_section = ".kprobes.text"]
fn fixed_text<E: Env>(what: Derived, env: &E, address: u64) -> Option<[u8; COMM_LEN]> {
    if what == Derived::Rwbs {
        return read_number(env, address, 0, 4, false).map(derive::rwbs);
    }
    let mut name = [0; COMM_LEN];
    env.read(address, &mut name).then_some(())?;
    // It may change meanwhile.
    let [.., last] = &mut name;
    *last = 0;
    Some(name)
}
