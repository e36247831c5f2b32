// SPDX-License-Identifier: GPL-2.0

//! The `format` files of system calls' events, in the words of the 7.3 kernel.

use core::fmt::{self, Write};

use crate::engine::record::{Head, Layout, ShownMemory, Signature};
use crate::engine::util::text::OneLine;

/// Writes the lines of the fields.
pub(super) fn write_fields(out: &mut dyn Write, layout: &Layout, call: &Signature) -> fmt::Result {
    for (index, field) in layout.fields.iter().enumerate() {
        let c_type = call
            .types
            .get(index)
            .map_or(&b"__data_loc char[]"[..], |c_type| c_type);
        writeln!(
            out,
            "\tfield:{} {};\toffset:{};\tsize:{};\tsigned:{};",
            OneLine(c_type),
            OneLine(&field.name),
            field.offset,
            field.size(),
            u8::from(field.base.is_signed() && !field.base.is_text())
        )?;
    }
    Ok(())
}

/// Writes the part behind `print fmt:`.
pub(super) fn write_print_format(
    out: &mut dyn Write,
    layout: &Layout,
    call: &Signature,
) -> fmt::Result {
    let (text, arguments) = layout.class.print_format;
    if !arguments.is_empty() {
        return write!(out, "\"{text}\", {arguments}");
    }
    if layout.class.head == Head::Call {
        return write_whole(out, layout, call);
    }
    if !call.open_flags.is_empty() {
        return write_open(out, call);
    }
    let names = || {
        let names = layout.fields.iter().take(call.types.len());
        (0u8..).zip(names.map(|field| OneLine(&field.name)))
    };
    let is_text = !matches!(call.shown, ShownMemory::Bytes(_));
    out.write_char('"')?;
    for (index, name) in names() {
        let comma = if index > 0 { ", " } else { "" };
        write!(out, "{comma}{name}: 0x%08lx")?;
        if call.copied.contains(&index) {
            out.write_str(if is_text { " \\\"%s\\\"" } else { " (%s)" })?;
        }
    }
    out.write_char('"')?;
    for (index, name) in names() {
        write!(out, ", ((unsigned long)(REC->{name}))")?;
        if call.copied.contains(&index) {
            if is_text {
                write!(out, ", __get_str(__{name}_val)")?;
            } else {
                write!(out, ", __print_dynamic_array(__{name}_val, 1)")?;
            }
        }
    }
    Ok(())
}

/// Writes it for a whole call: the arguments, and the results if the call returns.
fn write_whole(out: &mut dyn Write, layout: &Layout, call: &Signature) -> fmt::Result {
    let is_text = !matches!(call.shown, ShownMemory::Bytes(_));
    out.write_char('"')?;
    for (index, field) in layout.fields.iter().enumerate() {
        let comma = if index > 0 { ", " } else { "" };
        let conversion = match (field.base.is_text(), call.types.get(index)) {
            (true, _) if !is_text => "(%s)",
            (_, Some(c_type)) if **c_type == *b"umode_t" => "0%03o",
            _ => field.base.print_format(),
        };
        write!(out, "{comma}{}: {conversion}", OneLine(&field.name))?;
    }
    out.write_char('"')?;
    for field in &layout.fields {
        let name = OneLine(&field.name);
        match field.base.is_text() {
            true if is_text => write!(out, ", __get_str({name})")?,
            true => write!(out, ", __print_dynamic_array({name}, 1)")?,
            false => write!(out, ", REC->{name}")?,
        }
    }
    Ok(())
}

/// Writes it for `openat`, whose flags have names.
fn write_open(out: &mut dyn Write, call: &Signature) -> fmt::Result {
    out.write_str(
        "\"dfd: 0x%08lx, filename: 0x%08lx \\\"%s\\\", flags: %s%s, mode: 0%03o\", \
         ((unsigned long)(REC->dfd)), ((unsigned long)(REC->filename)), \
         __get_str(__filename_val), \
         (REC->flags & ~3) && !(REC->flags & 3) ? \"O_RDONLY|\" : \"\",  \
         REC->flags ? __print_flags(REC->flags, \"|\"",
    )?;
    // The kernel leaves O_TMPFILE out here.
    for (bits, name) in call.open_flags.iter().skip(1) {
        write!(out, ", {{ {bits:#x}, \"{name}\" }}")?;
    }
    out.write_str(") : \"O_RDONLY\",  ((unsigned long)(REC->mode))")
}
