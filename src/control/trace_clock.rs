// SPDX-License-Identifier: GPL-2.0

//! `trace_clock`: all clocks, with the one in use in brackets.

use super::text::{self, Show, Store};
use crate::{instance::Instance, kapi::clock::Clock};
use core::fmt;
use kernel::{prelude::*, sync::Arc, uaccess::UserSliceReader};

/// The file.
pub(crate) struct TraceClock;

impl Show for TraceClock {
    type Data = Instance;

    fn show(instance: &Arc<Instance>, out: &mut dyn fmt::Write) -> fmt::Result {
        let chosen = instance.buffer.clock();
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

impl Store for TraceClock {
    fn store(data: &Arc<Instance>, from: UserSliceReader) -> Result {
        let text = text::written(from)?;
        let name = text.trim_ascii();
        let mut clocks = Clock::ALL.iter();
        let clock = clocks.find(|clock| clock.name().as_bytes() == name);
        data.set_clock(*clock.ok_or(EINVAL)?)
    }
}
