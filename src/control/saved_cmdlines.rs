// SPDX-License-Identifier: GPL-2.0

//! `saved_cmdlines` and `saved_cmdlines_size`: the names of tasks that have
//! records, for readers of the binary form; `saved_tgids`: the processes of threads.

use super::{
    rejected::Rejected,
    text::{Show, TakesText},
};
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
pub(crate) struct SavedCmdlines;

impl Show for SavedCmdlines {
    type Data = Tracer;

    fn show(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
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
        // Names are printed with the bytes that a line can have.
        out.write_str(core::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

/// `saved_cmdlines_size`.
pub(crate) struct SavedCmdlinesSize;

impl Show for SavedCmdlinesSize {
    type Data = Instance;

    fn show(_instance: &Arc<Instance>, out: &mut dyn fmt::Write) -> fmt::Result {
        writeln!(out, "{}", commands::size())
    }
}

impl TakesText for SavedCmdlinesSize {
    fn store(_instance: &Arc<Instance>, text: &[u8]) -> Result<(), Rejected> {
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
}

/// `saved_tgids`.
pub(crate) struct SavedTgids;

impl Show for SavedTgids {
    type Data = Instance;

    fn show(instance: &Arc<Instance>, out: &mut dyn fmt::Write) -> fmt::Result {
        let known = instance.processes.known();
        let mut all = known.into_iter().flat_map(|known| known.iter());
        all.try_for_each(|(pid, tgid)| writeln!(out, "{pid} {tgid}"))
    }
}
