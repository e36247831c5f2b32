// SPDX-License-Identifier: GPL-2.0

//! `events/GROUP/filter`: a filter for those events of a group that have its
//! fields.
//!
//! Where none has, the filters of all stay as they are.

use super::{
    event_files::Members,
    filter::KernelFunctions,
    text::{self, Show, Text},
};
use crate::{
    engine::{
        error::{Error as Refusal, Kind},
        filter::{self, Filter},
        text::{Appender, Plain},
    },
    kapi::debugfs::{File, OpenFile},
    sys::Vec,
};
use core::{fmt, pin::Pin};
use kernel::{
    prelude::*,
    sync::{Arc, ArcBorrow},
    uaccess::{UserSliceReader, UserSliceWriter},
};

/// The file.
pub(crate) struct GroupFilter;

const UNUSED: &str = "\
### global filter ###
# A filter that is written here is set for each event of this group that has
# its fields; 0 removes the filters of all.
";

impl Show for GroupFilter {
    type Data = Members;

    fn show(members: &Arc<Members>, out: &mut dyn fmt::Write) -> fmt::Result {
        match &*members.filter.lock() {
            Some(text) => write!(out, "{}", Plain(text)),
            None => out.write_str(UNUSED),
        }
    }
}

impl File for GroupFilter {
    type Data = Members;
    type Open = Text<Self>;

    fn open(members: ArcBorrow<'_, Members>, _file: &OpenFile) -> Result<Pin<KBox<Text<Self>>>> {
        Text::open(members.into())
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
        let members = &open.data;
        let text = text::written(from)?;
        let registry = members.tracer.registry.lock();
        let mut shown = Vec::new();
        let of_group = || registry.events().filter(|event| members.has(event));
        if Filter::is_removal(&text) {
            for event in of_group() {
                registry.set_filter(event, Arc::new(None, GFP_KERNEL)?);
            }
            *members.filter.lock() = None;
            return Ok(());
        }
        let mut compiled = Vec::new();
        for event in of_group() {
            let layout = event.format.program.layout();
            if let Ok(filter) = Filter::compile(&text, layout, &mut KernelFunctions) {
                compiled.push((event.clone(), Arc::new(Some(filter), GFP_KERNEL)?))?;
            }
        }
        if compiled.is_empty() {
            let refusal = Refusal::new(Kind::FiltBadSubsysFilter, 0);
            filter::write_refusal(&mut Appender(&mut shown), &text, &refusal)
                .map_err(|_| ENOMEM)?;
            *members.filter.lock() = Some(shown);
            members
                .tracer
                .errors
                .lock()
                .add(&refusal, text.trim_ascii());
            return Err(EINVAL);
        }
        shown.extend_from_slice(text.trim_ascii())?;
        shown.push(b'\n')?;
        for (event, filter) in compiled.iter() {
            registry.set_filter(event, filter.clone());
        }
        *members.filter.lock() = Some(shown);
        Ok(())
    }
}
