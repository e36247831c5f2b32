// SPDX-License-Identifier: GPL-2.0

//! Runs a fetch program: the part of a probe hit that depends on the definition.
//!
//! [`run`] and [`capture`] take no lock, do not allocate, loop only over the bounded lists
//! of a compiled [`Program`](crate::engine::program::fetch::Program), and cannot panic. Memory is
//! read only through [`Memory`], whose reads cannot fault.
//!
//! Context: any.

mod env;
mod number;
mod path;
mod peek;
mod structure;
mod text;
mod value;
mod write;

pub use env::{Arguments, Env, Memory};
pub(in crate::engine) use number::{number, register};
pub use peek::{copy_text, field_value};
pub(in crate::engine) use peek::{each_piece, each_piece_at, each_piece_of_list, peek_text};

use crate::engine::program::fetch::{General, Program, Store};
use crate::engine::record::{self, Faults};
use crate::engine::util::seq_buf::copy;
use crate::sys;
use number::{derived, fixed_text};
use path::path;
use structure::{changes, whole};
use text::{constant_text, joined, text};
use value::{end_of, follow, value, word};
use write::{cold, failed, field, fill, put, read_to, store};

/// Fetches the arguments of a hit into the record `out`, and returns the record's length.
///
/// The caller writes the parts of the record before the arguments. `out` must have the
/// length [`Program::size`]; a shorter one lacks the arguments that do not fit.
///
/// Context: any.
#[inline(always)]
pub fn run<E: Env>(program: &Program, env: &E, out: &mut [u8]) -> usize {
    run_compact(program, env, out);
    if program.is_compact() {
        return usize::from(program.fixed);
    }
    if program.is_only_whole() {
        run_whole(program, env, out);
        return usize::from(program.fixed);
    }
    run_general(program, env, out)
}

/// Fetches the arguments of common shapes, a part of [`run`]. Calls nothing, so `env` can stay in
/// registers.
///
/// Context: any.
#[inline(always)]
pub fn run_compact<E: Env>(program: &Program, env: &E, out: &mut [u8]) {
    run_without_memory(program, env, out);
    for read in &program.reads {
        let address = env
            .reg(read.reg)
            .wrapping_add_signed(i64::from(read.offset));
        // Test the most frequent width first; the compiler would test it last.
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

/// Fetches the arguments in registers and the comm, a part of [`run`]: the whole program if it
/// [reads no memory](Program::reads_no_memory).
///
/// Context: any.
#[inline(always)]
pub fn run_without_memory<E: Env>(program: &Program, env: &E, out: &mut [u8]) {
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

/// Fetches the structure that [is the only other argument](Program::is_only_whole), a part of
/// [`run`].
///
/// Context: any.
#[inline(always)]
pub fn run_whole<E: Env>(program: &Program, env: &E, out: &mut [u8]) {
    if let [arg] = &*program.general {
        whole(program, arg, env, out);
    }
}

/// Fetches all other arguments, a part of [`run`].
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

/// Fetches memory behind pointers, a part of [`run_general`].
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

/// Returns the address of the string that is the only general argument, and whether it is declared
/// as user memory; `None` if there is no such string, or a pointer to it cannot be read.
///
/// Context: any.
#[inline(always)]
pub fn find_text<E: Env>(program: &Program, env: &E) -> Option<(u64, bool)> {
    let text = program.only_text.as_ref()?;
    Some((end_of(&text.steps, env)?, text.user))
}

/// Writes words as arguments of a record, as many as fit.
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

/// Returns the length of the record of a program whose other arguments are texts of `texts` bytes
/// in total.
///
/// Context: any.
#[inline(always)]
pub fn length_with(program: &Program, texts: usize) -> usize {
    usize::from(program.fixed).wrapping_add(texts)
}

/// Writes texts that are already known, in place of [`run_general`].
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

/// [`COMM_LEN`](record::COMM_LEN) in the type that the record uses.
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

/// Fetches an argument of any shape. `end` is the current end of the record; returns the new end.
#[inline(never)]
#[link_section = ".kprobes.text"]
fn general<E: Env>(program: &Program, arg: &General, env: &E, out: &mut [u8], end: u16) -> u16 {
    let (dst, fault) = (arg.dst, arg.fault);
    // Only some need it.
    let size = || arg.store.size();
    if let Store::Constant(constant) = arg.store {
        constant_text(program, constant, out, dst);
        return end;
    }
    if let Store::Whole { .. } = arg.store {
        whole(program, arg, env, out);
        return end;
    }
    let Some(at) = follow(program, arg, env) else {
        failed(program, out, dst, size(), fault);
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
                    failed(program, out, dst, size(), fault);
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
                (true, ..) => field(out, dst, size()).is_some_and(|to| env.read_user(address, to)),
                _ => field(out, dst, size()).is_some_and(|to| env.read(address, to)),
            };
            if !read {
                failed(program, out, dst, size(), fault);
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
            return text(out, dst, end, later, |to| env.read_strings(at, 0, to));
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
            None => failed(program, out, dst, size(), fault),
        },
        Store::Constant(_) | Store::Whole { .. } => {}
    }
    end
}
