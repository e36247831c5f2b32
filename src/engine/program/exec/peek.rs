// SPDX-License-Identifier: GPL-2.0

//! Reads arguments of a hit without a record, for filters, histograms and event probes.
//!
//! Context: any.

use super::env::Env;
use super::number::{fixed_text, number, register};
use super::path::path;
use super::text::{joined, MAX_JOINED, MAX_STRING};
use super::value::{follow, word};
use crate::engine::definition::task::CGROUP;
use crate::engine::program::fetch::{FieldShape, Op, Program, Store};
use crate::engine::program::syscall::Strings;
use crate::engine::record::COMM_LEN;
use crate::engine::util::text::up_to_nul;

/// Returns argument `index` as a number of `shape`, sign-extended; 0 for text and unreadable
/// values.
///
/// Context: any.
#[inline(always)]
pub fn field_value<E: Env>(program: &Program, index: u8, shape: FieldShape, env: &E) -> u64 {
    let value = match register(program, index, env) {
        Some(value) => value,
        None => number(program, index, 0, env).unwrap_or(0),
    };
    shape.cut(value)
}

/// Writes text argument `index` with its NUL, as much as fits; returns false if it is not text or
/// cannot be read.
///
/// Context: any.
pub fn copy_text<E: Env>(program: &Program, index: u8, env: &E, out: &mut [u8]) -> bool {
    let is_found = peek_text(program, index, 0, env, out).is_some();
    if let Some(last) = out.last_mut() {
        *last = 0;
    }
    is_found
}

/// Returns element `n` of text argument `index`, or the path of the task's cgroup for [`CGROUP`],
/// with its NUL; `None` if it is not text or cannot be read. A text that fills `buffer` did not
/// fit, see [`Memory::read_string`](super::env::Memory::read_string).
///
/// Context: any.
pub(in crate::engine) fn peek_text<'a, E: Env>(
    program: &Program,
    index: u8,
    n: u8,
    env: &E,
    buffer: &'a mut [u8],
) -> Option<&'a [u8]> {
    if index == CGROUP {
        let len = env.read_cgroup(0, buffer)?;
        return buffer.get(..len);
    }
    let Op::General(at) = *program.ops.get(usize::from(index))? else {
        let to = buffer.first_chunk_mut::<COMM_LEN>()?;
        *to = env.comm();
        return Some(to);
    };
    let arg = program.general.get(usize::from(at))?;
    if let Store::Constant(constant) = arg.store {
        let text = program.texts.get(usize::from(constant.start)..)?;
        for (to, from) in buffer
            .iter_mut()
            .zip(text.iter().take(usize::from(constant.len)))
        {
            *to = *from;
        }
        return buffer.get(..usize::from(constant.len).min(buffer.len()));
    }
    let from = follow(program, arg, env)?;
    let len = match arg.store {
        Store::Text { offset, user } => {
            env.read_string(from.wrapping_add_signed(offset), user, buffer)?
        }
        Store::Symbol => env.read_symbol(from, 0, buffer)?,
        Store::CgroupPath => env.read_cgroup(0, buffer)?,
        Store::Strings => {
            let length = env.read_strings(from, 0, buffer)?;
            let (text, _) = Strings(buffer.get(..length)?).nth(usize::from(n))?;
            return Some(text);
        }
        Store::Path { offset, start } => {
            let at = (from.wrapping_add_signed(offset), start);
            path(program, env, at, 0, buffer)?
        }
        Store::FixedText { offset, what, .. } => {
            let to = buffer.first_chunk_mut::<COMM_LEN>()?;
            *to = fixed_text(what, env, from.wrapping_add_signed(offset))?;
            return Some(to);
        }
        Store::Joined {
            offset,
            user_pointers,
            user,
        } => {
            let pointers = (from.wrapping_add_signed(offset), user_pointers);
            joined(env, pointers, user, buffer)?
        }
        Store::Texts {
            offset,
            user_pointers,
            user,
            count,
        } if n < count => {
            let slot = u64::from(n).wrapping_mul(8);
            let pointer = from.wrapping_add_signed(offset).wrapping_add(slot);
            env.read_string(word(env, pointer, user_pointers)?, user, buffer)?
        }
        _ => return None,
    };
    buffer.get(..len)
}

