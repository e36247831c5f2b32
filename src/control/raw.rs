// SPDX-License-Identifier: GPL-2.0

//! `per_cpu/cpuN/trace_pipe_raw`: the events of one CPU in binary, each read
//! once.
//!
//! A read returns a sub-buffer, the rest of it zeros; a read of less goes on
//! with the same one, and one that finds nothing waits for an event. Splicing and
//! polling wait until `buffer_percent` of the ring is full, or recording is off
//! and there is something. Splicing takes whole sub-buffers only, like the
//! kernel's, and so leaves the last one to be read. The ring's pages are lent to the
//! pipe, or copied to pages of the pipe while a ring is mapped or too many are lent. A read of
//! a whole sub-buffer is copied from the ring to the reader at once, where its memory is
//! there. A mapping shows the ring's pages; its reader asks for each by `ioctl`.

use super::{scope::OneCpu, text};
use crate::{
    buffer::Side,
    engine::ring::Lent,
    kapi::{
        mapping::Area,
        memory,
        tree::{File, Lending, OpenFile, Pipe, ReadTo, READABLE},
        user_room::UserRoom,
        wake::PollTable,
    },
};
use core::{
    pin::Pin,
    sync::atomic::{AtomicBool, Ordering},
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{Arc, Mutex},
    uaccess::UserSliceReader,
};

/// `TRACE_MMAP_IOCTL_GET_READER`: the number by which those who have mapped the
/// file ask for more.
const GET_READER: u32 = 0x5220;

/// The file.
pub(crate) struct RawPipe;

#[pin_data]
pub(crate) struct OpenPipeRaw {
    one: Arc<OneCpu>,
    #[pin]
    part: Part,
}

/// Bytes of which a sub-buffer has a whole number.
const BLOCK: usize = 256;

/// Bytes that are allocated without a look at how much memory there is.
const FEW: usize = 16 << 10;

/// What short reads of an opening have left of a sub-buffer.
#[pin_data]
pub(super) struct Part {
    #[pin]
    page: Mutex<PageAhead>,
    /// Whether something is left; changed with the lock held.
    is_left: AtomicBool,
}

/// A sub-buffer that is being read.
struct PageAhead {
    blocks: KVVec<[u8; BLOCK]>,
    /// How many bytes were read.
    read: usize,
}

impl Part {
    /// Nothing, so far.
    pub(super) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            page <- new_mutex!(PageAhead {
                blocks: KVVec::new(),
                read: 0,
            }),
            is_left: AtomicBool::new(false),
        })
    }

    fn is_left(&self) -> bool {
        self.is_left.load(Ordering::Relaxed)
    }

    /// Copies a whole sub-buffer of that side from the ring to a reader. Returns `None` if
    /// that is not possible now, or if a part of another one comes first.
    #[inline]
    pub(super) fn copy_at_once(&self, one: &OneCpu, side: Side, to: &UserRoom) -> Option<usize> {
        if self.is_left() {
            return None;
        }
        let put = |bytes: &[u8]| to.put_at_once(bytes);
        let buffer = &one.instance.buffer;
        buffer.read_whole((side, one.cpu), to.length(), put)
    }

    /// Copies what is left of the sub-buffer, or what fits of the next one of that side, to
    /// a reader; `None` where there is nothing.
    pub(super) fn copy(
        &self,
        one: &OneCpu,
        side: Side,
        to: &mut ReadTo<'_>,
    ) -> Result<Option<usize>> {
        let mut page = self.page.lock();
        let copied = page.copy(one, side, to);
        self.is_left
            .store(!page.rest().is_empty(), Ordering::Relaxed);
        copied
    }
}

impl PageAhead {
    /// Takes the next sub-buffer of that side; says whether there was one.
    fn fill(&mut self, one: &OneCpu, side: Side) -> Result<bool> {
        let buffer = &one.instance.buffer;
        let size = buffer.page_bytes_of(side);
        if self.blocks.as_flattened().len() != size {
            // Each opening has memory for one.
            if size > FEW && !memory::suffices(size) {
                return Err(ENOMEM);
            }
            self.blocks = KVVec::from_elem([0; BLOCK], size / BLOCK, GFP_KERNEL)?;
        }
        let bytes = self.blocks.as_flattened_mut();
        let filled = buffer.read_page((side, one.cpu), bytes, false);
        self.read = if filled.is_some() { 0 } else { size };
        Ok(filled.is_some())
    }

    fn rest(&self) -> &[u8] {
        self.blocks
            .as_flattened()
            .get(self.read..)
            .unwrap_or_default()
    }

    fn copy(&mut self, one: &OneCpu, side: Side, to: &mut ReadTo<'_>) -> Result<Option<usize>> {
        if self.rest().is_empty() && !self.fill(one, side)? {
            return Ok(None);
        }
        let length = self.rest().len().min(to.len());
        to.write_slice(self.rest().get(..length).unwrap_or_default())?;
        self.read = self.read.saturating_add(length);
        Ok(Some(length))
    }
}

impl File for RawPipe {
    type Data = Arc<OneCpu>;
    type Open = OpenPipeRaw;

