// SPDX-License-Identifier: GPL-2.0

//! The events of whole system calls, one record for each call: arguments by their C types, result,
//! and duration.

use super::{Call, Copies, Special, MAX_ARGUMENTS, PROBE_SIZE_U16};
use crate::engine::code::arch::Arch;
use crate::engine::language::types::{Shown, Type, Width};
use crate::engine::program::fetch::{General, Load, LoadOrigin, Program, Store};
use crate::engine::record::{Class, Field, Layout, Name, ShownMemory, Signature};
use crate::sys::{AllocError, Box, Vec};

/// The values of a whole call: arguments, result, and duration in nanoseconds, which is 0 if
/// unknown. Fetch programs read them as registers.
pub type Values = [u64; WORDS];

/// Maximum number of values.
pub const WORDS: usize = MAX_ARGUMENTS + RESULTS;

/// Values that are known when a call returns.
const RESULTS: usize = 2;

/// Calls with an argument of special memory, and its index.
const SPECIAL: [(&[u8], u8, Special); 5] = [
    (b"sys_execve", 1, Special::Strings),
    (b"sys_execveat", 2, Special::Strings),
    (b"sys_connect", 1, Special::Address(2)),
    (b"sys_bind", 1, Special::Address(2)),
    (b"sys_sendto", 4, Special::Address(5)),
];

/// Calls that do not return to where they were made.
const ENDLESS: [&[u8]; 3] = [b"sys_exit", b"sys_exit_group", b"sys_rt_sigreturn"];

/// Calls that create a task, which returns from the call, too.
const TWICE: [&[u8]; 4] = [b"sys_clone", b"sys_clone3", b"sys_fork", b"sys_vfork"];

/// How often a call returns to user space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returns {
    /// Not to where it was made.
    Never,
    /// To its caller.
    Once,
    /// Also with 0, in the task that it creates. To its caller it never returns 0.
    Twice,
}

impl Call {
    /// Returns how often the call returns.
    pub fn returns(&self) -> Returns {
        let is_among = |calls: &[&[u8]]| calls.contains(&&*self.name);
        match is_among(&ENDLESS) {
            true => Returns::Never,
            false if is_among(&TWICE) => Returns::Twice,
            false => Returns::Once,
        }
    }

    /// Returns how a call is recorded when it returns, or when it begins if it
    /// [never returns](Returns::Never).
    ///
    /// The registers of the copies are indices of [`Values`].
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn whole(&self, arch: Arch) -> Result<(Program, Layout, Copies), AllocError> {
        let results: &[(&[u8], &[u8], Shown)] = match self.returns() {
            Returns::Never => &[],
            Returns::Once | Returns::Twice => &[
                (b"ret", b"long", Shown::Signed),
                (b"duration", b"u64", Shown::Unsigned),
            ],
        };
        let mut signature = self.signature(arch)?;
        // CAST: At most `RESULTS`.
        signature.results = results.len() as u8;
        let mut layout = Layout::of(Class::CALL);
        let mut program = Program::empty();
        if signature.shown == ShownMemory::Text {
            signature.shown = ShownMemory::ExactText;
        }
        let mut copies = Copies {
            size: self.size,
            are_exact: true,
            ..Copies::default()
        };
        let mut word = (0u8.., PROBE_SIZE_U16);
        let words = self.arguments.len().saturating_add(results.len());
        // CAST: At most `WORDS`.
        let mut text = PROBE_SIZE_U16.saturating_add((words as u16).saturating_mul(8));
        let mut next = |program: &mut Program| -> Result<(u8, u16), AllocError> {
            let (index, dst) = (word.0.next().unwrap_or(0), word.1);
            word.1 = dst.saturating_add(8);
            program.add_whole_word(dst, index)?;
            Ok((index, dst))
        };
        for parameter in &self.arguments {
            let (index, dst) = next(&mut program)?;
            let is_copied = self.copied.checked_shr(index.into()).unwrap_or(0) & 1 != 0;
            let special = self.special(index).filter(|_| !is_copied);
            let (base, offset) = if is_copied || special.is_some() {
                match special {
                    Some(special) => copies.add_special(index, special),
                    None => copies.add(index),
                }
                let is_list = special == Some(Special::Strings);
                if is_list {
                    signature.list = Some(index);
                }
                program.add_general(General {
                    origin: LoadOrigin::Register(index),
                    links: (0, 0),
                    store: match is_list {
                        true => Store::Strings,
                        false => Store::Text {
                            offset: 0,
                            user: true,
                        },
                    },
                    dst: text,
                    fault: None,
                    texts_behind: 0,
                })?;
                let at = text;
                text = text.saturating_add(4);
                signature
                    .types
                    .push(Vec::from_slice(b"__data_loc char[]")?)?;
                (Type::USER_STRING, at)
            } else {
                let base = type_of(&parameter.c_type, &parameter.name);
                if base == Type::S64 {
                    copies.signed |= 1u8.checked_shl(index.into()).unwrap_or(0);
                }
                program.add_op(Load {
                    dst,
                    reg: index,
                    width: base.size(),
                })?;
                signature.types.push(Vec::from_slice(&parameter.c_type)?)?;
                (base, dst)
            };
            layout.fields.push(Field {
                name: Name::new(&parameter.name)?,
                base,
                count: None,
                offset,
                fault: None,
            })?;
        }
        // CAST: At most `MAX_ARGUMENTS`.
        copies.arguments = self.arguments.len() as u8;
        for (name, c_type, shown) in results {
            let (index, dst) = next(&mut program)?;
            program.add_op(Load {
                dst,
                reg: index,
                width: 8,
            })?;
            signature.types.push(Vec::from_slice(c_type)?)?;
            layout.fields.push(Field {
                name: Name::new(name)?,
                base: Type::number(*shown, Width::W64).unwrap_or(Type::DEFAULT),
                count: None,
                offset: dst,
                fault: None,
            })?;
        }
        program.fixed = text;
        layout.call = Some(Box::new(signature)?);
        Ok((program, layout, copies))
    }

