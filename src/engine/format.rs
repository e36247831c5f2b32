// SPDX-License-Identifier: GPL-2.0

//! Text for people and their tools: the `format` file of an event, the lines
//! and the header of `trace`, the lines of `kprobe_profile`.
//!
//! All of it is computed when it is read, from the bytes of the record; the
//! wording and the columns are those of the 7.3 kernel, which scripts parse.
//! Process context only.

use core::fmt::{self, Write};

use super::line::{self, Line};
use super::record::{self, Field, Header, Layout, Text};
use super::text::OneLine;
use super::types::Type;

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

/// Prints addresses as symbols.
pub trait SymbolNames {
    /// Writes the symbol that `address` belongs to, with its module, as `%pS`
    /// (`SYM+0x0/0x0 [MOD]`) or, without offset, as `%ps`; an address that
    /// belongs to none as a hexadecimal number.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    fn symbolize(&mut self, address: u64, with_offset: bool, out: &mut dyn Write) -> fmt::Result;

    /// Whether places show their addresses behind the symbols (option
    /// `sym-addr`).
    fn shows_addresses(&self) -> bool {
        false
    }

    /// Whether `address` is where a function returns to while another return
    /// probe follows it: its caller is then not known.
    fn is_return_trampoline(&mut self, _address: u64) -> bool {
        false
    }
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

/// How the time of an event is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// Nanoseconds, printed as seconds.
    Nanoseconds(u64),
    /// A count.
    Count(u64),
}

/// What stands before an event's own text.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Name of the task, without NULs.
    pub comm: &'a [u8],
    /// CPU on which it was recorded.
    pub cpu: u32,
    /// When it was recorded.
    pub time: Time,
    /// Whether the flags column is printed (option `irq-info`).
    pub irq_info: bool,
}

/// Writes the part of a line before the event's own text:
/// `COMM-PID [CPU] FLAGS TIME: `.
///
/// # Errors
///
/// Those of `out`.
pub fn write_context(out: &mut dyn Write, context: &Context<'_>, header: Header) -> fmt::Result {
    let mut line = Line::new(out);
    put_context(&mut line, context, header)?;
    line.end()
}

/// [`write_context`], as part of a line.
///
/// # Errors
///
/// Those of the writer behind the line; it may be told only at its end.
pub fn put_context(line: &mut Line<'_>, context: &Context<'_>, header: Header) -> fmt::Result {
    if line::is_printable(context.comm) {
        line.pad(b' ', context.comm.len(), 16);
        line.one_line(context.comm);
    } else {
        // Padding needs the length of what is printed, not of the bytes.
        let mut shown = Short {
            bytes: [0; 64],
            len: 0,
        };
        let _ = write!(shown, "{}", OneLine(context.comm));
        write!(line, "{:>16}", shown.as_str())?;
    }
    line.character(b'-');
    let pid = u32::try_from(header.pid);
    match pid {
        Ok(pid) => {
            line.decimal(u64::from(pid), 0, b' ');
            line.pad(b' ', digits(pid), 7);
        }
        Err(_) => write!(line, "{:<7}", header.pid)?,
    }
    line.text(" [");
    line.decimal(u64::from(context.cpu), 3, b'0');
    line.text("] ");
    if context.irq_info {
        put_flags(line, header);
    }
    line.character(b' ');
    match context.time {
        Time::Nanoseconds(ns) => {
            let micros = ns.saturating_add(500) / 1_000;
            line.decimal(micros / 1_000_000, 5, b' ');
            line.character(b'.');
            line.decimal(micros % 1_000_000, 6, b'0');
        }
        Time::Count(n) => line.decimal(n, 12, b' '),
    }
    line.text(": ");
    Ok(())
}

/// How many decimal digits `value` has.
fn digits(value: u32) -> usize {
    // CAST: at most 9.
    value.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// A short text on the stack; what does not fit is dropped.
struct Short {
    bytes: [u8; 64],
    len: usize,
}

impl Short {
    fn as_str(&self) -> &str {
        let bytes = self.bytes.get(..self.len).unwrap_or(&[]);
        core::str::from_utf8(bytes).unwrap_or("?")
    }
}

impl Write for Short {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len.saturating_add(text.len());
        let to = self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?;
        for (to, from) in to.iter_mut().zip(text.bytes()) {
            *to = from;
        }
        self.len = end;
        Ok(())
    }
}

/// Writes the five letters for interrupts, rescheduling, context, preemption
/// and migration.
///
/// # Errors
///
/// Those of `out`.
pub fn write_flags(out: &mut dyn Write, header: Header) -> fmt::Result {
    let mut line = Line::new(out);
    put_flags(&mut line, header);
    line.end()
}

fn put_flags(line: &mut Line<'_>, header: Header) {
    let has = |bit: u8| header.flags & bit != 0;
    line.character(match (has(flag::IRQS_OFF), has(flag::BH_OFF)) {
        (true, true) => b'D',
        (true, false) => b'd',
        (false, true) => b'b',
        (false, false) => b'.',
    });
    let (now, lazy) = (has(flag::NEED_RESCHED), has(flag::NEED_RESCHED_LAZY));
    line.character(match (now, lazy, has(flag::PREEMPT_RESCHED)) {
        (true, true, true) => b'B',
        (true, false, true) => b'N',
        (false, true, true) => b'L',
        (true, true, false) => b'b',
        (true, false, false) => b'n',
        (false, false, true) => b'p',
        (false, true, false) => b'l',
        (false, false, false) => b'.',
    });
    line.character(
        match (has(flag::NMI), has(flag::HARDIRQ), has(flag::SOFTIRQ)) {
            (true, true, _) => b'Z',
            (true, false, _) => b'z',
            (false, true, true) => b'H',
            (false, true, false) => b'h',
            (false, false, true) => b's',
            (false, false, false) => b'.',
        },
    );
    for half in [header.preempt_count & 0xf, header.preempt_count >> 4] {
        match half {
            0 => line.character(b'.'),
            n => line.hexadecimal(u64::from(n)),
        }
    }
}

