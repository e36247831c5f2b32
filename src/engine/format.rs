// SPDX-License-Identifier: GPL-2.0

//! Text for people and their tools: the `format` file of an event, the header and
//! the marks of `trace`, the lines of `kprobe_profile`.
//!
//! The wording and the columns are those of the 7.3 kernel, which scripts parse.
//! Process context only.

use core::fmt::{self, Write};

use super::record::{self, Field, Layout};
use super::text::OneLine;

/// Bits of the flags byte of a record's header.
pub mod flag {
    /// Interrupts were off.
    pub const IRQS_OFF: u8 = 0x01;
    /// A lazy reschedule was due.
    pub const NEED_RESCHED_LAZY: u8 = 0x02;
    /// A reschedule was due.
    pub const NEED_RESCHED: u8 = 0x04;
    /// In a hard interrupt.
    pub const HARDIRQ: u8 = 0x08;
    /// In a soft interrupt.
    pub const SOFTIRQ: u8 = 0x10;
    /// A reschedule was due at the next enabling of preemption.
    pub const PREEMPT_RESCHED: u8 = 0x20;
    /// In a non-maskable interrupt.
    pub const NMI: u8 = 0x40;
    /// Bottom halves were off.
    pub const BH_OFF: u8 = 0x80;
}

/// Writes the `format` file of the event called `name` with number `id`.
///
/// # Errors
///
/// Those of `out`.
pub fn write_format(out: &mut dyn Write, name: &str, id: u16, layout: &Layout) -> fmt::Result {
    writeln!(out, "name: {name}\nID: {id}\nformat:")?;
    field_line(out, "unsigned short", "common_type", 0, 2, false)?;
    field_line(out, "unsigned char", "common_flags", 2, 1, false)?;
    field_line(out, "unsigned char", "common_preempt_count", 3, 1, false)?;
    field_line(out, "int", "common_pid", 4, 4, true)?;
    out.write_char('\n')?;
    if layout.is_return {
        field_line(out, "unsigned long", "__probe_func", 8, 8, false)?;
        field_line(out, "unsigned long", "__probe_ret_ip", 16, 8, false)?;
    } else {
        field_line(out, "unsigned long", "__probe_ip", 8, 8, false)?;
    }
    for field in &layout.fields {
        argument_line(out, field)?;
    }
    if let Some(faults) = layout.faults {
        let name = record::Faults::NAME;
        let (kind, array) = match faults.size.get() {
            1 => ("u8", ""),
            2 => ("u16", ""),
            4 => ("u32", ""),
            8 => ("u64", ""),
            _ => ("u64", "[2]"),
        };
        let (offset, size) = (faults.offset, faults.size);
        writeln!(
            out,
            "\tfield:{kind} {name}{array};\toffset:{offset};\tsize:{size};\tsigned:0;"
        )?;
    }
    out.write_str("\nprint fmt: ")?;
    print_format(out, layout)?;
    out.write_char('\n')
}

fn field_line(
    out: &mut dyn Write,
    kind: &str,
    name: &str,
    offset: u16,
    size: u16,
    signed: bool,
) -> fmt::Result {
    let signed = u8::from(signed);
    writeln!(
        out,
        "\tfield:{kind} {name};\toffset:{offset};\tsize:{size};\tsigned:{signed};"
    )
}

fn argument_line(out: &mut dyn Write, field: &Field) -> fmt::Result {
    let kind = field.base.format_name();
    write!(out, "\tfield:{kind}")?;
    match field.count {
        // The kernel prints an array of text with its count behind the type.
        Some(count) if field.base.is_text() => write!(out, "[{count}] {}", OneLine(&field.name))?,
        Some(count) => write!(out, " {}[{count}]", OneLine(&field.name))?,
        None => write!(out, " {}", OneLine(&field.name))?,
    }
    let (offset, size) = (field.offset, field.size());
    let signed = u8::from(field.base.is_signed());
    writeln!(out, ";\toffset:{offset};\tsize:{size};\tsigned:{signed};")
}

/// Writes what follows `print fmt:`.
fn print_format(out: &mut dyn Write, layout: &Layout) -> fmt::Result {
    out.write_str(if layout.is_return {
        "\"(%lx <- %lx)"
    } else {
        "\"(%lx)"
    })?;
    for field in &layout.fields {
        let conversion = field.base.print_format();
        write!(out, " {}=", OneLine(&field.name))?;
        match field.count {
            None => out.write_str(conversion)?,
            Some(count) => {
                for n in 0..count {
                    write!(out, "{}{conversion}", if n == 0 { '{' } else { ',' })?;
                }
                out.write_char('}')?;
            }
        }
    }
    out.write_str(if layout.is_return {
        "\", REC->__probe_func, REC->__probe_ret_ip"
    } else {
        "\", REC->__probe_ip"
    })?;
    for field in &layout.fields {
        let name = OneLine(&field.name);
        match (field.count, field.base.is_text()) {
            (None, false) => write!(out, ", REC->{name}")?,
            (None, true) => write!(out, ", __get_str({name})")?,
            (Some(count), text) => {
                for n in 0..count {
                    if text {
                        write!(out, ", __get_str({name}[{n}])")?;
                    } else {
                        write!(out, ", REC->{name}[{n}]")?;
                    }
                }
            }
        }
    }
    Ok(())
}

/// Writes the header of `trace` for a buffer that holds `entries` of `written`
/// events on a machine with `cpus` CPUs online; with `irq_info` where the lines
/// have the flags column.
///
/// # Errors
///
/// Those of `out`.
pub fn write_trace_header(
    out: &mut dyn Write,
    entries: u64,
    written: u64,
    cpus: u32,
    irq_info: bool,
) -> fmt::Result {
    write!(
        out,
        "# tracer: nop\n#\n# entries-in-buffer/entries-written: "
    )?;
    writeln!(out, "{entries}/{written}   #P:{cpus}\n#")?;
    out.write_str(if irq_info { HEADER_IRQ } else { HEADER_PLAIN })
}

const HEADER_IRQ: &str = "\
#                                _-----=> irqs-off/BH-disabled
#                               / _----=> need-resched
#                              | / _---=> hardirq/softirq
#                              || / _--=> preempt-depth
#                              ||| / _-=> migrate-disable
#                              |||| /     delay
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
#              | |         |   |||||     |         |
";

const HEADER_PLAIN: &str = "\
#           TASK-PID     CPU#     TIMESTAMP  FUNCTION
#              | |         |         |         |
";

/// Writes the mark for events that were lost on `cpu` before the next one;
/// `None` when their number is not known.
///
/// # Errors
///
/// Those of `out`.
pub fn write_lost(out: &mut dyn Write, cpu: u32, count: Option<u64>) -> fmt::Result {
    match count {
        Some(count) => writeln!(out, "CPU:{cpu} [LOST {count} EVENTS]"),
        None => writeln!(out, "CPU:{cpu} [LOST EVENTS]"),
    }
}

/// Writes the mark before the first event of `cpu`'s buffer.
///
/// # Errors
///
/// Those of `out`.
pub fn write_buffer_started(out: &mut dyn Write, cpu: u32) -> fmt::Result {
    writeln!(out, "##### CPU {cpu} buffer started ####")
}

/// Writes the line of `kprobe_profile` for one probe.
///
/// # Errors
///
/// Those of `out`.
pub fn write_profile(out: &mut dyn Write, event: &str, hits: u64, missed: u64) -> fmt::Result {
    writeln!(out, "  {event:<44} {hits:15} {missed:15}")
}
