// SPDX-License-Identifier: GPL-2.0

//! Prints events, as text or as JSON.

use crate::{
    engine::{
        print::context::{Context, Time},
        print::{
            put_latency, put_short_context, put_shown_fields, put_type, DelayGap, LatencyColumns,
            PrintForm, Renderer, ShownEvent, SymbolNames,
        },
        record::{Builtin, Header},
        ring::{EventRef, Note},
        util::{
            memo::Memo,
            reused::TimeSpan,
            seq_buf::{SeqBuf, TextBuf},
            text::{Appender, Plain},
        },
    },
    formats::Format,
    instance::Instance,
    kapi::{clock::Clock, symbol::Symbol},
    options::Flag,
    sys::{AllocError, Vec},
};
use core::fmt::{self, Write};
use kernel::sync::Arc;

/// Prints events by a renderer, and caches formats and symbols between events.
pub(crate) struct Printer<R> {
    renderer: R,
    formats: Memo<CachedFormat, 16>,
    /// The number of formats that were looked up.
    looked_up: u64,
    names: KernelNames,
    /// The span of time for which the cached names are valid.
    span: TimeSpan,
    /// Whether the options select the form of records.
    has_forms: bool,
    /// The number of the next event, in the columns of `latency-format`.
    index: u64,
    /// The gap for the delay in the text of the last event.
    gap: Option<DelayGap>,
    /// A gap to fill, and the start of its event in the text.
    pending: Option<(usize, DelayGap)>,
}

struct CachedFormat {
    format: Arc<Format>,
    /// A unique key of the format.
    key: u64,
}

impl<R: Renderer> Printer<R> {
    /// Makes a printer with empty caches.
    pub(crate) fn new() -> Self {
        Self {
            renderer: R::new(),
            formats: Memo::new(),
            looked_up: 0,
            names: KernelNames::new(),
            span: TimeSpan::NONE,
            has_forms: !R::HAS_CONTEXT,
            index: 1,
            gap: None,
            pending: None,
        }
    }

    /// Counts events from 0, for a file. In `trace_pipe` the kernel counts from 1.
    pub(crate) fn counted_from_zero(mut self) -> Self {
        self.index = 0;
        self
    }

    /// Makes a printer that does not allocate when it prints, and prints text whatever the options.
    pub(crate) fn without_caches() -> Self {
        let mut printer = Self::new();
        printer.formats.close();
        printer.renderer.close();
        printer.names.recent.close();
        printer.has_forms = false;
        printer
    }

    /// Clears what may become stale before the next event is printed: formats and symbols.
    pub(crate) fn forget(&mut self) {
        self.formats.clear();
        self.renderer.forget();
        self.names.recent.clear();
    }

    /// Adds `event` to `text`, with the mark of lost events before it, if any; see
    /// [`Printer::event`].
    ///
    /// # Errors
    ///
    /// [`AllocError`] if out of memory; nothing is then added.
    pub(crate) fn add(
        &mut self,
        instance: &Instance,
        text: &mut TextBuf,
        (clock, cpu): (Clock, u32),
        event: &EventRef<'_>,
    ) -> Result<(), AllocError> {
        self.fill_delay(text, Some(event.ts))?;
        let start = text.len();
        text.add(|buf| {
            self.event(instance, buf, (clock, cpu), event);
            // Nothing may fail after the text has been added.
            buf.keep_room(self.gap.map_or(0, |_| DelayGap::LONGEST));
        })?;
        if let Some(gap) = self.gap.take() {
            self.pending = Some((start, gap));
            self.index = self.index.wrapping_add(1);
        }
        Ok(())
    }

    /// Fills the gap for the delay in the last event of `text`, if there is one. `next` is the time
    /// of the next event; `None` if it is unknown.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if out of memory.
    pub(crate) fn fill_delay(
        &mut self,
        text: &mut TextBuf,
        next: Option<u64>,
    ) -> Result<(), AllocError> {
        match self.pending.take() {
            None => Ok(()),
            Some((start, gap)) => gap.fill(next, |delay| {
                text.insert(start.saturating_add(gap.at), delay)
            }),
        }
    }

