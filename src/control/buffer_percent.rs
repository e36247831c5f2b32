// SPDX-License-Identifier: GPL-2.0

//! `buffer_percent`: how full a ring wakes the readers of its pages that wait.

use super::text::{self, Show, Store};
use crate::instance::Instance;
use core::fmt;
use kernel::{prelude::*, sync::Arc, uaccess::UserSliceReader};

/// The file.
pub(crate) struct BufferPercent;

impl Show for BufferPercent {
    type Data = Instance;

    fn show(instance: &Arc<Instance>, out: &mut dyn fmt::Write) -> fmt::Result {
        writeln!(out, "{}", instance.buffer.percent())
    }
}

impl Store for BufferPercent {
    fn store(instance: &Arc<Instance>, from: UserSliceReader) -> Result {
        let percent = u32::try_from(text::number(from)?).map_err(|_| EINVAL)?;
        instance.buffer.set_percent(percent)
    }
}
