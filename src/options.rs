// SPDX-License-Identifier: GPL-2.0

//! The options of recording and printing, as in `trace_options` and `options/`, with the
//! kernel's names and defaults.
//!
//! Only the kernel's options that are meaningful for probe events exist.

use crate::engine::print::PrintForm;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// An option.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flag {
    /// Prints the caller of a function. Only meaningful for the kernel's function tracer, so it has
    /// no effect.
    PrintParent,
    /// The symbols of a stack have offsets.
    SymOffset,
    /// Addresses are printed after symbols.
    SymAddr,
    /// Types are printed, and no columns over the events.
    Verbose,
    /// Only context and number of an event are printed.
    Raw,
    /// As `Raw`, the context in hexadecimal digits.
    Hex,
    /// As `Raw`, the context in binary.
    Bin,
    /// The fields of a record are printed, not the text of the event.
    Fields,
    /// `trace` marks where each CPU's events begin.
    Annotate,
    /// The stack of the user is recorded behind each event.
    UserStackTrace,
    /// Task, CPU and time are printed before each event.
    ContextInfo,
    /// The context is printed as by the kernel's latency tracers.
    LatencyFormat,
    /// The names of tasks are recorded; always on.
    RecordCmd,
    /// The processes of threads are recorded and printed.
    RecordTgid,
    /// A full ring loses its oldest events, not the newest.
    Overwrite,
    /// The flags column is printed.
    IrqInfo,
    /// `trace_marker` can be written.
    Markers,
    /// Children of tasks in `set_event_pid` and `set_event_notrace_pid` are added to these lists.
    EventFork,
    /// Nothing is recorded while `trace` is open.
    PauseOnTrace,
    /// Addresses are hashed; always off.
    HashPtr,
    /// The stack of the kernel is recorded behind each event.
    StackTrace,
    /// Durations and sizes are printed with units. The kernel has no such option.
    Units,
}

impl Flag {
    /// All options, in the order in which the kernel shows them.
    pub(crate) const ALL: [Self; 22] = [
        Self::PrintParent,
        Self::SymOffset,
        Self::SymAddr,
        Self::Verbose,
        Self::Raw,
        Self::Hex,
        Self::Bin,
        Self::Fields,
        Self::Annotate,
        Self::UserStackTrace,
        Self::ContextInfo,
        Self::LatencyFormat,
        Self::RecordCmd,
        Self::RecordTgid,
        Self::Overwrite,
        Self::IrqInfo,
        Self::Markers,
        Self::EventFork,
        Self::PauseOnTrace,
        Self::HashPtr,
        Self::StackTrace,
        Self::Units,
    ];

    /// Returns the kernel's name of the option.
    pub(crate) const fn name(self) -> &'static core::ffi::CStr {
        match self {
            Self::PrintParent => c"print-parent",
            Self::SymOffset => c"sym-offset",
            Self::SymAddr => c"sym-addr",
            Self::Verbose => c"verbose",
            Self::Raw => c"raw",
            Self::Hex => c"hex",
            Self::Bin => c"bin",
            Self::Fields => c"fields",
            Self::Annotate => c"annotate",
            Self::UserStackTrace => c"userstacktrace",
            Self::ContextInfo => c"context-info",
            Self::LatencyFormat => c"latency-format",
            Self::RecordCmd => c"record-cmd",
            Self::RecordTgid => c"record-tgid",
            Self::Overwrite => c"overwrite",
            Self::IrqInfo => c"irq-info",
            Self::Markers => c"markers",
            Self::EventFork => c"event-fork",
            Self::PauseOnTrace => c"pause-on-trace",
            Self::HashPtr => c"hash-ptr",
            Self::StackTrace => c"stacktrace",
            Self::Units => c"units",
        }
    }

    /// Returns the option called `name`.
    pub(crate) fn by_name(name: &[u8]) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|flag| flag.name().to_bytes() == name)
    }

    /// Returns whether it cannot be changed.
    pub(crate) const fn is_fixed(self) -> bool {
        matches!(self, Self::RecordCmd | Self::HashPtr)
    }

    /// Returns whether it is on by default.
    pub(crate) const fn default(self) -> bool {
        !matches!(
            self,
            Self::SymOffset
                | Self::SymAddr
                | Self::Verbose
                | Self::Raw
                | Self::Hex
                | Self::Bin
                | Self::Fields
                | Self::LatencyFormat
                | Self::UserStackTrace
                | Self::RecordTgid
                | Self::EventFork
                | Self::PauseOnTrace
                | Self::HashPtr
                | Self::StackTrace
                | Self::Units
        )
    }

    const fn bit(self) -> u32 {
        // CAST: A discriminant less than the number of options.
        1 << self as u32
    }
}

/// What is printed when the kernel oopses: `dump_on_oops`.
pub(crate) struct DumpOnOops {
    /// 0, or the number of events.
    events: AtomicU32,
    /// Whether only events of the CPU that oopses are printed.
    is_own: AtomicBool,
}

impl DumpOnOops {
    /// Default number of events.
    pub(crate) const DEFAULT: u32 = 100;

    /// Maximum number of events.
    pub(crate) const MOST: u32 = 1000;

    /// Makes the setting for the kernel's mode: 1 prints all CPUs, 2 the CPU that oopses, 0 none.
    pub(crate) fn new(mode: u32) -> Self {
        let events = if mode == 0 { 0 } else { Self::DEFAULT };
        Self {
            events: AtomicU32::new(events),
            is_own: AtomicBool::new(mode == 2),
        }
    }

    /// Changes the setting.
    pub(crate) fn set(&self, events: u32, is_own: bool) {
        self.is_own.store(is_own, Ordering::Relaxed);
        self.events.store(events, Ordering::Relaxed);
    }

    /// Returns the number of events, 0 for none, and whether they are those of one CPU.
    ///
    /// Context: any.
    pub(crate) fn get(&self) -> (u32, bool) {
        let is_own = self.is_own.load(Ordering::Relaxed);
        (self.events.load(Ordering::Relaxed), is_own)
    }
}

/// The options that are on.
pub(crate) struct Options(AtomicU32);

impl Options {
    /// Returns the default options.
    pub(crate) fn new() -> Self {
        let on = Flag::ALL.into_iter().filter(|flag| flag.default());
        Self(AtomicU32::new(on.fold(0, |bits, flag| bits | flag.bit())))
    }

    /// Returns the form in which records are printed. As in the kernel, some options hide others.
    pub(crate) fn form(&self) -> PrintForm {
        if self.has(Flag::Bin) {
            PrintForm::Binary
        } else if self.has(Flag::Hex) {
            PrintForm::Hex
        } else if self.has(Flag::Raw) {
            PrintForm::Raw
        } else if self.has(Flag::Fields) {
            PrintForm::Fields
        } else {
            PrintForm::Text
        }
    }

    /// Returns whether `flag` is on.
    pub(crate) fn has(&self, flag: Flag) -> bool {
        self.0.load(Ordering::Relaxed) & flag.bit() != 0
    }

    /// Switches `flag` on or off.
    pub(crate) fn set(&self, flag: Flag, on: bool) {
        if on {
            self.0.fetch_or(flag.bit(), Ordering::Relaxed);
        } else {
            self.0.fetch_and(!flag.bit(), Ordering::Relaxed);
        }
    }
}
