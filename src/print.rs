// SPDX-License-Identifier: GPL-2.0

//! Events as text.

use crate::{
    engine::{
        format::{self, Context, SymbolNames, Time},
        line::Line,
        marker,
        record::Header,
        ring::EventRef,
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
    /// The last one that was used, and up to when it holds.
    format: Option<(Arc<Format>, u64)>,
    names: KernelNames,
}

impl Printer {
    /// A printer that knows no event.
    pub(crate) const fn new() -> Self {
        Self {
            format: None,
            names: KernelNames::new(),
        }
    }

    /// Writes what was lost before `event`, which `cpu` recorded at a time by
    /// `clock`, and the line of the event.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub(crate) fn event(
        &mut self,
        tracer: &Tracer,
        out: &mut dyn Write,
        (clock, cpu): (Clock, u32),
        event: &EventRef<'_>,
    ) -> fmt::Result {
        let mut line = Line::new(out);
        self.put(tracer, &mut line, (clock, cpu), event)?;
        line.end()
    }

    fn put(
        &mut self,
        tracer: &Tracer,
        out: &mut Line<'_>,
        (clock, cpu): (Clock, u32),
        event: &EventRef<'_>,
    ) -> fmt::Result {
        if event.lost > 0 {
            format::write_lost(out, cpu, Some(event.lost))?;
        }
        let record = event.payload();
        let Some(header) = Header::from_record(record) else {
            return writeln!(out, "# CPU {cpu}: a record of {} bytes", record.len());
        };
        if tracer.options.has(Flag::ContextInfo) {
            Self::context(tracer, out, (clock, cpu), event, header)?;
        }
        if header.event == marker::EVENT {
            return marker::write_event(out, record);
        }
        let known = self
            .format
            .as_ref()
            .is_some_and(|(format, until)| format.id == header.event && event.ts <= *until);
        if !known {
            self.format = tracer.registry.lock().format(header.event, event.ts);
        }
        match &self.format {
            Some((format, _)) => {
                let layout = format.program.layout();
                self.names.with_addresses = tracer.options.has(Flag::SymAddr);
                format::put_event(out, format.name(), layout, record, &mut self.names)
            }
            None => writeln!(out, "# removed event {}", header.event),
        }
    }

    /// Writes what stands before the event.
    fn context(
        tracer: &Tracer,
        out: &mut Line<'_>,
        (clock, cpu): (Clock, u32),
        event: &EventRef<'_>,
        header: Header,
    ) -> fmt::Result {
        let comm = match header.pid {
            // The idle tasks, whatever they call themselves.
            0 => *b"<idle>\0\0\0\0\0\0\0\0\0\0",
            pid => event.comm(pid),
        };
        let length = comm.iter().position(|&byte| byte == 0);
        let context = Context {
            comm: comm.get(..length.unwrap_or(comm.len())).unwrap_or_default(),
            cpu,
            time: if clock.is_nanoseconds() {
                Time::Nanoseconds(event.ts)
            } else {
                Time::Count(event.ts)
            },
            irq_info: tracer.options.has(Flag::IrqInfo),
        };
        format::put_context(out, &context, header)
    }
}

/// The kernel's symbols, and the text of those that were asked for last.
struct KernelNames {
    /// Option `sym-addr`.
    with_addresses: bool,
    recent: [Option<Recent>; RECENT],
}

/// How many symbols are remembered. An address has its place, as the places of
/// probes are few.
const RECENT: usize = 16;

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
            recent: [const { None }; RECENT],
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
    fn symbolize(&mut self, address: u64, with_offset: bool, out: &mut dyn Write) -> fmt::Result {
        // CAST: below RECENT.
        let place = (address ^ (address >> 4)) as usize % RECENT;
        let Some(place) = self.recent.get_mut(place) else {
            return Self::write(address, with_offset, out);
        };
        let known = place
            .as_ref()
            .is_some_and(|known| known.address == address && known.with_offset == with_offset);
        if !known {
            let mut text = Vec::new();
            Self::write(address, with_offset, &mut Appender(&mut text))?;
            *place = Some(Recent {
                address,
                with_offset,
                text,
            });
        }
        let text = place.as_ref().map(|known| &*known.text).unwrap_or_default();
        out.write_str(core::str::from_utf8(text).unwrap_or("?"))
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
