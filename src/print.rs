// SPDX-License-Identifier: GPL-2.0

//! Events as text.

use crate::{
    engine::{
        context::{Columns, Context, Time},
        format,
        line::{self, Lines, SymbolNames},
        marker,
        memo::Memo,
        record::Header,
        ring::{EventRef, Note},
        seq_buf::SeqBuf,
        text::{Appender, Plain},
    },
    event::Format,
    kapi::{clock::Clock, symbol::Symbol},
    options::Flag,
    sys::Vec,
    tracer::Tracer,
};
use core::fmt::{self, Write};
use kernel::sync::Arc;

/// Prints events; remembers how to, from one to the next.
pub(crate) struct Printer {
    columns: Columns,
    formats: Memo<Known, 16>,
    /// How many formats were looked up.
    looked_up: u64,
    lines: Lines,
    names: KernelNames,
}

/// How the records of an event are read.
struct Known {
    format: Arc<Format>,
    /// The last time at which one may have been recorded.
    until: u64,
    /// Another one for each that was looked up.
    key: u64,
}

impl Printer {
    /// A printer that knows no event.
    pub(crate) const fn new() -> Self {
        Self {
            columns: Columns::new(),
            formats: Memo::new(),
            looked_up: 0,
            lines: Lines::new(),
            names: KernelNames::new(),
        }
    }

    /// Forgets what may be otherwise by the time the next event is printed: which
    /// events there are, and symbols.
    pub(crate) fn forget(&mut self) {
        self.formats.clear();
        self.lines.forget();
        self.names.recent.clear();
    }

    /// Adds what was lost before `event`, which `cpu` recorded at a time by `clock`,
    /// and the line of the event.
    pub(crate) fn event(
        &mut self,
        tracer: &Tracer,
        buf: &mut SeqBuf<'_>,
        (clock, cpu): (Clock, u32),
        event: &EventRef<'_>,
    ) {
        if event.lost > 0 {
            let _ = format::write_lost(buf, cpu, Some(event.lost));
        }
        let record = event.payload();
        let Some(header) = Header::from_record(record) else {
            let _ = writeln!(buf, "# CPU {cpu}: a record of {} bytes", record.len());
            return;
        };
        if tracer.options.has(Flag::ContextInfo) {
            self.context(tracer, buf, (clock, cpu), event, header);
        }
        if header.event == marker::EVENT {
            let _ = marker::write_event(buf, record);
            return;
        }
        let mut unremembered = None;
        let slot = self.formats.slot(u64::from(header.event));
        let slot = slot.unwrap_or(&mut unremembered);
        let is_it = |known: &Known| known.format.id == header.event && event.ts <= known.until;
        if !slot.as_ref().is_some_and(is_it) {
            self.looked_up = self.looked_up.wrapping_add(1);
            let key = self.looked_up;
            let found = tracer.registry.lock().format(header.event, event.ts);
            *slot = found.map(|(format, until)| Known { format, until, key });
        }
        let Some(known) = slot else {
            let _ = writeln!(buf, "# removed event {}", header.event);
            return;
        };
        let shown = line::Event {
            key: known.key,
            name: known.format.name.to_bytes(),
            layout: known.format.program.layout(),
        };
        self.names.with_addresses = tracer.options.has(Flag::SymAddr);
        self.lines.put(buf, shown, record, &mut self.names);
    }

    /// Adds what stands before the event.
    fn context(
        &mut self,
        tracer: &Tracer,
        buf: &mut SeqBuf<'_>,
        (clock, cpu): (Clock, u32),
        event: &EventRef<'_>,
        header: Header,
    ) {
        let context = Context {
            task: match header.pid {
                // The idle tasks, whatever they call themselves.
                0 => Note::new(0, *b"<idle>\0\0\0\0\0\0\0\0\0\0"),
                pid => event.task(pid),
            },
            cpu,
            time: if clock.is_nanoseconds() {
                Time::Nanoseconds(event.ts)
            } else {
                Time::Count(event.ts)
            },
            irq_info: tracer.options.has(Flag::IrqInfo),
        };
        self.columns.put(buf, &context, header);
    }
}

/// The kernel's symbols, and the text of those that were asked for last.
struct KernelNames {
    /// Option `sym-addr`.
    with_addresses: bool,
    recent: Memo<Recent, 16>,
}

/// A symbol as it was printed.
struct Recent {
    address: u64,
    with_offset: bool,
    text: Vec<u8>,
}

impl KernelNames {
    const fn new() -> Self {
        Self {
            with_addresses: false,
            recent: Memo::new(),
        }
    }

    fn write(address: u64, with_offset: bool, out: &mut dyn Write) -> fmt::Result {
        let Some(symbol) = Symbol::at(address) else {
            return write!(out, "{address:#x}");
        };
        write!(out, "{}", Plain(symbol.name()))?;
        if with_offset {
            write!(out, "+{:#x}/{:#x}", symbol.offset, symbol.size)?;
        }
        match symbol.module() {
            Some(module) => write!(out, " [{}]", Plain(module)),
            None => Ok(()),
        }
    }
}

impl SymbolNames for KernelNames {
    fn symbolize(&mut self, address: u64, with_offset: bool, buf: &mut SeqBuf<'_>) {
        let slot = self.recent.slot(address ^ (address >> 4));
        let known = slot.and_then(|slot| {
            let is_it =
                |known: &Recent| known.address == address && known.with_offset == with_offset;
            if !slot.as_ref().is_some_and(is_it) {
                let mut text = Vec::new();
                *slot = Self::write(address, with_offset, &mut Appender(&mut text))
                    .is_ok()
                    .then_some(Recent {
                        address,
                        with_offset,
                        text,
                    });
            }
            slot.as_ref()
        });
        match known {
            Some(known) => buf.bytes(&known.text),
            // Whether there was room is remembered.
            None => {
                let _ = Self::write(address, with_offset, buf);
            }
        }
    }

    fn shows_addresses(&self) -> bool {
        self.with_addresses
    }

    fn is_return_trampoline(&mut self, address: u64) -> bool {
        let names: [&[u8]; 2] = [b"arch_rethook_trampoline", b"__kretprobe_trampoline"];
        Symbol::at(address)
            .is_some_and(|symbol| symbol.offset == 0 && names.contains(&symbol.name()))
    }
}