    /// Returns the type of memory that argument `index` points to, if it is special, and if the
    /// call has no other memory besides text.
    fn special(&self, index: u8) -> Option<Special> {
        let mut all = SPECIAL.iter();
        let &(_, _, special) = all.find(|(name, at, _)| **name == *self.name && *at == index)?;
        let last = match special {
            Special::Address(size) => size,
            _ => index,
        };
        // CAST: At most `MAX_ARGUMENTS`.
        let is_known = self.size.is_none() && last < self.arguments.len() as u8;
        is_known.then_some(special)
    }

    /// Returns the signature of an event, without types.
    pub(super) fn signature(&self, arch: Arch) -> Result<Signature, AllocError> {
        Ok(Signature {
            name: Vec::from_slice(&self.name)?,
            types: Vec::new(),
            copied: Vec::new(),
            shown: match (self.size, self.is_text) {
                (None, _) => ShownMemory::Text,
                (Some(_), true) => ShownMemory::RawText,
                (Some(size), false) => ShownMemory::Bytes(size),
            },
            // Where the kernel shows the file's name, it shows the flags by their names.
            open_flags: if *self.name == *b"sys_openat" && self.copied != 0 {
                arch.isa().open_flags()
            } else {
                &[]
            },
            results: 0,
            list: None,
        })
    }
}

/// Returns the type of an argument whose C type is `c_type`.
fn type_of(c_type: &[u8], name: &[u8]) -> Type {
    let signed32: [&[u8]; 9] = [
        b"int",
        b"pid_t",
        b"key_t",
        b"clockid_t",
        b"timer_t",
        b"mqd_t",
        b"rwf_t",
        b"key_serial_t",
        b"__s32",
    ];
    let signed64: [&[u8]; 5] = [b"long", b"ssize_t", b"off_t", b"loff_t", b"__s64"];
    let unsigned32: [&[u8]; 8] = [
        b"unsigned int",
        b"unsigned",
        b"u32",
        b"__u32",
        b"uid_t",
        b"gid_t",
        b"qid_t",
        b"umode_t",
    ];
    let unsigned64: [&[u8]; 3] = [b"size_t", b"u64", b"__u64"];
    let contains = |words: &[u8]| name.windows(words.len()).any(|part| part == words);
    let (shown, width) = if signed32.contains(&c_type) {
        (Shown::Signed, Width::W32)
    } else if signed64.contains(&c_type) {
        (Shown::Signed, Width::W64)
    } else if unsigned32.contains(&c_type) {
        (Shown::Unsigned, Width::W32)
    } else if unsigned64.contains(&c_type) {
        (Shown::Unsigned, Width::W64)
    } else {
        // Pointers, `unsigned long`, and unknown types.
        (Shown::Hex, Width::W64)
    };
    // Sets of bits.
    let is_set = shown != Shown::Hex && (contains(b"flags") || contains(b"mask"));
    let shown = if is_set { Shown::Hex } else { shown };
    Type::number(shown, width).unwrap_or(Type::DEFAULT)
}
