// SPDX-License-Identifier: GPL-2.0

//! `placement`: write a symbol or an address, read the map of that function:
//! each instruction, and whether a probe can be placed there.

use super::text::{self, Show, Store};
use crate::{
    engine::{lex, text::Plain},
    kapi::symbol,
    tracer::Tracer,
};
use core::fmt;
use kernel::{prelude::*, sync::Arc, uaccess::UserSliceReader};

/// The file.
pub(crate) struct PlacementFile;

impl Show for PlacementFile {
    type Data = Tracer;

    fn show(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
        let Some(address) = *tracer.mapped.lock() else {
            return out
                .write_str("# write a symbol or an address of the text to this file first\n");
        };
        let live = {
            let mut registry = tracer.registry.lock();
            registry.live(address)
        };
        let live = live.map_err(|_| fmt::Error)?;
        let Some(live) = live else {
            return writeln!(out, "# {address:#x} is in no function that can be read");
        };
        let (name, start) = live.symbol();
        writeln!(out, "# {} at {start:#x}", Plain(name))?;
        writeln!(out, "# offset   len  insn       verdict")?;
        let written = live.judged(|placement| {
            for boundary in placement.map() {
                writeln!(out, "{}", boundary.map_err(|_| fmt::Error)?)?;
            }
            Ok(())
        });
        written.unwrap_or(Err(fmt::Error))
    }
}

impl Store for PlacementFile {
    fn store(data: &Arc<Tracer>, from: UserSliceReader) -> Result {
        // After a failed write the file does not show what was asked for before.
        *data.mapped.lock() = None;
        let written = text::written(from)?;
        let place = written.trim_ascii();
        let address = match lex::unsigned(place) {
            Some(address) => address,
            None => symbol::lookup_bytes(place).ok_or(ENOENT)?,
        };
        let live = data.registry.lock().live(address).map_err(|_| ENOMEM)?;
        live.ok_or(EINVAL)?;
        *data.mapped.lock() = Some(address);
        Ok(())
    }
}
