// SPDX-License-Identifier: GPL-2.0

//! `placement`: write a symbol or an address, read the map of that function:
//! each instruction, and whether a probe can be placed there.

use super::text::{self, Show, Text};
use crate::{
    engine::{lex, text::Plain},
    kapi::{
        debugfs::{File, OpenFile},
        symbol,
    },
    place::{c_string, Live},
    tracer::Tracer,
};
use core::{fmt, pin::Pin};
use kernel::{
    prelude::*,
    sync::{Arc, ArcBorrow},
    uaccess::{UserSliceReader, UserSliceWriter},
};

/// The file.
pub(crate) struct PlacementFile;

impl Show for PlacementFile {
    type Data = Tracer;

    fn show(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
        let Some(address) = *tracer.mapped.lock() else {
            return out.write_str("# write a symbol or an address to this file first\n");
        };
        let live = {
            let registry = tracer.registry.lock();
            let probes = registry.probes().iter();
            Live::at(address, probes.filter_map(|probe| probe.original()))
        };
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

impl File for PlacementFile {
    type Data = Tracer;
    type Open = Text<Self>;

    fn open(tracer: ArcBorrow<'_, Tracer>, _file: &OpenFile) -> Result<Pin<KBox<Text<Self>>>> {
        Text::open(tracer.into())
    }

    fn read(
        open: &Text<Self>,
        _file: &OpenFile,
        to: &mut UserSliceWriter,
        offset: &mut i64,
    ) -> Result<usize> {
        open.read(to, offset)
    }

    fn write(open: &Text<Self>, _file: &OpenFile, from: UserSliceReader) -> Result {
        let written = text::written(from)?;
        let place = written.trim_ascii();
        let address = match lex::unsigned(place) {
            Some(address) => address,
            None => symbol::lookup(&c_string(place).ok_or(EINVAL)?).ok_or(ENOENT)?,
        };
        *open.data.mapped.lock() = Some(address);
        Ok(())
    }
}
