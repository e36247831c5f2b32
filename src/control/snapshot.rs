// SPDX-License-Identifier: GPL-2.0

//! `snapshot` and `per_cpu/cpuN/snapshot`: the events that were set aside, of all
//! CPUs or of one. A number that is written sets aside what is in the buffer,
//! forgets what was, or frees its memory.

use super::{
    listing::Listing,
    rejected::{while_mapped, Rejected},
    scope::Scope,
    text,
};
use crate::{
    engine::{
        error::{Error as Refusal, Kind},
        setting,
    },
    kapi::debugfs::{File, OpenFile},
};
use core::{fmt, pin::Pin};
use kernel::{
    prelude::*,
    sync::{Arc, ArcBorrow},
    uaccess::{UserSliceReader, UserSliceWriter},
};

/// The file.
pub(crate) struct Snapshot;

/// One opening.
#[pin_data]
pub(crate) struct Open {
    scope: Arc<Scope>,
    #[pin]
    listing: Listing,
}

impl File for Snapshot {
    type Data = Scope;
    type Open = Open;

    fn open(scope: ArcBorrow<'_, Scope>, _file: &OpenFile) -> Result<Pin<KBox<Open>>> {
        KBox::pin_init(
            pin_init!(Open {
                scope: scope.into(),
                listing <- Listing::new(),
            }),
            GFP_KERNEL,
        )
    }

    fn read(
        open: &Open,
        _file: &OpenFile,
        to: &mut UserSliceWriter,
        offset: &mut i64,
    ) -> Result<usize> {
        open.listing.read(&open.scope, to, offset)
    }

    fn write(open: &Open, file: &OpenFile, from: UserSliceReader) -> Result {
        let scope = &open.scope;
        text::take(&**scope, file, from, |text| store(scope, text))
    }
}

fn store(scope: &Scope, text: &[u8]) -> Result<(), Rejected> {
    let buffer = &scope.instance.buffer;
    let expects = "1 to take a snapshot, 0 to free it, 2 to clear it";
    match (setting::number(text, expects)?, scope.cpu) {
        (0, None) => buffer.free_snapshot(),
        // All have their memory together.
        (0, Some(_)) => return Err(Refusal::new(Kind::FileOneCpu, 0).into()),
        (1, cpu) => buffer.take_snapshot(cpu).map_err(while_mapped)?,
        (_, cpu) => buffer.clear(scope.side, cpu),
    }
    Ok(())
}

/// Tells who reads an empty snapshot what there is, and what can be done.
///
/// # Errors
///
/// Those of `out`.
pub(super) fn explain(out: &mut dyn fmt::Write, cpu: Option<u32>, allocated: bool) -> fmt::Result {
    let state = if allocated { "allocated" } else { "freed" };
    let whose = if cpu.is_some() {
        "this CPU has"
    } else {
        "all CPUs have"
    };
    writeln!(out, "# tracer: nop\n#\n# * Snapshot is {state} *\n#")?;
    if cpu.is_none() {
        out.write_str("# echo 0 >snapshot: forgets it and frees its memory\n")?;
    }
    writeln!(out, "# echo 1 >snapshot: sets aside what {whose} recorded")?;
    out.write_str("# echo 2 >snapshot: forgets it\n")
}