/// Calls `each` with element `n` of text argument `index`, piece by piece and without its NUL,
/// until it returns false. The text ends where a record would cut it. `room` holds a piece. Returns
/// `None` if the argument is not text or cannot be read.
///
/// Context: any.
#[inline(never)]
#[link_section = ".kprobes.text"]
pub(in crate::engine) fn each_piece<E: Env>(
    program: &Program,
    (index, n): (u8, u8),
    env: &E,
    room: &mut [u8],
    each: &mut dyn FnMut(&[u8]) -> bool,
) -> Option<()> {
    if index == CGROUP {
        return TextPieces::new(room, each).cgroup(env);
    }
    let Op::General(at) = *program.ops.get(usize::from(index))? else {
        // The comm is one piece.
        let comm = peek_text(program, index, n, env, room)?;
        each(up_to_nul(comm));
        return Some(());
    };
    let arg = program.general.get(usize::from(at))?;
    if let Store::Constant(constant) = arg.store {
        let text = program.texts.get(usize::from(constant.start)..)?;
        each(up_to_nul(text.get(..usize::from(constant.len))?));
        return Some(());
    }
    if let Store::FixedText { .. } | Store::Strings = arg.store {
        // A single piece.
        let text = peek_text(program, index, n, env, room)?;
        each(up_to_nul(text));
        return Some(());
    }
    let from = follow(program, arg, env)?;
    let mut to = TextPieces::new(room, each);
    match arg.store {
        Store::Text { offset, user } => to.string(env, from.wrapping_add_signed(offset), user),
        Store::Symbol => to.symbol(env, from),
        Store::CgroupPath => to.cgroup(env),
        Store::Path { offset, start } => {
            let at = (from.wrapping_add_signed(offset), start);
            to.read(|done, room| path(program, env, at, done, room))
        }
        Store::Joined {
            offset,
            user_pointers,
            user,
        } => {
            let pointers = (from.wrapping_add_signed(offset), user_pointers);
            to.joined(env, pointers, user)
        }
        Store::Texts {
            offset,
            user_pointers,
            user,
            count,
        } if n < count => {
            let slot = u64::from(n).wrapping_mul(8);
            let pointer = from.wrapping_add_signed(offset).wrapping_add(slot);
            to.string(env, word(env, pointer, user_pointers)?, user)
        }
        _ => None,
    }
}

/// Calls `each` with the strings of array argument `index`, each with its NUL, piece by piece,
/// until it returns false. `room` holds a piece. Returns `None` if the argument is not such an
/// array or cannot be read.
///
/// Context: any.
#[inline(never)]
#[link_section = ".kprobes.text"]
pub(in crate::engine) fn each_piece_of_list<E: Env>(
    program: &Program,
    index: u8,
    env: &E,
    room: &mut [u8],
    each: &mut dyn FnMut(&[u8]) -> bool,
) -> Option<()> {
    let Op::General(at) = *program.ops.get(usize::from(index))? else {
        return None;
    };
    let arg = program.general.get(usize::from(at))?;
    let Store::Strings = arg.store else {
        return None;
    };
    let from = follow(program, arg, env)?;
    let mut done = 0usize;
    loop {
        let length = env.read_strings(from, done, room)?;
        let is_wanted = each(room.get(..length)?);
        if !is_wanted || length < room.len() {
            return Some(());
        }
        done = done.wrapping_add(length);
    }
}

/// [`each_piece`] of the string at `address`.
///
/// Context: any.
#[inline(never)]
#[link_section = ".kprobes.text"]
pub(in crate::engine) fn each_piece_at<E: Env>(
    (address, user): (u64, bool),
    env: &E,
    room: &mut [u8],
    each: &mut dyn FnMut(&[u8]) -> bool,
) -> Option<()> {
    TextPieces::new(room, each).string(env, address, user)
}