/// Writes the event's own text: `EVENT: (PLACE) NAME=VALUE...` and a line
/// feed. What a record too short does not hold prints as `(fault)`.
///
/// # Errors
///
/// Those of `out`.
pub fn write_event(
    out: &mut dyn Write,
    name: &str,
    layout: &Layout,
    record: &[u8],
    symbols: &mut dyn SymbolNames,
) -> fmt::Result {
    let mut line = Line::new(out);
    put_event(&mut line, name, layout, record, symbols)?;
    line.end()
}

/// [`write_event`], as part of a line.
///
/// # Errors
///
/// Those of the writer behind the line; it may be told only at its end.
pub fn put_event(
    line: &mut Line<'_>,
    name: &str,
    layout: &Layout,
    record: &[u8],
    symbols: &mut dyn SymbolNames,
) -> fmt::Result {
    line.text(name);
    line.text(": (");
    let first = integer(record, 8, 8).unwrap_or(0);
    if layout.is_return {
        let caller = integer(record, 16, 8).unwrap_or(0);
        if symbols.is_return_trampoline(caller) {
            line.text("[unknown/kretprobe'd]");
        } else {
            place(line, caller, true, symbols)?;
        }
        line.text(" <- ");
        place(line, first, false, symbols)?;
    } else {
        place(line, first, true, symbols)?;
    }
    line.character(b')');
    for field in &layout.fields {
        line.character(b' ');
        line.one_line(&field.name);
        line.character(b'=');
        put_field(line, layout, field, record, symbols)?;
    }
    line.character(b'\n');
    Ok(())
}

fn place(
    line: &mut Line<'_>,
    address: u64,
    with_offset: bool,
    symbols: &mut dyn SymbolNames,
) -> fmt::Result {
    match address {
        0 => line.character(b'0'),
        _ => {
            symbols.symbolize(address, with_offset, line)?;
            if symbols.shows_addresses() {
                write!(line, " <{address:016x}>")?;
            }
        }
    }
    Ok(())
}

/// Writes the value of `field`.
///
/// # Errors
///
/// Those of `out`.
pub fn write_field(
    out: &mut dyn Write,
    layout: &Layout,
    field: &Field,
    record: &[u8],
    symbols: &mut dyn SymbolNames,
) -> fmt::Result {
    let mut line = Line::new(out);
    put_field(&mut line, layout, field, record, symbols)?;
    line.end()
}

fn put_field(
    line: &mut Line<'_>,
    layout: &Layout,
    field: &Field,
    record: &[u8],
    symbols: &mut dyn SymbolNames,
) -> fmt::Result {
    if let (Some(faults), Some(bit)) = (layout.faults, field.fault) {
        if faults.is_set(record, bit) {
            line.text(FAULT);
            return Ok(());
        }
    }
    let Some(count) = field.count else {
        return element(line, field, record, 0, symbols);
    };
    for n in 0..count {
        line.character(if n == 0 { b'{' } else { b',' });
        element(line, field, record, n, symbols)?;
    }
    line.character(b'}');
    Ok(())
}

/// What is printed for memory that could not be read.
pub const FAULT: &str = "(fault)";

fn element(
    line: &mut Line<'_>,
    field: &Field,
    record: &[u8],
    n: u8,
    symbols: &mut dyn SymbolNames,
) -> fmt::Result {
    let size = field.base.size();
    let at = u16::from(size)
        .saturating_mul(u16::from(n))
        .saturating_add(field.offset);
    let Some(value) = integer(record, at, size) else {
        line.text(FAULT);
        return Ok(());
    };
    match field.base {
        Type::Unsigned(_) => line.decimal(value, 0, b' '),
        Type::Hex(_) => {
            line.text("0x");
            line.hexadecimal(value);
        }
        Type::Signed(width) => {
            let unused = 64u32.saturating_sub(u32::from(width.bits()));
            // CAST: the sign bit was shifted to the top.
            let shifted = value.wrapping_shl(unused) as i64;
            line.signed(shifted.wrapping_shr(unused));
        }
        Type::Char => {
            line.character(b'\'');
            // CAST: one byte was read.
            line.one_line(&[value as u8]);
            line.character(b'\'');
        }
        Type::Symbol => symbols.symbolize(value, true, line)?,
        Type::String | Type::Ustring | Type::Symstr => {
            // CAST: four bytes were read.
            let (text, end) = match record::text(record, value as u32) {
                Text::Fault => {
                    line.text(FAULT);
                    return Ok(());
                }
                Text::Whole(text) => (text, "\""),
                Text::Truncated(text) => (text, "\"..."),
            };
            line.character(b'"');
            line.one_line(text);
            line.text(end);
        }
    }
    Ok(())
}

/// The little-endian number of `size` bytes at `at`.
fn integer(record: &[u8], at: u16, size: u8) -> Option<u64> {
    let at = usize::from(at);
    let bytes = record.get(at..at.checked_add(usize::from(size))?)?;
    Some(match *bytes {
        [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => {
            let shifted = |sum, &byte| (sum << 8) | u64::from(byte);
            bytes.iter().rev().fold(0, shifted)
        }
    })
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