    /// Prints the mark of lost events, if any, and `event`. It was recorded on `cpu`, with the time
    /// of `clock`.
    pub(crate) fn event(
        &mut self,
        instance: &Instance,
        buf: &mut SeqBuf<'_>,
        (clock, cpu): (Clock, u32),
        event: &EventRef<'_>,
    ) {
        self.event_by(instance, buf, (clock, cpu), event, &|id| {
            instance.formats.find(id)
        });
    }

    /// Like [`Printer::event`], with formats looked up by `find`.
    pub(crate) fn event_by(
        &mut self,
        instance: &Instance,
        buf: &mut SeqBuf<'_>,
        (clock, cpu): (Clock, u32),
        event: &EventRef<'_>,
        find: &dyn Fn(u16) -> Option<Arc<Format>>,
    ) {
        if event.lost > 0 {
            self.renderer.lost(buf, cpu, event.lost);
        }
        let record = event.payload();
        let Some(header) = Header::from_record(record) else {
            return self.renderer.damaged(buf, cpu, record.len());
        };
        let form = match self.has_forms {
            true => instance.options.form(),
            false => PrintForm::Text,
        };
        if R::HAS_CONTEXT || instance.options.has(Flag::ContextInfo) {
            match form.is_short() {
                true => put_short_context(buf, form, header, (cpu, event.ts)),
                false => self.context(instance, buf, (clock, cpu), event, header),
            }
        }
        let mut unremembered = None;
        let shown = match Builtin::with_id(header.event) {
            Some(builtin) => ShownEvent {
                // 0: nothing of it is cached.
                key: 0,
                group: Builtin::GROUP.as_bytes(),
                name: builtin.name.as_bytes(),
                layout: &builtin.layout,
            },
            None => {
                let slot = self.formats.slot(u64::from(header.event));
                let slot = slot.unwrap_or(&mut unremembered);
                let is_it = |known: &CachedFormat| known.format.id == header.event;
                if !slot.as_ref().is_some_and(is_it) {
                    self.looked_up = self.looked_up.wrapping_add(1);
                    let key = self.looked_up;
                    *slot = find(header.event).map(|format| CachedFormat { format, key });
                }
                let Some(known) = slot else {
                    return match form.is_short() {
                        true => put_type(buf, form, header, None),
                        false => self.renderer.unknown(buf, header),
                    };
                };
                ShownEvent {
                    key: known.key,
                    group: known.format.group.to_bytes(),
                    name: known.format.name.to_bytes(),
                    layout: &known.format.layout,
                }
            }
        };
        let at = (clock, event.ts);
        let former_code = &*instance.former_code;
        if !former_code.is_in(&mut self.span, at) {
            self.renderer.forget();
            self.names.recent.clear();
        }
        self.names.with_addresses = instance.options.has(Flag::SymAddr);
        self.names.with_offsets = instance.options.has(Flag::SymOffset);
        self.names.with_types = instance.options.has(Flag::Verbose);
        self.names.with_units = instance.options.has(Flag::Units);
        let is_former = |address| former_code.in_record(at, address);
        let mut names = self.names.with(&is_former);
        match form {
            PrintForm::Text => self.renderer.event(buf, shown, record, &mut names),
            // As in the kernel, which has no fields for marks and stacks, these stay text.
            PrintForm::Fields if shown.key != 0 => {
                put_shown_fields(buf, shown, record, &mut names);
            }
            PrintForm::Fields => self.renderer.event(buf, shown, record, &mut names),
            _ => put_type(buf, form, header, Some((shown, record))),
        }
    }

    /// Prints the context of an event.
    fn context(
        &mut self,
        instance: &Instance,
        buf: &mut SeqBuf<'_>,
        (clock, cpu): (Clock, u32),
        event: &EventRef<'_>,
        header: Header,
    ) {
        let context = Context {
            task: match header.pid {
                // All idle tasks have the same name in the output.
                0 => Note::new(0, *b"<idle>\0\0\0\0\0\0\0\0\0\0"),
                pid => event.task(pid),
            },
            cpu,
            time: if clock.is_nanoseconds() {
                Time::Nanoseconds(event.ts)
            } else {
                Time::Count(event.ts)
            },
            irq_info: instance.options.has(Flag::IrqInfo),
            tgid: instance.options.has(Flag::RecordTgid).then(|| {
                // CAST: The same bits.
                let known = instance.processes.known();
                known
                    .and_then(|known| known.of(header.pid as u32))
                    .unwrap_or(0)
            }),
        };
        if self.has_forms && instance.options.has(Flag::LatencyFormat) {
            let columns = LatencyColumns {
                start: instance.cleared.by(clock),
                index: self.index,
                is_verbose: instance.options.has(Flag::Verbose),
            };
            self.gap = put_latency(buf, &context, header, &columns);
            return;
        }
        self.renderer.context(buf, &context, header);
    }
}

