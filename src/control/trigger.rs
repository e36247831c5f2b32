// SPDX-License-Identifier: GPL-2.0

//! `events/GROUP/EVENT/trigger`: there are no triggers.
//!
//! Tools read the file to remove what they find there. They skip lines that begin
//! with `#`.

use super::{
    member::Member,
    text::{self, Show, Store},
};
use crate::engine::error::{Error as Refusal, Kind};
use core::fmt;
use kernel::{prelude::*, sync::Arc, uaccess::UserSliceReader};

/// The file.
pub(crate) struct TriggerFile;

impl Show for TriggerFile {
    type Data = Member;

    fn show(_member: &Arc<Member>, out: &mut dyn fmt::Write) -> fmt::Result {
        out.write_str("# Available triggers:\n# none: see filter and tracing_on\n")
    }
}

impl Store for TriggerFile {
    fn store(member: &Arc<Member>, from: UserSliceReader) -> Result {
        let text = text::written(from)?;
        let refusal = Refusal::new(Kind::NoTriggers, 0);
        member
            .instance
            .tracer
            .log_refusal(&refusal, text.trim_ascii());
        Err(EINVAL)
    }
}
