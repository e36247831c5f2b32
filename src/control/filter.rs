// SPDX-License-Identifier: GPL-2.0

//! `events/GROUP/EVENT/filter`: which hits of an event are recorded.
//!
//! A filter that is refused leaves the one before in force; the file then shows
//! what was refused and why, until the next one is accepted.

use super::{
    event_files::Member,
    text::{self, Show, Text},
};
use crate::{
    engine::{
        filter::{self, Filter, Functions},
        text::{Appender, Plain},
    },
    kapi::{
        debugfs::{File, OpenFile},
        symbol::{self, Symbol},
    },
    sys::Vec,
};
use core::{fmt, pin::Pin};
use kernel::{
    prelude::*,
    sync::{Arc, ArcBorrow},
    uaccess::{UserSliceReader, UserSliceWriter},
};

/// The file.
pub(crate) struct FilterFile;

impl Show for FilterFile {
    type Data = Member;

    fn show(member: &Arc<Member>, out: &mut dyn fmt::Write) -> fmt::Result {
        member.event().with_filters(|in_force, refused| {
            let Some(refused) = refused else {
                return match in_force {
                    Some(filter) => writeln!(out, "{}", Plain(filter.text())),
                    None => out.write_str("none\n"),
                };
            };
            write!(out, "{}", Plain(refused))?;
            match in_force {
                Some(filter) => writeln!(out, "in force: {}", Plain(filter.text())),
                None => Ok(()),
            }
        })
    }
}

impl File for FilterFile {
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
        let member = &open.data;
        let text = text::written(from)?;
        let registry = member.tracer.registry.lock();
        let event = member.event();
        if !registry.has(&event) {
            return Err(ENODEV);
        }
        if Filter::is_removal(&text) {
            registry.set_filter(&event, Arc::new(None, GFP_KERNEL)?);
            return Ok(());
        }
        let layout = event.format.program.layout();
        match Filter::compile(&text, layout, &mut KernelFunctions) {
            Ok(filter) => {
                registry.set_filter(&event, Arc::new(Some(filter), GFP_KERNEL)?);
                Ok(())
            }
            Err(refusal) => {
                let mut shown = Vec::new();
                filter::write_refusal(&mut Appender(&mut shown), &text, &refusal)
                    .map_err(|_| ENOMEM)?;
                event.set_refused_filter(shown);
                member.tracer.errors.lock().add(&refusal, text.trim_ascii());
                Err(Error::from_errno(refusal.errno.0.wrapping_neg()))
            }
        }
    }
}

/// The kernel's functions.
pub(crate) struct KernelFunctions;

impl Functions for KernelFunctions {
    fn named(&mut self, name: &[u8]) -> Option<(u64, u64)> {
        self.around(symbol::lookup_bytes(name)?)
    }

    fn around(&mut self, address: u64) -> Option<(u64, u64)> {
        let symbol = Symbol::at(address)?;
        let start = address.wrapping_sub(symbol.offset);
        Some((start, start.wrapping_add(symbol.size)))
    }
}