/// The kernel's symbols, with a cache of recent texts.
pub(crate) struct KernelNames {
    /// Whether the option `sym-addr` is on.
    with_addresses: bool,
    /// Whether the option `sym-offset` is on.
    with_offsets: bool,
    /// Whether the option `verbose` is on.
    with_types: bool,
    /// Whether the option `units` is on.
    with_units: bool,
    recent: Memo<Recent, 16>,
}

/// The printed text of a symbol.
struct Recent {
    address: u64,
    with_offset: bool,
    text: Vec<u8>,
}

impl KernelNames {
    /// Makes an empty cache.
    pub(crate) const fn new() -> Self {
        Self {
            with_addresses: false,
            with_offsets: false,
            with_types: false,
            with_units: false,
            recent: Memo::new(),
        }
    }

    /// Clears the cache, as names may change.
    pub(crate) fn forget(&mut self) {
        self.recent.clear();
    }

    /// Returns the names for records of some time. `is_former` tells whether an address in a module
    /// meant unloaded code then. The cached names must be of the same time.
    pub(crate) fn with<'a>(&'a mut self, is_former: &'a dyn Fn(u64) -> bool) -> NamesThen<'a> {
        NamesThen {
            kernel: self,
            is_former,
        }
    }

    /// Adds the symbol of `address`; the address itself if it has none, or if it is in a module and
    /// `is_former` accepts it: it then means unloaded code.
    pub(crate) fn put(
        &mut self,
        address: u64,
        with_offset: bool,
        buf: &mut SeqBuf<'_>,
        is_former: &dyn Fn(u64) -> bool,
    ) {
        let slot = self.recent.slot(address ^ (address >> 4));
        let known = slot.and_then(|slot| {
            let is_it =
                |known: &Recent| known.address == address && known.with_offset == with_offset;
            if !slot.as_ref().is_some_and(is_it) {
                let mut text = Vec::new();
                *slot = write_symbol((address, with_offset), is_former, &mut Appender(&mut text))
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
            // `buf` notes an overflow.
            None => {
                let _ = write_symbol((address, with_offset), is_former, buf);
            }
        }
    }
}

fn write_symbol(
    (address, with_offset): (u64, bool),
    is_former: &dyn Fn(u64) -> bool,
    out: &mut dyn Write,
) -> fmt::Result {
    let symbol = Symbol::of_pointer(address);
    let symbol = symbol.as_ref().filter(|symbol| {
        // Check after the lookup: if a module was replaced meanwhile, its old code is former by
        // now.
        symbol.module().is_none() || !is_former(symbol.address)
    });
    let Some(symbol) = symbol else {
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

/// The kernel's symbols, as of some time.
pub(crate) struct NamesThen<'a> {
    kernel: &'a mut KernelNames,
    is_former: &'a dyn Fn(u64) -> bool,
}

impl SymbolNames for NamesThen<'_> {
    fn symbolize(&mut self, address: u64, with_offset: bool, buf: &mut SeqBuf<'_>) {
        self.kernel.put(address, with_offset, buf, self.is_former);
    }

    fn shows_addresses(&self) -> bool {
        self.kernel.with_addresses
    }

    fn shows_offsets(&self) -> bool {
        self.kernel.with_offsets
    }

    fn shows_types(&self) -> bool {
        self.kernel.with_types
    }

    fn shows_units(&self) -> bool {
        self.kernel.with_units
    }

    fn is_return_trampoline(&mut self, address: u64) -> bool {
        let names: [&[u8]; 2] = [b"arch_rethook_trampoline", b"__kretprobe_trampoline"];
        Symbol::of_pointer(address)
            .is_some_and(|symbol| symbol.offset == 0 && names.contains(&symbol.name()))
    }
}
