// SPDX-License-Identifier: GPL-2.0

//! `current_tracer` and `available_tracers`: there is no tracer but that of
//! events, which tools know as `nop`.

use super::text::{self, Show, Text};
use crate::{
    kapi::debugfs::{File, OpenFile},
    tracer::Tracer,
};
use core::{fmt, pin::Pin};
use kernel::{
    prelude::*,
    sync::{Arc, ArcBorrow},
    uaccess::{UserSliceReader, UserSliceWriter},
};

/// `available_tracers`, and what `current_tracer` shows.
pub(crate) struct Tracers;

impl Show for Tracers {
    type Data = Tracer;

    fn show(_tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
        out.write_str("nop\n")
    }
}

/// `current_tracer`.
pub(crate) struct CurrentTracer;

impl File for CurrentTracer {
    type Data = Tracer;
    type Open = Text<Tracers>;

    fn open(tracer: ArcBorrow<'_, Tracer>, _file: &OpenFile) -> Result<Pin<KBox<Text<Tracers>>>> {
        Text::open(tracer.into())
    }

    fn read(
        open: &Text<Tracers>,
        _file: &OpenFile,
        to: &mut UserSliceWriter,
        offset: &mut i64,
    ) -> Result<usize> {
        open.read(to, offset)
    }

    fn write(_open: &Text<Tracers>, _file: &OpenFile, from: UserSliceReader) -> Result {
        match text::written(from)?.trim_ascii() {
            b"nop" => Ok(()),
            _ => Err(EINVAL),
        }
    }
}