    const SEEKABLE: bool = false;
    const SPLICEABLE: bool = true;
    const MAPPABLE: bool = true;

    fn open(one: &Arc<OneCpu>, _file: &OpenFile) -> Result<Pin<KBox<OpenPipeRaw>>> {
        KBox::pin_init(
            pin_init!(OpenPipeRaw {
                one: one.clone(),
                part <- Part::new(),
            }),
            GFP_KERNEL,
        )
    }

    fn read(
        open: &OpenPipeRaw,
        file: &OpenFile,
        to: &mut ReadTo<'_>,
        _offset: &mut i64,
    ) -> Result<usize> {
        let one = &open.one;
        let buffer = &one.instance.buffer;
        if to.is_empty() {
            return Ok(0);
        }
        let releases = buffer.releases();
        // As the kernel's: the watermark is for splicing and polling.
        buffer.wait(|| {
            if let Some(length) = open.part.copy(one, Side::Live, to)? {
                return Ok(Some(length));
            }
            if file.is_nonblocking() {
                return Err(EAGAIN);
            }
            Ok((buffer.releases() != releases).then_some(0))
        })
    }

    fn write(open: &OpenPipeRaw, file: &OpenFile, from: UserSliceReader) -> Result {
        text::read_only(&open.one.instance.tracer, file, from)
    }

    fn read_at_once(open: &OpenPipeRaw, to: &UserRoom) -> Option<usize> {
        open.part.copy_at_once(&open.one, Side::Live, to)
    }

    fn splice_ready(open: &OpenPipeRaw, file: &OpenFile, nonblocking: bool) -> Result<bool> {
        let one = &open.one;
        let buffer = &one.instance.buffer;
        let releases = buffer.releases();
        buffer.wait_for_many(|| {
            // Those that wait are woken by buffer_percent; who may not wait gets
            // what there is.
            let waits = !(nonblocking || file.is_nonblocking());
            let full = buffer.percent() == 0 || buffer.is_full_on(one.cpu);
            let ends = !buffer.is_on() || buffer.releases() != releases;
            if (full || !waits || ends) && buffer.has_whole(one.cpu) {
                return Ok(Some(true));
            }
            // Before EAGAIN: trace-cmd takes that for an error when it stops, and
            // leaves the rest unread.
            if ends {
                return Ok(Some(false));
            }
            if !waits {
                return Err(EAGAIN);
            }
            Ok(None)
        })
    }

    fn piece(open: &OpenPipeRaw) -> usize {
        open.one.instance.buffer.page_bytes_of(Side::Live)
    }

    fn lend(open: &OpenPipeRaw, pipe: &mut Pipe) -> Result<Lending> {
        let buffer = &open.one.instance.buffer;
        Ok(match buffer.lend((Side::Live, open.one.cpu), pipe)? {
            Lent::Lent => Lending::Lent,
            Lent::Copy => Lending::Copy,
            Lent::Nothing => Lending::Nothing,
        })
    }

    fn take(open: &OpenPipeRaw, page: &mut [u8]) -> Result<usize> {
        let one = &open.one;
        let buffer = &one.instance.buffer;
        let taken = buffer.read_page((Side::Live, one.cpu), page, true);
        Ok(taken.map_or(0, |_| page.len()))
    }

    fn control(open: &OpenPipeRaw, file: &OpenFile, command: u32) -> Result {
        let one = &open.one;
        match command {
            // As the kernel's: readers that block are to return.
            0 => {
                one.instance.buffer.release();
                Ok(())
            }
            GET_READER => {
                if !file.is_nonblocking() {
                    wait_until_full(one)?;
                }
                one.instance.buffer.hand_out(one.cpu)
            }
            _ => Err(ENOTTY),
        }
    }

    fn map(open: &OpenPipeRaw, area: &Area<'_>) -> Result {
        open.one.instance.buffer.map(open.one.cpu, area)
    }

    fn mapped_again(open: &OpenPipeRaw) {
        open.one.instance.buffer.mapped_again(open.one.cpu);
    }

    fn unmapped(open: &OpenPipeRaw) {
        open.one.instance.buffer.unmap(open.one.cpu);
    }

    fn poll<'open>(open: &'open OpenPipeRaw, file: &OpenFile, table: &PollTable<'open>) -> u32 {
        let buffer = &open.one.instance.buffer;
        buffer.register_until_full(file, table);
        // Without a watermark, and once nothing more comes, what is there.
        let last = !buffer.is_on() && buffer.is_readable(Some(open.one.cpu));
        if last || open.part.is_left() || buffer.is_full_on(open.one.cpu) {
            READABLE
        } else {
            0
        }
    }
}

/// Sleeps until as much of the ring is full as wakes those who poll, or nothing
/// more comes.
fn wait_until_full(one: &OneCpu) -> Result {
    let buffer = &one.instance.buffer;
    let releases = buffer.releases();
    let ready = || {
        let ready = buffer.is_full_on(one.cpu) || !buffer.is_on() || buffer.releases() != releases;
        Ok(ready.then_some(()))
    };
    if buffer.percent() == 0 {
        buffer.wait(ready)
    } else {
        buffer.wait_for_many(ready)
    }
}
