// SPDX-License-Identifier: GPL-2.0

//! Checks whether a value can be recorded as requested, according to BTF.

use core::fmt;

use crate::engine::language::types::PathOf;
use crate::engine::program::btf::BtfValue;
use crate::engine::refusal::error::{Error, Kind};
use crate::engine::util::text::Plain;

/// Refuses `%pd` or `%pD` for a value that is known to be something else.
pub(super) fn check_path(of: PathOf, value: BtfValue<'_>, at: usize) -> Result<(), Error> {
    let pointee = match value.pointee() {
        Some(Some(pointee)) => pointee,
        // The type is unknown.
        Some(None) => return Ok(()),
        // A number may be an address.
        None if value.size() == Some(8) && !value.is_structure() => return Ok(()),
        None => {
            let error = Error::new(Kind::BadType4path, at);
            return Err(match value.member(b"dentry") {
                Some(_) => error.with_detail(format_args!("write .dentry behind it, and %pd")),
                None => error,
            });
        }
    };
    let error = Error::new(Kind::BadType4path, at);
    match (of, pointee.structure_name().unwrap_or_default()) {
        _ if pointee.is_void() => Ok(()),
        (PathOf::Dentry, b"dentry") | (PathOf::File, b"file") => Ok(()),
        (PathOf::Dentry, b"file") => {
            Err(error.with_detail(format_args!("write %pD for a struct file")))
        }
        (PathOf::File, b"dentry") => {
            Err(error.with_detail(format_args!("write %pd for a struct dentry")))
        }
        (_, b"path") => Err(error.with_detail(format_args!("write ->dentry behind it, and %pd"))),
        _ => Err(error),
    }
}

/// A structure that has a path.
#[derive(Clone, Copy)]
pub(super) enum PathOwner {
    File,
    Path,
    Dentry,
}

/// Returns which structure with a path `structure` is; `None` if the type is unknown.
pub(super) fn path_owner(structure: Option<BtfValue<'_>>, at: usize) -> Result<PathOwner, Error> {
    let error = || Error::new(Kind::BadType4fullPath, at);
    let name = structure.and_then(|structure| structure.structure_name());
    match name.unwrap_or_default() {
        b"file" => Ok(PathOwner::File),
        b"path" => Ok(PathOwner::Path),
        b"dentry" => Ok(PathOwner::Dentry),
        b"inode" => Err(error().with_detail(format_args!(
            "an inode has no path, or several: record that of a file or a dentry"
        ))),
        b"" => Err(error().with_detail(format_args!(
            "its type is not known: write (struct file *)VALUE:path, or of a struct path or dentry"
        ))),
        name => Err(error().with_detail(format_args!(
            "a struct {} has no path: record that of a struct file, path or dentry",
            Plain(name)
        ))),
    }
}

/// Returns the value to record of memory with the type of `value`, if no type is requested.
pub(super) fn in_memory(value: BtfValue<'_>, at: usize) -> Result<BtfValue<'_>, Error> {
    let inner = value.unwrapped();
    let error = || Error::new(Kind::NoSingleValue, at);
    if value.is_text() {
        Err(error().with_detail(format_args!("it is an array of characters: write :string")))
    } else if value.is_array() {
        Err(error().with_detail(format_args!(
            "it is an array: write the type of an element and their number, such as :u8[4]"
        )))
    } else if inner.is_structure() || inner.is_array() {
        Err(error().with_detail(format_args!(
            "write one of its members: {}, or a type such as :x64",
            ValueMembers(value)
        )))
    } else {
        Ok(inner)
    }
}

/// Returns the refusal of a member of a structure passed by value that is not a number within one
/// word.
#[cold]
#[inline(never)]
pub(super) fn no_part(value: BtfValue<'_>, at: usize) -> Error {
    let error = Error::new(Kind::NoSingleValue, at);
    if value.is_structure() {
        error.with_detail(format_args!(
            "write one of its members: {}",
            ValueMembers(value)
        ))
    } else if value.is_array() {
        error.with_detail(format_args!(
            "it is an array in registers: write one of its elements, such as [0]"
        ))
    } else {
        error.with_detail(format_args!("it is in two registers, a part in each"))
    }
}

/// Displays the first members of a structure.
pub(super) struct ValueMembers<'a>(pub(super) BtfValue<'a>);

impl fmt::Display for ValueMembers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Maximum number of members that are displayed.
        const MOST: usize = 8;

        let (mut count, mut result) = (0usize, Ok(()));
        self.0.each_member(&mut |name| {
            let comma = if count > 0 { ", " } else { "" };
            if result.is_ok() && count < MOST {
                result = write!(f, "{comma}.{}", Plain(name));
            } else if result.is_ok() && count == MOST {
                result = f.write_str(", ...");
            }
            count = count.saturating_add(1);
        });
        result
    }
}

/// The location of a structure that is passed by value.
#[derive(Clone, Copy)]
pub(super) enum ValueWords {
    /// Consecutive words of the arguments, from this one on.
    Arguments(u16),
    /// Memory that this word of the arguments points to.
    Behind(u16),
    /// The registers of the return value.
    Result,
}

/// Returns the refusal of recording a whole structure that is passed by value.
#[cold]
#[inline(never)]
pub(super) fn not_in_memory(value: BtfValue<'_>, at: usize) -> Error {
    Error::new(Kind::NoPtrStrct, at).with_detail(format_args!(
        "it is passed by value, and not in memory: write one of its members, {}",
        ValueMembers(value)
    ))
}
