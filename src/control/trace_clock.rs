// SPDX-License-Identifier: GPL-2.0

//! `trace_clock`: all clocks, with the one in use in brackets.

use super::text::{self, Show, Text};
use crate::{
    kapi::{
        clock::Clock,
        debugfs::{File, OpenFile},
    },
    tracer::Tracer,
};
use core::{fmt, pin::Pin};
use kernel::{
    prelude::*,
    sync::{Arc, ArcBorrow},
    uaccess::{UserSliceReader, UserSliceWriter},
};

/// The file.
pub(crate) struct TraceClock;

impl Show for TraceClock {
    type Data = Tracer;

    fn show(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
        let chosen = tracer.buffer.clock();
        for (index, clock) in Clock::ALL.iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            if *clock == chosen {
                write!(out, "{space}[{}]", clock.name())?;
            } else {
                write!(out, "{space}{}", clock.name())?;
            }
        }
        out.write_char('\n')
    }
}

impl File for TraceClock {
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
        let text = text::written(from)?;
        let name = text.trim_ascii();
        let mut clocks = Clock::ALL.iter();
        let clock = clocks.find(|clock| clock.name().as_bytes() == name);
        open.data.set_clock(*clock.ok_or(EINVAL)?)
    }
}
