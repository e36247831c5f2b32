// SPDX-License-Identifier: GPL-2.0

//! `per_cpu/cpuN/snapshot_raw`: what was set aside of one CPU in binary, each event
//! read once, as `trace_pipe_raw` gives what is recorded. Nobody waits here: nothing
//! comes before the next snapshot.

use super::{raw::Page, scope::OneCpu};
use crate::{
    buffer::Side,
    kapi::debugfs::{File, OpenFile},
};
use core::pin::Pin;
use kernel::{
    new_mutex,
    prelude::*,
    sync::{Arc, ArcBorrow, Mutex},
    uaccess::UserSliceWriter,
};

/// The file.
pub(crate) struct SnapshotRaw;

/// One opening.
#[pin_data]
pub(crate) struct Open {
    one: Arc<OneCpu>,
    #[pin]
    page: Mutex<Page>,
}

impl File for SnapshotRaw {
    type Data = OneCpu;
    type Open = Open;

    const SEEKABLE: bool = false;
    const SPLICEABLE: bool = true;

    fn open(one: ArcBorrow<'_, OneCpu>, _file: &OpenFile) -> Result<Pin<KBox<Open>>> {
        KBox::pin_init(
            pin_init!(Open {
                one: one.into(),
                page <- new_mutex!(Page::new()),
            }),
            GFP_KERNEL,
        )
    }

    fn read(
        open: &Open,
        _file: &OpenFile,
        to: &mut UserSliceWriter,
        _offset: &mut i64,
    ) -> Result<usize> {
        let copied = open.page.lock().copy(&open.one, Side::Snapshot, to)?;
        Ok(copied.unwrap_or(0))
    }

    fn splice_ready(open: &Open, _file: &OpenFile, _nonblocking: bool) -> Result<bool> {
        Ok(open
            .one
            .instance
            .buffer
            .is_left(Side::Snapshot, open.one.cpu))
    }

    fn piece(open: &Open) -> usize {
        open.one.instance.buffer.page_bytes_of(Side::Snapshot)
    }

    fn take(open: &Open, page: &mut [u8]) -> Result<bool> {
        let from = (Side::Snapshot, open.one.cpu);
        Ok(open
            .one
            .instance
            .buffer
            .read_page(from, page, false)
            .is_some())
    }
}
