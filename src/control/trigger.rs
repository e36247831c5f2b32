// SPDX-License-Identifier: GPL-2.0

//! `events/GROUP/EVENT/trigger`: there are no triggers.
//!
//! Tools read the file to remove what they find there. They skip lines that begin
//! with `#`.

use super::{
    event_files::Member,
    text::{self, Show, Text},
};
use crate::{
    engine::error::{Error as Refusal, Kind},
    kapi::debugfs::{File, OpenFile},
};
use core::{fmt, pin::Pin};
use kernel::{
    prelude::*,
    sync::{Arc, ArcBorrow},
    uaccess::{UserSliceReader, UserSliceWriter},
};

/// The file.
pub(crate) struct TriggerFile;

impl Show for TriggerFile {
    type Data = Member;

    fn show(_member: &Arc<Member>, out: &mut dyn fmt::Write) -> fmt::Result {
        out.write_str("# Available triggers:\n# none: see filter and tracing_on\n")
    }
}

impl File for TriggerFile {
    type Data = Member;
    type Open = Text<Self>;

    fn open(member: ArcBorrow<'_, Member>, _file: &OpenFile) -> Result<Pin<KBox<Text<Self>>>> {
        Text::open(member.into())
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
        let mut errors = open.data.tracer.errors.lock();
        errors.add(&Refusal::new(Kind::NoTriggers, 0), text.trim_ascii());
        Err(EINVAL)
    }
}
