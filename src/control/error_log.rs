// SPDX-License-Identifier: GPL-2.0

//! `error_log`: why definitions were refused; truncating it clears it.

use super::text::{Show, Text};
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

/// The file.
pub(crate) struct ErrorLogFile;

impl Show for ErrorLogFile {
    type Data = Tracer;

    fn show(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
        tracer.errors.lock().show(out)
    }
}

impl File for ErrorLogFile {
    type Data = Tracer;
    type Open = Text<Self>;

    fn open(tracer: ArcBorrow<'_, Tracer>, file: &OpenFile) -> Result<Pin<KBox<Text<Self>>>> {
        // What can fail comes first.
        let open = Text::open(tracer.into())?;
        if file.truncates() {
            tracer.errors.lock().clear();
        }
        Ok(open)
    }

    fn read(
        open: &Text<Self>,
        _file: &OpenFile,
        to: &mut UserSliceWriter,
        offset: &mut i64,
    ) -> Result<usize> {
        open.read(to, offset)
    }

    fn write(_open: &Text<Self>, _file: &OpenFile, _from: UserSliceReader) -> Result {
        // Opening it cleared it.
        Ok(())
    }
}
