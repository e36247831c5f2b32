// SPDX-License-Identifier: GPL-2.0

//! Files whose text is made when it is first read.

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
};
use core::{fmt, marker::PhantomData, pin::Pin};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{Arc, ArcBorrow, Mutex},
    uaccess::UserSliceReader,
};

/// What a text file shows.
pub(crate) trait Show: 'static {
    /// What the text is made of.
    type Data: Logged + Send + Sync + 'static;

    /// Makes what the text is of, if it has to be made first.
    ///
    /// # Errors
    ///
    /// Why there is none.
    fn prepare(_data: &Arc<Self::Data>) -> Result {
        Ok(())
    }

    /// Writes the text.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    fn show(data: &Arc<Self::Data>, out: &mut dyn fmt::Write) -> fmt::Result;
}

/// A file that only shows a text.
pub(crate) struct TextFile<S>(PhantomData<S>);

impl<S: Show> File for TextFile<S> {
    type Data = S::Data;
    type Open = OpenText<S>;

    fn open(data: ArcBorrow<'_, S::Data>, _file: &OpenFile) -> Result<Pin<KBox<OpenText<S>>>> {
        OpenText::open(data.into())
    }

    fn read(
        open: &OpenText<S>,
        _file: &OpenFile,
        to: &mut ReadTo<'_>,
        offset: &mut i64,
    ) -> Result<usize> {
        open.read(to, offset)
    }

    fn write(open: &OpenText<S>, file: &OpenFile, from: UserSliceReader) -> Result {
        read_only(&*open.data, file, from)
    }
}

/// What a text file also takes.
pub(crate) trait TakesText: Show {
    /// Whether the text ends at a NUL, as a string of C does: many programs write its end, too.
    const ENDS_AT_NUL: bool = true;

    /// Takes `text`, which a user wrote.
    ///
    /// # Errors
    ///
    /// Why it cannot be taken; then nothing has changed.
    fn store(data: &Arc<Self::Data>, text: &[u8]) -> Result<(), Rejected>;

    /// Called when the file is opened as the shell's `>` does, before anything is written.
    ///
    /// # Errors
    ///
    /// Why it cannot be opened so; then nothing has changed.
    fn truncate(_data: &Arc<Self::Data>) -> Result<(), Rejected> {
        Ok(())
    }
}

/// A file that shows a text and takes another.
pub(crate) struct SettingFile<S>(PhantomData<S>);

impl<S: TakesText> File for SettingFile<S> {
    type Data = S::Data;
    type Open = OpenText<S>;

    fn open(data: ArcBorrow<'_, S::Data>, file: &OpenFile) -> Result<Pin<KBox<OpenText<S>>>> {
        let data: Arc<S::Data> = data.into();
        // What can fail for want of memory comes first.
        let open = OpenText::open(data.clone())?;
        if file.truncates() {
            S::truncate(&data).map_err(|rejected| rejected::log_opening(&*data, file, rejected))?;
        }
        Ok(open)
    }

    fn read(
        open: &OpenText<S>,
        _file: &OpenFile,
        to: &mut ReadTo<'_>,
        offset: &mut i64,
    ) -> Result<usize> {
        open.read(to, offset)
    }

    fn write(open: &OpenText<S>, file: &OpenFile, from: UserSliceReader) -> Result {
        let store = |text: &[u8]| S::store(&open.data, text);
        match S::ENDS_AT_NUL {
            true => take_value(&*open.data, file, from, store),
            false => take(&*open.data, file, from, store),
        }
    }
}

/// One opening of a file that shows a text: the text as it was at the first
/// read.
#[pin_data]
pub(crate) struct OpenText<S: Show> {
    /// What the text is made of.
    pub(crate) data: Arc<S::Data>,
    #[pin]
    text: Mutex<Option<Vec<u8>>>,
    _show: PhantomData<fn() -> S>,
}

impl<S: Show> OpenText<S> {
    /// An opening with nothing read.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn open(data: Arc<S::Data>) -> Result<Pin<KBox<Self>>> {
        KBox::pin_init(
            pin_init!(Self {
                data,
                text <- new_mutex!(None),
                _show: PhantomData,
            }),
            GFP_KERNEL,
        )
    }

    /// Reads at `offset`. A read from the beginning makes the text anew.
    ///
    /// # Errors
    ///
    /// `ENODEV` if what the file is of is gone; `ENOMEM`, `EFAULT`; `EINTR` if the task is being
    /// killed.
    pub(crate) fn read(&self, to: &mut ReadTo<'_>, offset: &mut i64) -> Result<usize> {
        let mut text = self.text.lock();
        if text.is_none() || *offset == 0 {
            self.data.check()?;
            S::prepare(&self.data)?;
            let mut made = Vec::new();
            let mut out = UntilKilled {
                out: Appender(&mut made),
                writes: 0,
            };
            S::show(&self.data, &mut out).map_err(|_| match is_being_killed() {
                true => EINTR,
                false => ENOMEM,
            })?;
            *text = Some(made);
        }
        copy(text.as_deref().unwrap_or_default(), to, offset)
    }
}

/// Takes a text until the task is being killed: some are of all functions of the kernel.
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

/// Copies what of `text` lies at `offset` to a reader.
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

/// Most bytes of one write.
const MAX_WRITE: usize = 1 << 20;

/// Bytes of a write that are taken without a look at how much memory there is.
const SHORT: usize = 16 << 10;

/// Passes everything that a user writes to `file` in one go to `store`. What is refused, the log
/// of `of` explains.
///
/// # Errors
///
/// `EFAULT`, `ENOMEM`; `E2BIG` for more than a mebibyte; the errno of the refusal.
pub(crate) fn take(
    of: &impl Logged,
    file: &OpenFile,
    from: UserSliceReader,
    store: impl FnOnce(&[u8]) -> Result<(), Rejected>,
) -> Result {
    let text = read(of, file, from)?;
    store(&text).map_err(|rejected| rejected::log(of, file, &text, rejected))
}

/// As [`take`], up to the first NUL, at which tracefs ends a value.
///
/// # Errors
///
/// Those of [`take`].
pub(crate) fn take_value(
    of: &impl Logged,
    file: &OpenFile,
    from: UserSliceReader,
    store: impl FnOnce(&[u8]) -> Result<(), Rejected>,
) -> Result {
    let text = read(of, file, from)?;
    let value = text.split(|&byte| byte == 0).next().unwrap_or_default();
    store(value).map_err(|rejected| rejected::log(of, file, value, rejected))
}

fn read(of: &impl Logged, file: &OpenFile, from: UserSliceReader) -> Result<KVVec<u8>> {
    if from.len() > MAX_WRITE {
        let refusal = Refusal::new(Kind::FileTooLong, 0);
        return Err(rejected::log(of, file, b"", refusal.into()));
    }
    // A short write may be what frees memory.
    if from.len() > SHORT && !memory::suffices(from.len()) {
        return Err(ENOMEM);
    }
    let mut text = KVVec::new();
    from.read_all(&mut text, GFP_KERNEL)?;
    Ok(text)
}

/// Refuses a write to a file that can only be read.
///
/// # Errors
///
/// `EINVAL`; the errors of [`take`].
///
/// Context: as for [`rejected::log()`].
#[cold]
#[inline(never)]
pub(crate) fn read_only(of: &impl Logged, file: &OpenFile, from: UserSliceReader) -> Result {
    take(of, file, from, |_| {
        Err(Refusal::new(Kind::FileReadOnly, 0).into())
    })
}
