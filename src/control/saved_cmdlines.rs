// SPDX-License-Identifier: GPL-2.0

//! `saved_cmdlines` and `saved_cmdlines_size`: the names of tasks that have
//! records, for readers of the binary form; `saved_tgids`: the processes of threads.

use super::{rejected::Rejected, text::TextOps};
use crate::{
    commands,
    engine::{
        language::setting,
        util::text::{Appender, OneLine},
    },
    instance::Instance,
    sys::Vec,
    tracer::Tracer,
};
use core::fmt::{self, Write};
use kernel::{prelude::*, sync::Arc};

/// `saved_cmdlines`, of all instances.
pub(super) const SAVED_CMDLINES: TextOps<Tracer> = TextOps::shows(show_names);

fn show_names(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
    let mut text = Vec::new();
    let buffers = tracer
        .registry
        .lock()
        .instances
        .buffers()
        .map_err(|_| fmt::Error)?;
    for (buffer, _) in &buffers {
        let made = buffer.commands(|number, name| {
            writeln!(Appender(&mut text), "{number} {}", OneLine(name)).map_err(|_| ENOMEM)
        });
        made.map_err(|_| fmt::Error)?;
    }
    // Names are printed as valid text.
    out.write_str(core::str::from_utf8(&text).map_err(|_| fmt::Error)?)
}

pub(super) const SAVED_CMDLINES_SIZE: TextOps<Instance> = TextOps::writable(show_size, store_size);

fn show_size(_instance: &Arc<Instance>, out: &mut dyn fmt::Write) -> fmt::Result {
    writeln!(out, "{}", commands::size())
}

fn store_size(_instance: &Arc<Instance>, text: &[u8]) -> Result<(), Rejected> {
    const EXPECTS: &str = "a number of names, 1 to 32768";
    const { assert!(commands::MOST == 32768) };

    let size = usize::try_from(setting::number(text, EXPECTS)?);
    match size.ok().filter(|size| (1..=commands::MOST).contains(size)) {
        Some(size) => {
            commands::set_size(size);
            Ok(())
        }
        None => Err(setting::out_of_range(EXPECTS).into()),
    }
}

pub(super) const SAVED_TGIDS: TextOps<Instance> = TextOps::shows(show_tgids);

fn show_tgids(instance: &Arc<Instance>, out: &mut dyn fmt::Write) -> fmt::Result {
    let known = instance.processes.known();
    let mut all = known.into_iter().flat_map(|known| known.iter());
    all.try_for_each(|(pid, tgid)| writeln!(out, "{pid} {tgid}"))
}
