// SPDX-License-Identifier: GPL-2.0

//! The `format` files of ready-made events, in the words of the 7.3 kernel.

use core::fmt::{self, Write};

use crate::engine::record::{Layout, ReadyShape};

/// Writes the lines of the fields, without place and fault bits, which the kernel's records lack.
pub(super) fn write_fields(
    out: &mut dyn Write,
    layout: &Layout,
    shape: &ReadyShape,
) -> fmt::Result {
    let mut texts = layout.fixed_texts();
    for (field, made) in layout.fields.iter().zip(shape.fields) {
        let text = made.is_fixed_text().then(|| texts.next()).flatten();
        let (c_type, name) = (made.c_type, made.name);
        write!(out, "\tfield:{c_type} {name}")?;
        let (offset, size, count) = match (text, made.characters()) {
            (Some(offset), Some(size)) => (offset, size, Some(size)),
            _ => (field.offset, field.size(), field.count.map(u16::from)),
        };
        if let Some(count) = count {
            write!(out, "[{count}]")?;
        }
        let signed = u8::from(field.base.is_signed() && !field.base.is_text());
        writeln!(out, ";\toffset:{offset};\tsize:{size};\tsigned:{signed};")?;
    }
    Ok(())
}
