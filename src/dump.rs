// SPDX-License-Identifier: GPL-2.0

//! Prints the newest events on the console when the kernel oopses or panics.
//!
//! At an oops recording stops and a worker prints, because the system may go on. If the kernel
//! panics first, the events are printed at once, without allocating, waiting for locks or releasing
//! anything: the other CPUs are stopped in an arbitrary state.

use crate::{
    buffer::StillTools,
    engine::{print::PrintedText, util::seq_buf::SeqBuf},
    instance::Instance,
    kapi::{
        context,
        irq_deferred::{IrqDeferred, RunDeferred},
        oops::{OnOops, OopsWatch},
    },
    print::Printer,
    sys::Vec,
};
use core::{
    mem,
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{Arc, Mutex},
};

/// Number of bytes of an event's text; the rest is cut.
const ROOM: usize = 4096;

/// Prints the events of an instance.
pub(crate) struct Dump {
    printing: Arc<OopsPrinting>,
    worker: Arc<IrqDeferred<PrintLater>>,
}

#[pin_data]
struct OopsPrinting {
    instance: Arc<Instance>,
    #[pin]
    tools: Mutex<OopsTools>,
    /// The CPU of the last oops.
    oopsed: AtomicU32,
    /// Whether an oops is still to be printed.
    is_due: AtomicBool,
}

/// Memory for printing, allocated in advance.
struct OopsTools {
    still: StillTools,
    printer: KBox<Printer<PrintedText>>,
    room: Vec<u8>,
}

struct PrintLater(Arc<OopsPrinting>);

impl RunDeferred for PrintLater {
    fn run(&self) {
        if !self.0.is_due.swap(false, Ordering::Relaxed) {
            return;
        }
        let buffer = &self.0.instance.buffer;
        buffer.wait_until_off();
        let cpu = self.0.oopsed.load(Ordering::Relaxed);
        let mut tools = self.0.tools.lock();
        self.0.print(&mut tools, cpu, false);
    }
}

/// Registers printing of the events of `instance`.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn watch(instance: &Arc<Instance>) -> Result<OopsWatch<Dump>> {
    let mut room = Vec::with_capacity(ROOM)?;
    for _ in 0..ROOM {
        room.push(0)?;
    }
    let tools = OopsTools {
        still: StillTools::new()?,
        printer: KBox::new(Printer::without_caches(), GFP_KERNEL)?,
        room,
    };
    let instance = instance.clone();
    let printing = Arc::pin_init(
        pin_init!(OopsPrinting {
            instance,
            tools <- new_mutex!(tools),
            oopsed: AtomicU32::new(0),
            is_due: AtomicBool::new(false),
        }),
        GFP_KERNEL,
    )?;
    let worker = IrqDeferred::new(PrintLater(printing.clone()))?;
    OopsWatch::new(Arc::new(Dump { printing, worker }, GFP_KERNEL)?)
}

impl OnOops for Dump {
    fn oops(&self) {
        let printing = &self.printing;
        if printing.instance.tracer.dump_on_oops.get().0 == 0 {
            return;
        }
        printing.instance.buffer.stop_in_oops();
        let cpu = context::on_this_cpu(|here| here.number());
        printing.oopsed.store(cpu, Ordering::Relaxed);
        printing.is_due.store(true, Ordering::Relaxed);
        self.worker.kick();
    }

    fn panic(&self) {
        let printing = &self.printing;
        if printing.instance.tracer.dump_on_oops.get().0 == 0 {
            return;
        }
        printing.instance.buffer.stop_in_oops();
        let cpu = context::on_this_cpu(|here| here.number());
        // Otherwise the oops is being printed already.
        if let Some(mut tools) = printing.tools.try_lock() {
            printing.print(&mut tools, cpu, true);
            mem::forget(tools);
        }
    }
}

impl OopsPrinting {
    /// Prints the newest events. `is_last` if the kernel panics.
    fn print(&self, tools: &mut OopsTools, cpu: u32, is_last: bool) {
        let instance = &*self.instance;
        let (most, is_own) = instance.tracer.dump_on_oops.get();
        let OopsTools {
            still,
            printer,
            room,
        } = tools;
        let last = match is_last {
            true => instance.formats.last(),
            false => None,
        };
        pr_emerg!("the newest events, {most} at most:\n");
        let mut count = 0usize;
        // CAST: u32 to usize widens.
        let wanted = (most as usize, is_own.then_some(cpu));
        let busy = instance
            .buffer
            .newest(still, wanted, is_last, &mut |clock, cpu, event| {
                let mut buf = SeqBuf::new(room);
                let find = |id| match (&last, is_last) {
                    (Some(last), _) => last.find(id),
                    (None, true) => None,
                    (None, false) => instance.formats.find(id),
                };
                printer.event_by(instance, &mut buf, (clock, cpu), event, &find);
                if let Some(text) = buf.finish().and_then(|length| room.get(..length)) {
                    for part in text.trim_ascii_end().split(|&byte| byte == b'\n') {
                        // The printed text of a record is valid UTF-8.
                        pr_emerg!("{}\n", core::str::from_utf8(part).unwrap_or("?"));
                    }
                    count = count.wrapping_add(1);
                }
            });
        match busy {
            0 => pr_emerg!("{count} events\n"),
            _ => pr_emerg!("{count} events; those of {busy} CPUs were being read\n"),
        }
    }
}
