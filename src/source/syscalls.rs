// SPDX-License-Identifier: GPL-2.0

//! The system calls, as the kernel describes them to its own tracer.

use crate::{
    engine::program::syscall::{without_attributes, Call, CallParameter, MAX_ARGUMENTS},
    kapi::{nofault, tracepoint::syscall},
    source::names::Names,
    sys::{AllocError, Vec},
};
use kernel::prelude::*;

/// The kernel's variable that points to its table.
const TABLE: &CStr = c"syscalls_metadata";

/// Longest name or type that is read, with its NUL.
const MAX_TEXT: usize = 128;

/// Calls `visit` with each system call of the kernel and its number. Returns whether the
/// kernel describes any.
///
/// # Errors
///
/// The errors of `visit`; `ENOMEM`.
///
/// Context: process, may sleep.
pub(crate) fn each(names: &mut Names, mut visit: impl FnMut(u32, Call) -> Result) -> Result<bool> {
    let count = syscall::count();
    let pointer = match count {
        0 => None,
        _ => names.first(TABLE)?,
    };
    let Some(table) = pointer.and_then(word).filter(|&table| table != 0) else {
        return Ok(false);
    };
    let mut any = false;
    for number in 0..count {
        // Skip unreadable entries.
        let Ok(Some(found)) = syscall::describe(table, number) else {
            continue;
        };
        // A call with several numbers has events for one of them.
        if u32::try_from(found.number) != Ok(number) {
            continue;
        }
        if let Some(call) = call(&found)? {
            visit(number, call)?;
            any = true;
        }
    }
    Ok(any)
}

/// Reads the call that `found` points to; returns `None` if it cannot be read.
fn call(found: &syscall::Description) -> Result<Option<Call>, AllocError> {
    let Some(name) = text(found.name)? else {
        return Ok(None);
    };
    let mut call = Call {
        name,
        arguments: Vec::new(),
        copied: found.copied,
        size: u8::try_from(found.size).ok(),
        is_text: found.is_text,
    };
    // CAST: Lossless.
    for index in 0..(found.count as usize).min(MAX_ARGUMENTS) {
        // CAST: Less than 64.
        let at = |array: u64| word(array.wrapping_add(index as u64 * 8));
        let (Some(name), Some(c_type)) = (at(found.arguments), at(found.types)) else {
            return Ok(None);
        };
        let (Some(name), Some(c_type)) = (text(name)?, text(c_type)?) else {
            return Ok(None);
        };
        let c_type = without_attributes(&c_type)?;
        call.arguments.push(CallParameter { name, c_type })?;
    }
    Ok(Some(call))
}

/// Reads the word at `address`.
fn word(address: u64) -> Option<u64> {
    let mut word = [0; 8];
    nofault::read_kernel(address, &mut word).then(|| u64::from_ne_bytes(word))
}

/// Reads the string at `address`, which is not empty.
fn text(address: u64) -> Result<Option<Vec<u8>>, AllocError> {
    let mut room = [0; MAX_TEXT];
    let length = nofault::read_string(address, false, &mut room);
    let text = length.and_then(|length| room.get(..length.checked_sub(1)?));
    text.filter(|text| !text.is_empty())
        .map(Vec::from_slice)
        .transpose()
}
