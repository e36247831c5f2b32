// SPDX-License-Identifier: GPL-2.0

//! `per_cpu/cpuN/snapshot_raw`: the snapshot of one CPU in binary, each event read once, in the
//! format of `trace_pipe_raw`. Never waits: nothing is added to a snapshot.

use super::{raw::Part, scope::OneCpu, text};
use crate::{
    buffer::Side,
    engine::ring::Lent,
    kapi::{
        tree::{File, Lending, OpenFile, Pipe, ReadTo},
        user_room::UserRoom,
    },
};
use core::pin::Pin;
use kernel::{prelude::*, sync::Arc, uaccess::UserSliceReader};

/// The file.
pub(crate) struct SnapshotRaw;

#[pin_data]
pub(crate) struct OpenSnapshotRaw {
    one: Arc<OneCpu>,
    #[pin]
    part: Part,
}

impl File for SnapshotRaw {
    type Data = Arc<OneCpu>;
    type Open = OpenSnapshotRaw;

    const SEEKABLE: bool = false;
    const SPLICEABLE: bool = true;

    fn open(one: &Arc<OneCpu>, _file: &OpenFile) -> Result<Pin<KBox<OpenSnapshotRaw>>> {
        KBox::pin_init(
            pin_init!(OpenSnapshotRaw {
                one: one.clone(),
                part <- Part::new(),
            }),
            GFP_KERNEL,
        )
    }

    fn read(
        open: &OpenSnapshotRaw,
        _file: &OpenFile,
        to: &mut ReadTo<'_>,
        _offset: &mut i64,
    ) -> Result<usize> {
        let copied = open.part.copy(&open.one, Side::Snapshot, to)?;
        Ok(copied.unwrap_or(0))
    }

    fn write(open: &OpenSnapshotRaw, file: &OpenFile, from: UserSliceReader) -> Result {
        text::read_only(&open.one.instance.tracer, file, from)
    }

    fn read_at_once(open: &OpenSnapshotRaw, to: &UserRoom) -> Option<usize> {
        open.part.copy_at_once(&open.one, Side::Snapshot, to)
    }

    fn splice_ready(open: &OpenSnapshotRaw, _file: &OpenFile, _nonblocking: bool) -> Result<bool> {
        Ok(open
            .one
            .instance
            .buffer
            .is_left(Side::Snapshot, open.one.cpu))
    }

    fn piece(open: &OpenSnapshotRaw) -> usize {
        open.one.instance.buffer.page_bytes_of(Side::Snapshot)
    }

    fn lend(open: &OpenSnapshotRaw, pipe: &mut Pipe) -> Result<Lending> {
        let buffer = &open.one.instance.buffer;
        Ok(match buffer.lend((Side::Snapshot, open.one.cpu), pipe)? {
            Lent::Lent => Lending::Lent,
            // Unlike in the buffer, the last, partial sub-buffer is spliced, too.
            Lent::Copy | Lent::Nothing => Lending::Copy,
        })
    }

    fn take(open: &OpenSnapshotRaw, page: &mut [u8]) -> Result<usize> {
        let buffer = &open.one.instance.buffer;
        let taken = buffer.read_page((Side::Snapshot, open.one.cpu), page, false);
        // The bytes behind the events are zeros.
        Ok(taken.map_or(0, |_| page.len()))
    }
}
