// SPDX-License-Identifier: GPL-2.0

//! Files whose text is made at the first read.

use super::rejected::{self, Logged, Rejected};
use crate::{
    engine::{
        refusal::error::{Error as Refusal, Kind},
        util::text::Appender,
    },
    kapi::{
        context::is_being_killed,
        memory,
        tree::{File, OpenFile, ReadTo},
    },
    sys::Vec,
    tracer::Tracer,
};
use core::{fmt, marker::PhantomData, pin::Pin};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{Arc, Mutex},
    uaccess::UserSliceReader,
};

/// Stores a text, or returns why not.
type Store<D> = fn(&Arc<D>, &[u8]) -> Result<(), Rejected>;

/// Clears the object of the file, or returns why not.
type Truncate<D> = fn(&Arc<D>) -> Result<(), Rejected>;

/// The operations of a text file with data `D`.
pub(crate) struct TextOps<D> {
    /// Makes the object of the file, if it does not exist yet.
    pub(crate) prepare: Option<fn(&Arc<D>) -> Result>,

    /// Writes the text; returns the errors of the writer.
    pub(crate) show: fn(&Arc<D>, &mut dyn fmt::Write) -> fmt::Result,

    /// Stores a text that a user wrote; `None` for a read-only file. On failure nothing has
    /// changed.
    pub(crate) store: Option<Store<D>>,

    /// Called when the file is opened like the shell's `>`, before anything is written. On failure
    /// nothing has changed.
    pub(crate) truncate: Option<Truncate<D>>,

    /// Whether the text ends at a NUL like a C string: many programs write the terminator, too.
    pub(crate) ends_at_nul: bool,
}

impl<D> TextOps<D> {
    /// The operations of a read-only file.
    pub(crate) const fn shows(show: fn(&Arc<D>, &mut dyn fmt::Write) -> fmt::Result) -> Self {
        Self {
            prepare: None,
            show,
            store: None,
            truncate: None,
            ends_at_nul: true,
        }
    }

    /// The operations of a file that also stores what is written.
    pub(crate) const fn writable(
        show: fn(&Arc<D>, &mut dyn fmt::Write) -> fmt::Result,
        store: Store<D>,
    ) -> Self {
        Self {
            store: Some(store),
            ..Self::shows(show)
        }
    }
}

/// A text file, which may be writable.
pub(crate) struct TextFile<D>(PhantomData<D>);

impl<D: Logged> File for TextFile<D> {
    type Data = (Arc<D>, &'static TextOps<D>);
    type Open = OpenText<D>;

    fn open((of, ops): &Self::Data, file: &OpenFile) -> Result<Pin<KBox<OpenText<D>>>> {
        // Allocate first.
        let open = OpenText::open(of.clone(), ops)?;
        if let Some(truncate) = ops.truncate.filter(|_| file.truncates()) {
            truncate(of).map_err(|rejected| rejected::log_opening(of.tracer(), file, rejected))?;
        }
        Ok(open)
    }

    fn read(
        open: &OpenText<D>,
        _file: &OpenFile,
        to: &mut ReadTo<'_>,
        offset: &mut i64,
    ) -> Result<usize> {
        open.read(to, offset)
    }

    fn write(open: &OpenText<D>, file: &OpenFile, from: UserSliceReader) -> Result {
        let tracer = open.of.tracer();
        let Some(store) = open.ops.store else {
            return read_only(tracer, file, from);
        };
        let store = |text: &[u8]| store(&open.of, text);
        match open.ops.ends_at_nul {
            true => take_value(tracer, file, from, store),
            false => take(tracer, file, from, store),
        }
    }
}

/// An open text file: the text as of its first read.
#[pin_data]
pub(crate) struct OpenText<D: 'static> {
    /// The data of the file.
    pub(crate) of: Arc<D>,
    ops: &'static TextOps<D>,
    #[pin]
    text: Mutex<Option<Vec<u8>>>,
}

