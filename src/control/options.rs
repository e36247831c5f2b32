// SPDX-License-Identifier: GPL-2.0

//! `trace_options` and the files of `options`.

use super::{
    mode::READ_WRITE,
    switch::{Switch, Switched},
    text::{self, Show, Store},
};
use crate::{
    instance::Instance,
    kapi::debugfs::{Dir, Entry},
    options::Flag,
    sys::Vec,
};
use core::fmt;
use kernel::{prelude::*, sync::Arc, uaccess::UserSliceReader};

/// `trace_options`: a line for each option, with `no` before those that are
/// off; writing such a line switches the option.
pub(crate) struct TraceOptions;

impl Show for TraceOptions {
    type Data = Instance;

    fn show(instance: &Arc<Instance>, out: &mut dyn fmt::Write) -> fmt::Result {
        for flag in Flag::ALL {
            let no = if instance.options.has(flag) { "" } else { "no" };
            writeln!(out, "{no}{}", flag.name().to_str().unwrap_or("?"))?;
        }
        Ok(())
    }
}

impl Store for TraceOptions {
    fn store(data: &Arc<Instance>, from: UserSliceReader) -> Result {
        let text = text::written(from)?;
        let text = text.trim_ascii();
        let (name, on) = match text.strip_prefix(b"no") {
            Some(name) => (name, false),
            None => (text, true),
        };
        data.set_option(Flag::by_name(name).ok_or(EINVAL)?, on)
    }
}

/// An option, for its file.
pub(crate) struct Choice {
    instance: Arc<Instance>,
    flag: Flag,
}

/// `options/NAME`.
pub(crate) struct OneOption;

impl Switched for OneOption {
    type Data = Choice;

    fn state(choice: &Arc<Choice>) -> u8 {
        if choice.instance.options.has(choice.flag) {
            b'1'
        } else {
            b'0'
        }
    }

    fn set(choice: &Arc<Choice>, on: bool) -> Result {
        choice.instance.set_option(choice.flag, on)
    }
}

/// Makes the directory `options` in `root`.
///
/// # Errors
///
/// As for [`Dir::new`] and [`Entry::new`].
pub(crate) fn make(
    instance: &Arc<Instance>,
    root: &Arc<Dir>,
) -> Result<Vec<Entry<Switch<OneOption>>>> {
    let dir = Dir::new(c"options", Some(root.clone()))?;
    let mut files = Vec::new();
    for flag in Flag::ALL {
        let instance = instance.clone();
        let choice = Arc::new(Choice { instance, flag }, GFP_KERNEL)?;
        files.push(Entry::new(flag.name(), READ_WRITE, &dir, choice)?)?;
    }
    Ok(files)
}
