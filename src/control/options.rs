// SPDX-License-Identifier: GPL-2.0

//! `trace_options` and the files of `options`.

use super::{
    named::{folder, Described, READ_WRITE},
    rejected::{Logged, Rejected},
    text::{TextFile, TextOps},
};
use crate::{
    engine::{
        language::setting,
        refusal::{
            error::{Errno, Error as Refusal, Kind},
            suggest::suggest,
        },
    },
    instance::Instance,
    kapi::tree::{Dir, TreeFile},
    options::Flag,
    sys::Vec,
    tracer::Tracer,
};
use core::fmt;
use kernel::{prelude::*, sync::Arc};

/// `trace_options`: a line for each option, with `no` before those that are
/// off; writing such a line switches the option.
pub(super) const TRACE_OPTIONS: TextOps<Instance> = TextOps::writable(show, store);

fn show(instance: &Arc<Instance>, out: &mut dyn fmt::Write) -> fmt::Result {
    for flag in Flag::ALL {
        let no = if instance.options.has(flag) { "" } else { "no" };
        writeln!(out, "{no}{}", flag.name().to_str().unwrap_or("?"))?;
    }
    Ok(())
}

fn store(data: &Arc<Instance>, text: &[u8]) -> Result<(), Rejected> {
    let text = text.trim_ascii();
    let (name, on) = match text.strip_prefix(b"no") {
        Some(name) => (name, false),
        None => (text, true),
    };
    let Some(flag) = Flag::by_name(name) else {
        let at = text.len().saturating_sub(name.len());
        let refusal = Refusal::new(Kind::FileNoOption, at);
        return Err(suggest(refusal, name, |each| {
            Flag::ALL
                .iter()
                .for_each(|flag| each(flag.name().to_bytes()));
        })
        .into());
    };
    set(data, flag, on)
}

/// Switches an option.
fn set(instance: &Instance, flag: Flag, on: bool) -> Result<(), Rejected> {
    instance.set_option(flag, on).map_err(|error| {
        let name = flag.name().to_str().unwrap_or("?");
        let refusal = Refusal::new(Kind::FileFixedOption, 0);
        if error == EINVAL {
            let state = if on { "off" } else { "on" };
            return refusal
                .with_detail(format_args!("{name} is always {state}, leave it"))
                .into();
        }
        // Following tasks requires tracepoints.
        if error == ENODEV || error == ENOENT {
            return refusal
                .with_errno(Errno::EOPNOTSUPP)
                .with_detail(format_args!(
                    "this kernel has no tracepoints of tasks (CONFIG_TRACEPOINTS), leave {name} off"
                ))
                .into();
        }
        error.into()
    })
}

/// The option of a file.
pub(crate) struct Choice {
    instance: Arc<Instance>,
    flag: Flag,
}

impl Logged for Choice {
    fn tracer(&self) -> &Tracer {
        &self.instance.tracer
    }
}

/// `options/NAME`.
const ONE_OPTION: TextOps<Choice> = TextOps::writable(show_one, store_one);

fn show_one(choice: &Arc<Choice>, out: &mut dyn fmt::Write) -> fmt::Result {
    writeln!(
        out,
        "{}",
        u8::from(choice.instance.options.has(choice.flag))
    )
}

fn store_one(choice: &Arc<Choice>, text: &[u8]) -> Result<(), Rejected> {
    set(&choice.instance, choice.flag, setting::switch(text)?)
}

pub(super) const DIRECTORY: Described = folder(c"options", "NAME: one option, 1 or 0");

/// Makes the directory `options` in `root`.
///
/// # Errors
///
/// As for [`Dir::new`] and [`TreeFile::new`].
pub(crate) fn make(instance: &Arc<Instance>, root: &Arc<Dir>) -> Result<Vec<TreeFile>> {
    let dir = Dir::new(DIRECTORY.name, Some(root.clone()))?;
    let mut files = Vec::new();
    for flag in Flag::ALL {
        let instance = instance.clone();
        let choice = Arc::new(Choice { instance, flag }, GFP_KERNEL)?;
        let data = (choice, &ONE_OPTION);
        let file = TreeFile::new::<TextFile<Choice>>(flag.name(), READ_WRITE, &dir, data)?;
        files.push(file)?;
    }
    Ok(files)
}
