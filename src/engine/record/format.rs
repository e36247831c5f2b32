// SPDX-License-Identifier: GPL-2.0

//! Text for people and their tools: the `format` file of an event, the header and the marks
//! of `trace`, the lines of `kprobe_profile`.
//!
//! The wording and the columns are those of the 7.3 kernel, which scripts parse.
//!
//! Context: process, may sleep.

mod call;
mod ready;
mod synthetic;

pub(in crate::engine) use synthetic::conversion;

use core::fmt::{self, Write};

use crate::engine::record::{Class, Faults, Field, Fixed, Head, Layout, LayoutNames};
use crate::engine::util::text::{OneLine, Plain};

/// Bits of the flags byte of a record's header.
pub mod flag {
    /// Interrupts were off.
    pub const IRQS_OFF: u8 = 0x01;
    /// A lazy reschedule was pending.
    pub const NEED_RESCHED_LAZY: u8 = 0x02;
    /// A reschedule was pending.
    pub const NEED_RESCHED: u8 = 0x04;
    /// In a hard interrupt.
    pub const HARDIRQ: u8 = 0x08;
    /// In a soft interrupt.
    pub const SOFTIRQ: u8 = 0x10;
    /// A reschedule was pending for when preemption is next enabled.
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
/// The errors of `out`.
pub fn write_format(out: &mut dyn Write, name: &str, id: u16, layout: &Layout) -> fmt::Result {
    writeln!(out, "name: {name}\nID: {id}\nformat:")?;
    for field in Class::COMMON {
        fixed_line(out, field)?;
    }
    out.write_char('\n')?;
    if let Head::Ready(shape) = layout.class.head {
        ready::write_fields(out, layout, shape)?;
        return writeln!(out, "\nprint fmt: {}", shape.print);
    }
    if layout.class.shows_fixed() {
        for field in layout.class.fixed {
            fixed_line(out, field)?;
        }
    }
    match (&layout.call, layout.names.as_deref()) {
        (Some(call), _) => call::write_fields(out, layout, call)?,
        (None, Some(LayoutNames::Types(types))) => synthetic::write_fields(out, layout, types)?,
        (None, _) => {
            for field in &layout.fields {
                argument_line(out, field)?;
            }
        }
    }
    if let Some(faults) = layout.faults {
        let name = Faults::NAME;
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
    match (&layout.call, layout.names.as_deref()) {
        (Some(call), _) => call::write_print_format(out, layout, call)?,
        (None, Some(LayoutNames::Types(types))) => {
            synthetic::write_print_format(out, layout, types)?;
        }
        (None, _) => print_format(out, layout)?,
    }
    out.write_char('\n')
}

fn fixed_line(out: &mut dyn Write, field: &Fixed) -> fmt::Result {
    let signed = u8::from(field.signed);
    writeln!(
        out,
        "\tfield:{} {}{};\toffset:{};\tsize:{};\tsigned:{signed};",
        field.c_type, field.name, field.suffix, field.offset, field.size
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

/// Writes the part behind `print fmt:`.
fn print_format(out: &mut dyn Write, layout: &Layout) -> fmt::Result {
    let (text, arguments) = layout.class.print_format;
    write!(out, "\"{text}")?;
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
    out.write_str(if arguments.is_empty() { "\"" } else { "\", " })?;
    out.write_str(arguments)?;
    for field in &layout.fields {
        let name = OneLine(&field.name);
        match (field.count, field.base.is_text()) {
            (None, false) => write!(out, ", REC->{name}")?,
            (None, true) if field.base.is_structure() => write!(
                out,
                ", __print_hex(__get_dynamic_array({name}), __get_dynamic_array_len({name}))"
            )?,
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

/// The first lines of `trace`.
pub const TRACE_HEADER: &str = "# tracer: nop\n#\n";

/// Writes the header of `trace` for a buffer with `entries` of `written` events, on a machine with
/// `cpus` CPUs online. `irq_info` and `tgid` say whether lines have the columns of flags and of the
/// process.
///
/// # Errors
///
/// The errors of `out`.
pub fn write_trace_header(
    out: &mut dyn Write,
    entries: u64,
    written: u64,
    cpus: u32,
    (irq_info, tgid): (bool, bool),
) -> fmt::Result {
    write!(out, "{TRACE_HEADER}# entries-in-buffer/entries-written: ")?;
    writeln!(out, "{entries}/{written}   #P:{cpus}\n#")?;
    let columns = if irq_info { HEADER_IRQ } else { HEADER_PLAIN };
    if !tgid {
        return out.write_str(columns);
    }
    for line in columns.lines() {
        let (start, rest) = line.split_at_checked(TGID_AT).unwrap_or((line, ""));
        let column = match start.as_bytes().trim_ascii_end() {
            [.., b'D'] => "      TGID",
            [.., b'|', b' ', b'|'] => "        | ",
            _ => "          ",
        };
        writeln!(out, "{start}{column}{rest}")?;
    }
    Ok(())
}

/// Writes the header of `trace` in the kernel's latency format, for a buffer with the first of
/// `events` of the second; `machine` is the kernel's release, its preemption model, and the number
/// of CPUs online. The tracer `nop` shows a latency of 0 and no task.
///
/// # Errors
///
/// The errors of `out`.
pub fn write_latency_header(
    out: &mut dyn Write,
    events: (u64, u64),
    machine: (&[u8], &str, u32),
) -> fmt::Result {
    let (release, preemption, cpus) = machine;
    writeln!(out, "# nop latency trace v1.1.5 on {}", Plain(release))?;
    writeln!(out, "# {:-<68}", "")?;
    let (entries, written) = events;
    writeln!(
        out,
        "# latency: 0 us, #{entries}/{written}, CPU#0 | (M:{preemption} VP:0, KP:0, SP:0 HP:0 #P:{cpus})"
    )?;
    out.write_str(
        "#    -----------------\n\
         #    | task: -0 (uid:0 nice:0 policy:0 rt_prio:0)\n\
         #    -----------------\n#\n",
    )
}

/// The columns below the header of [`write_latency_header`].
pub const LATENCY_COLUMNS: &str = "\
#                    _------=> CPU#            \n\
#                   / _-----=> irqs-off/BH-disabled\n\
#                  | / _----=> need-resched    \n\
#                  || / _---=> hardirq/softirq \n\
#                  ||| / _--=> preempt-depth   \n\
#                  |||| / _-=> migrate-disable \n\
#                  ||||| /     delay           \n\
#  cmd     pid     |||||| time  |   caller     \n\
#     \\   /        ||||||  \\    |    /       \n";

/// Position of the process column in the header's lines.
const TGID_AT: usize = 21;

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

/// Writes the mark for `count` lost events of `cpu`; `None` if the number is unknown.
///
/// # Errors
///
/// The errors of `out`.
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
/// The errors of `out`.
pub fn write_buffer_started(out: &mut dyn Write, cpu: u32) -> fmt::Result {
    writeln!(out, "##### CPU {cpu} buffer started ####")
}

/// Writes the line of `kprobe_profile` for one probe.
///
/// # Errors
///
/// The errors of `out`.
pub fn write_profile(out: &mut dyn Write, event: &str, hits: u64, missed: u64) -> fmt::Result {
    writeln!(out, "  {event:<44} {hits:15} {missed:15}")
}
