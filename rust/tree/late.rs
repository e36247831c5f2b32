// SPDX-License-Identifier: GPL-2.0

//! Directories whose files are made when they are first entered.
//!
//! A file takes some thousand instructions and a KiB, and the files of most events are never
//! opened.

use super::{
    super::{bindings as extra, calls},
    dir::Dir,
};
use core::{pin::Pin, ptr};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{Arc, Mutex},
};

/// Makes the files of a [`LateDir`].
pub trait LateFill: Send + Sync + 'static {
    /// The files; they are removed when this is dropped.
    type Files: Send + Unpin;

    /// Makes the files in `dir`; these may be directories of this kind.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and the errors of creating files. The task that entered the directory gets
    /// the error; the next one tries again.
    ///
    /// Context: process, may sleep; called for an arbitrary task, which holds no locks of this
    /// module's files.
    fn fill(&self, dir: &Arc<Dir>) -> Result<Self::Files>;

    /// Updates `files`, which [`LateFill::fill`] made in `dir`, after [`LateDir::again`], when the
    /// directory is next entered.
    ///
    /// # Errors
    ///
    /// As for [`LateFill::fill`].
    ///
    /// Context: as for [`LateFill::fill`].
    fn change(&self, files: &mut Self::Files, dir: &Arc<Dir>) -> Result;
}

/// A directory whose files are made when a task first enters it. The drop removes it and its files.
/// A [`LateDirs`] must exist until the module is unloaded.
///
/// Context of the drop: process, may sleep. The drop waits for a [`LateFill`] in progress, which
/// must not wait for locks of the caller.
pub struct LateDir<F: LateFill> {
    content: Pin<KBox<LateContent<F>>>,
}

/// # Invariants
///
/// The directory may refer to `late` from the end of [`LateDir::new`] until the drop of the
/// `LateDir`, and calls its function for this content only.
#[pin_data]
#[repr(C)]
struct LateContent<F: LateFill> {
    late: extra::ferroprobe_late_dir,
    fill: F,
    /// Dropped before the directory.
    #[pin]
    files: Mutex<Option<F::Files>>,
    dir: Arc<Dir>,
}

impl<F: LateFill> LateDir<F> {
    /// Creates the directory `name` in `parent`.
    ///
    /// # Errors
    ///
    /// As for [`Dir::new`].
    ///
    /// Context: process, may sleep.
    pub fn new(name: &CStr, parent: &Arc<Dir>, fill: F) -> Result<Self> {
        let openings = parent.openings.clone();
        let dir = Dir::hidden(name, Some(parent.clone()), openings)?;
        let content = pin_init!(LateContent {
            late: extra::ferroprobe_late_dir {
                fill: Some(LateContent::<F>::fill_late),
            },
            fill,
            files <- new_mutex!(None),
            dir,
        });
        let content = KBox::pin_init(content, GFP_KERNEL)?;
        let made = Self { content };
        made.set(true);
        made.dir().node.show()?;
        Ok(made)
    }

    /// Sets whether the directory calls `late` when it is entered.
    fn set(&self, has_files: bool) {
        let late = match has_files {
            true => (&raw const *self.content).cast_mut().cast(),
            false => ptr::null_mut(),
        };
        let dir = self.content.dir.node.as_ptr();
        // SAFETY: The directory exists as long as `content.dir`. `late` is the first field of
        // the content, is pinned, and the drop takes it back.
        unsafe { extra::ferroprobe_late_dir_set(dir, late) };
    }

    /// Returns the directory.
    pub fn dir(&self) -> &Arc<Dir> {
        &self.content.dir
    }

    /// Returns the object that makes the files.
    pub fn fill(&self) -> &F {
        &self.content.fill
    }

    /// Requests a call of [`LateFill::change`] before the directory is next entered, if it ever
    /// was.
    ///
    /// Context: process, may sleep.
    pub fn again(&self) {
        self.set(true);
    }
}

impl<F: LateFill> Drop for LateDir<F> {
    fn drop(&mut self) {
        self.set(false);
    }
}

impl<F: LateFill> LateContent<F> {
    /// # Safety
    ///
    /// Called by the directory only, with the content's first field.
    unsafe extern "C" fn fill_late(late: *mut extra::ferroprobe_late_dir) -> kernel::ffi::c_int {
        // SAFETY: By the type invariant the content exists during the call, and `late` is its
        // first field.
        let content = unsafe { &*late.cast::<Self>() };
        let mut files = content.files.lock();
        let done = match &mut *files {
            Some(files) => content.fill.change(files, &content.dir),
            None => content.fill.fill(&content.dir).map(|made| {
                *files = Some(made);
            }),
        };
        done.map_or_else(Error::to_errno, |()| 0)
    }
}

/// Must be dropped after the last [`LateDir`], before the module is unloaded. The drop waits until
/// no task is in the functions that enter such a directory.
///
/// Context of the drop: process, may sleep.
pub struct LateDirs(());

impl LateDirs {
    /// Must be called before the first [`LateDir`] is made.
    pub fn begin() -> Self {
        Self(())
    }
}

impl Drop for LateDirs {
    fn drop(&mut self) {
        calls::ferroprobe_late_dirs_end();
    }
}
