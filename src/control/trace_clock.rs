// SPDX-License-Identifier: GPL-2.0

//! `trace_clock`: all clocks, with the one in use in brackets.

use super::{
    rejected::{while_mapped, Rejected},
    text::TextOps,
};
use crate::{
    engine::refusal::{
        error::{Error as Refusal, Kind},
        suggest::suggest,
    },
    instance::Instance,
    kapi::clock::Clock,
};
use core::fmt;
use kernel::sync::Arc;

pub(super) const FILE: TextOps<Instance> = TextOps::writable(show, store);

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

fn store(data: &Arc<Instance>, text: &[u8]) -> Result<(), Rejected> {
    let name = text.trim_ascii();
    let mut clocks = Clock::ALL.iter();
    let clock = clocks.find(|clock| clock.name().as_bytes() == name);
    let Some(clock) = clock else {
        let refusal = Refusal::new(Kind::FileNoClock, 0);
        return Err(suggest(refusal, name, |each| {
            Clock::ALL
                .iter()
                .for_each(|clock| each(clock.name().as_bytes()));
        })
        .into());
    };
    data.set_clock(*clock).map_err(while_mapped)
}
