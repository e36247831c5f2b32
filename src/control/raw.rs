// SPDX-License-Identifier: GPL-2.0

//! `per_cpu/cpuN/trace_pipe_raw`: the events of one CPU in binary, each read once.
//!
//! A read returns a sub-buffer, padded with zeros; after a shorter read, the next one continues
//! with the same sub-buffer. A read without events waits for one. Splicing and polling wait until
//! `buffer_percent` of the ring is full, or recording is off and there is something. As in the
//! kernel, splicing takes whole sub-buffers only, and leaves the last one to be read. The ring's
//! pages are lent to the pipe, or copied to pages of the pipe while a ring is mapped or too many
//! are lent. A read of a whole sub-buffer copies directly from the ring, if the reader's memory is
//! present. A mapping shows the ring's pages; its reader requests each one by `ioctl`.

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

/// `TRACE_MMAP_IOCTL_GET_READER`: requests the next sub-buffer of a mapping.
const GET_READER: u32 = 0x5220;

/// The file.
pub(crate) struct RawPipe;

#[pin_data]
pub(crate) struct OpenPipeRaw {
    one: Arc<OneCpu>,
    #[pin]
    part: Part,
}

/// The size of a sub-buffer is a multiple of this number of bytes.
const BLOCK: usize = 256;

/// Number of bytes that are allocated without a check of available memory.
const FEW: usize = 16 << 10;

/// The rest of a sub-buffer after a short read.
#[pin_data]
pub(super) struct Part {
    #[pin]
    page: Mutex<PageAhead>,
    /// Whether there is a rest; changed with the lock held.
    is_left: AtomicBool,
}

/// A sub-buffer that is partly read.
struct PageAhead {
    blocks: KVVec<[u8; BLOCK]>,
    /// Bytes read so far.
    read: usize,
}

impl Part {
    /// Makes it without a rest.
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

    /// Copies a whole sub-buffer of `side` directly from the ring to a reader. Returns `None` if
    /// that is not possible, or if a rest must be read first.
    #[inline]
    pub(super) fn copy_at_once(&self, one: &OneCpu, side: Side, to: &UserRoom) -> Option<usize> {
        if self.is_left() {
            return None;
        }
        let put = |bytes: &[u8]| to.put_at_once(bytes);
        let buffer = &one.instance.buffer;
        buffer.read_whole((side, one.cpu), to.length(), put)
    }

    /// Copies the rest of the sub-buffer, or as much as fits of the next one of `side`, to a
    /// reader; returns `None` if there is nothing.
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
    /// Takes the next sub-buffer of `side`; returns whether there was one.
    fn fill(&mut self, one: &OneCpu, side: Side) -> Result<bool> {
        let buffer = &one.instance.buffer;
        let size = buffer.page_bytes_of(side);
        if self.blocks.as_flattened().len() != size {
            // Each open file has memory for one.
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
        // As in the kernel, the watermark only affects splicing and polling.
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
            // buffer_percent determines when waiting callers are woken; nonblocking ones get what
            // there is.
            let waits = !(nonblocking || file.is_nonblocking());
            let full = buffer.percent() == 0 || buffer.is_full_on(one.cpu);
            let ends = !buffer.is_on() || buffer.releases() != releases;
            if (full || !waits || ends) && buffer.has_whole(one.cpu) {
                return Ok(Some(true));
            }
            // Before EAGAIN, which trace-cmd takes for an error when it stops, leaving the rest
            // unread.
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
            // As in the kernel: makes blocked readers return.
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
        // When recording has ended, whatever is left.
        let last = !buffer.is_on() && buffer.is_readable(Some(open.one.cpu));
        if last || open.part.is_left() || buffer.is_full_on(open.one.cpu) {
            READABLE
        } else {
            0
        }
    }
}

/// Sleeps until the ring is full enough to wake polling readers, or recording has ended.
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
