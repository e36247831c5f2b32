// SPDX-License-Identifier: GPL-2.0

//! `snapshot` and `per_cpu/cpuN/snapshot`: the events of the snapshot, of all CPUs or of one.
//! Writing a number takes a snapshot, clears it, or frees its memory.

use super::{
    listing::Listing,
    rejected::{while_mapped, Rejected},
    scope::Scope,
    text,
};
use crate::{
    engine::{
        language::setting,
        refusal::error::{Error as Refusal, Kind},
    },
    kapi::tree::{File, OpenFile, ReadTo},
};
use core::pin::Pin;
use kernel::{prelude::*, sync::Arc, uaccess::UserSliceReader};

pub(crate) struct SnapshotFile;

#[pin_data]
pub(crate) struct OpenSnapshot {
    scope: Arc<Scope>,
    #[pin]
    listing: Listing,
}

impl File for SnapshotFile {
    type Data = Arc<Scope>;
    type Open = OpenSnapshot;

    fn open(scope: &Arc<Scope>, _file: &OpenFile) -> Result<Pin<KBox<OpenSnapshot>>> {
        KBox::pin_init(
            pin_init!(OpenSnapshot {
                scope: scope.clone(),
                listing <- Listing::new(),
            }),
            GFP_KERNEL,
        )
    }

    fn read(
        open: &OpenSnapshot,
        _file: &OpenFile,
        to: &mut ReadTo<'_>,
        offset: &mut i64,
    ) -> Result<usize> {
        open.listing.read(&open.scope, to, offset)
    }

    fn write(open: &OpenSnapshot, file: &OpenFile, from: UserSliceReader) -> Result {
        let scope = &open.scope;
        text::take_value(&scope.instance.tracer, file, from, |text| {
            store(scope, text)
        })
    }
}

fn store(scope: &Scope, text: &[u8]) -> Result<(), Rejected> {
    let buffer = &scope.instance.buffer;
    let expects = "1 to take a snapshot, 0 to free it, 2 to clear it";
    match (setting::number(text, expects)?, scope.cpu) {
        (0, None) => buffer.free_snapshot(),
        // The memory of all CPUs is freed together.
        (0, Some(_)) => return Err(Refusal::new(Kind::FileOneCpu, 0).into()),
        (1, cpu) => buffer.take_snapshot(cpu).map_err(while_mapped)?,
        (_, cpu) => buffer.clear(scope.side, cpu),
    }
    Ok(())
}