/// Passes on a text in pieces.
struct TextPieces<'a> {
    room: &'a mut [u8],
    to: PieceReceiver<'a>,
}

struct PieceReceiver<'a> {
    each: &'a mut dyn FnMut(&[u8]) -> bool,
    /// Bytes until the record's limit.
    left: usize,
}

impl PieceReceiver<'_> {
    fn put(&mut self, text: &[u8]) {
        let text = text.get(..self.left).unwrap_or(text);
        self.left = match (self.each)(text) {
            true => self.left.wrapping_sub(text.len()),
            false => 0,
        };
    }
}

impl<'a> TextPieces<'a> {
    fn new(room: &'a mut [u8], each: &'a mut dyn FnMut(&[u8]) -> bool) -> Self {
        // The limit of a string in a record, see `text`.
        let left = MAX_STRING - 1;
        Self {
            room,
            to: PieceReceiver { each, left },
        }
    }

    /// Passes on what `read` reads, piece by piece. `read` gets the number of bytes before the
    /// piece.
    fn read(&mut self, read: impl Fn(usize, &mut [u8]) -> Option<usize>) -> Option<()> {
        let mut done = 0usize;
        while self.to.left > 0 {
            let length = read(done, self.room)?;
            let is_last = length < self.room.len();
            // The last piece ends with the NUL. In the others the kernel may have replaced the last
            // byte by a NUL.
            let length = length.saturating_sub(1);
            self.to.put(up_to_nul(self.room.get(..length)?));
            if is_last || length == 0 {
                break;
            }
            done = done.wrapping_add(length);
        }
        Some(())
    }

    fn string<E: Env>(&mut self, env: &E, address: u64, user: bool) -> Option<()> {
        self.read(|done, room| {
            // CAST: At most `MAX_STRING`.
            env.read_string(address.wrapping_add(done as u64), user, room)
        })
    }

    fn symbol<E: Env>(&mut self, env: &E, address: u64) -> Option<()> {
        self.read(|done, room| env.read_symbol(address, done, room))
    }

    fn cgroup<E: Env>(&mut self, env: &E) -> Option<()> {
        self.read(|done, room| env.read_cgroup(done, room))
    }

    /// [`joined`](super::text::joined), in pieces.
    fn joined<E: Env>(
        &mut self,
        env: &E,
        (first, user_pointers): (u64, bool),
        user: bool,
    ) -> Option<()> {
        for n in 0..=MAX_JOINED {
            let address = first.wrapping_add(n.wrapping_mul(8));
            let pointer = match word(env, address, user_pointers) {
                Some(0) => break,
                None if n == 0 => return None,
                pointer => pointer,
            };
            if n > 0 {
                self.to.put(b" ");
            }
            let string = pointer.filter(|_| n < MAX_JOINED);
            let string = string.filter(|&at| self.is_readable(env, at, user));
            match string {
                Some(at) => self.string(env, at, user)?,
                None if n == MAX_JOINED => self.to.put(b"..."),
                None => self.to.put(b"(fault)"),
            }
            if pointer.is_none() || self.to.left == 0 {
                break;
            }
        }
        Some(())
    }

    /// Returns whether the whole string at `address` can be read, up to the limit. Otherwise no
    /// part of it counts.
    fn is_readable<E: Env>(&mut self, env: &E, address: u64, user: bool) -> bool {
        // The type is explicit because the closure changes nothing: the compiler would infer `Fn`,
        // and a kernel with CFI refuses to call that as `FnMut`.
        let ignored: &mut dyn FnMut(&[u8]) -> bool = &mut |_| true;
        let left = self.to.left;
        let mut all = TextPieces {
            room: self.room,
            to: PieceReceiver {
                each: ignored,
                left,
            },
        };
        all.string(env, address, user).is_some()
    }
}
