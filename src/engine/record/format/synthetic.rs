// SPDX-License-Identifier: GPL-2.0

//! The `format` files of synthetic events, in the words of the 7.3 kernel.

use core::fmt::{self, Write};

use crate::engine::record::{Field, Layout};
use crate::engine::util::text::OneLine;
use crate::sys::Vec;

/// Writes the lines of the fields, whose C types are `types`.
pub(super) fn write_fields(out: &mut dyn Write, layout: &Layout, types: &[Vec<u8>]) -> fmt::Result {
    for (field, c_type) in layout.fields.iter().zip(types) {
        let name = OneLine(&field.name);
        match field.count {
            Some(count) => write!(out, "\tfield:unsigned long {name}[{count}]")?,
            None if field.base.is_text() => write!(out, "\tfield:__data_loc char[] {name}")?,
            None => write!(out, "\tfield:{} {name}", OneLine(c_type))?,
        }
        let is_signed = !c_type.starts_with(b"u") && **c_type != *b"gfp_t";
        writeln!(
            out,
            ";\toffset:{};\tsize:{};\tsigned:{};",
            field.offset,
            field.size(),
            u8::from(is_signed)
        )?;
    }
    Ok(())
}

/// Writes the part behind `print fmt:`.
pub(super) fn write_print_format(
    out: &mut dyn Write,
    layout: &Layout,
    types: &[Vec<u8>],
) -> fmt::Result {
    out.write_char('"')?;
    for (n, (field, c_type)) in layout.fields.iter().zip(types).enumerate() {
        let before = if n == 0 { "" } else { " " };
        let conversion = conversion(field, c_type);
        write!(out, "{before}{}={conversion}", OneLine(&field.name))?;
    }
    out.write_char('"')?;
    for field in &layout.fields {
        let name = OneLine(&field.name);
        match field.count {
            Some(count) => write!(out, ", __print_array(REC->{name}, {count}, 8)")?,
            None if field.base.is_text() => write!(out, ", __get_str({name})")?,
            None => write!(out, ", REC->{name}")?,
        }
    }
    Ok(())
}

pub(in crate::engine) fn conversion(field: &Field, c_type: &[u8]) -> &'static str {
    match c_type {
        _ if field.count.is_some() || field.base.is_text() => "%s",
        b"s64" => "%lld",
        b"u64" => "%llu",
        b"long" => "%ld",
        b"unsigned long" => "%lu",
        b"gfp_t" => "%x",
        _ if field.base.is_signed() => "%d",
        _ => "%u",
    }
}
