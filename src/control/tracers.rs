// SPDX-License-Identifier: GPL-2.0

//! `current_instance` and `available_instances`: there is no tracer but that of
//! events, which tools know as `nop`.

use super::text::{self, Show, Store};
use crate::instance::Instance;
use core::fmt;
use kernel::{prelude::*, sync::Arc, uaccess::UserSliceReader};

/// Either file.
pub(crate) struct Tracers;

impl Show for Tracers {
    type Data = Instance;

    fn show(_instance: &Arc<Instance>, out: &mut dyn fmt::Write) -> fmt::Result {
        out.write_str("nop\n")
    }
}

impl Store for Tracers {
    fn store(_instance: &Arc<Instance>, from: UserSliceReader) -> Result {
        match text::written(from)?.trim_ascii() {
            b"nop" => Ok(()),
            _ => Err(EINVAL),
        }
    }
}