impl<D: Logged> OpenText<D> {
    /// Opens it; nothing has been read.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn open(of: Arc<D>, ops: &'static TextOps<D>) -> Result<Pin<KBox<Self>>> {
        KBox::pin_init(
            pin_init!(Self {
                of,
                ops,
                text <- new_mutex!(None),
            }),
            GFP_KERNEL,
        )
    }

    /// Reads at `offset`. A read from the beginning makes the text again.
    ///
    /// # Errors
    ///
    /// `ENODEV` if the object of the file is gone; `ENOMEM`, `EFAULT`; `EINTR` if the task is being
    /// killed.
    pub(crate) fn read(&self, to: &mut ReadTo<'_>, offset: &mut i64) -> Result<usize> {
        let mut text = self.text.lock();
        if text.is_none() || *offset == 0 {
            self.of.check()?;
            if let Some(prepare) = self.ops.prepare {
                prepare(&self.of)?;
            }
            let mut made = Vec::new();
            let mut out = UntilKilled {
                out: Appender(&mut made),
                writes: 0,
            };
            (self.ops.show)(&self.of, &mut out).map_err(|_| match is_being_killed() {
                true => EINTR,
                false => ENOMEM,
            })?;
            *text = Some(made);
        }
        copy(text.as_deref().unwrap_or_default(), to, offset)
    }
}

/// A writer that fails once the task is being killed: some texts list all functions of the kernel.
struct UntilKilled<'a> {
    out: Appender<'a>,
    writes: u32,
}

impl fmt::Write for UntilKilled<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.writes = self.writes.wrapping_add(1);
        if self.writes % 256 == 0 && is_being_killed() {
            return Err(fmt::Error);
        }
        self.out.write_str(text)
    }
}

/// Copies the part of `text` at `offset` to a reader.
///
/// # Errors
///
/// `EFAULT`.
pub(crate) fn copy(text: &[u8], to: &mut ReadTo<'_>, offset: &mut i64) -> Result<usize> {
    let from = usize::try_from(*offset).map_err(|_| EINVAL)?;
    let rest = text.get(from..).unwrap_or_default();
    let length = rest.len().min(to.len());
    to.write_slice(rest.get(..length).unwrap_or_default())?;
    // CAST: The text is in memory, so shorter than i64::MAX.
    *offset = offset.wrapping_add(length as i64);
    Ok(length)
}

/// Maximum number of bytes of one write.
const MAX_WRITE: usize = 1 << 20;

/// Number of bytes of a write that are copied without a check of available memory.
const SHORT: usize = 16 << 10;

/// Passes the whole write of a user to `store`, and logs a refusal in `tracer`.
///
/// # Errors
///
/// `EFAULT`, `ENOMEM`; `E2BIG` for more than a mebibyte; the errno of the refusal.
pub(crate) fn take(
    tracer: &Tracer,
    file: &OpenFile,
    from: UserSliceReader,
    store: impl FnOnce(&[u8]) -> Result<(), Rejected>,
) -> Result {
    let text = read(tracer, file, from)?;
    store(&text).map_err(|rejected| rejected::log(tracer, file, &text, rejected))
}

/// [`take`] up to the first NUL, where tracefs ends a value.
///
/// # Errors
///
/// See [`take`].
pub(crate) fn take_value(
    tracer: &Tracer,
    file: &OpenFile,
    from: UserSliceReader,
    store: impl FnOnce(&[u8]) -> Result<(), Rejected>,
) -> Result {
    let text = read(tracer, file, from)?;
    let value = text.split(|&byte| byte == 0).next().unwrap_or_default();
    store(value).map_err(|rejected| rejected::log(tracer, file, value, rejected))
}

fn read(tracer: &Tracer, file: &OpenFile, from: UserSliceReader) -> Result<KVVec<u8>> {
    if from.len() > MAX_WRITE {
        let refusal = Refusal::new(Kind::FileTooLong, 0);
        return Err(rejected::log(tracer, file, b"", refusal.into()));
    }
    // A short write may be one that frees memory.
    if from.len() > SHORT && !memory::suffices(from.len()) {
        return Err(ENOMEM);
    }
    let mut text = KVVec::new();
    from.read_all(&mut text, GFP_KERNEL)?;
    Ok(text)
}

/// Refuses a write to a read-only file.
///
/// # Errors
///
/// `EINVAL`; the errors of [`take`].
///
/// Context: as for [`rejected::log()`].
#[cold]
#[inline(never)]
pub(crate) fn read_only(tracer: &Tracer, file: &OpenFile, from: UserSliceReader) -> Result {
    take(tracer, file, from, |_| {
        Err(Refusal::new(Kind::FileReadOnly, 0).into())
    })
}
