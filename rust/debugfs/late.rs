// SPDX-License-Identifier: GPL-2.0

//! Directories whose files are made when they are first entered.
//!
//! A file takes some thousand instructions and a KiB, and the files of most events are never
//! opened.

use super::{
    super::{bindings as extra, calls},
    dir::Dir,
};
use core::pin::Pin;
use kernel::{
    error::from_err_ptr,
    new_mutex,
    prelude::*,
    sync::{Arc, Mutex},
};

/// What makes the files of a [`LateDir`].
pub trait Fill: Send + Sync + 'static {
    /// The files; they are removed when this is dropped.
    type Files: Send + Unpin;

    /// Makes the files in `dir`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and the errors of creating files. The task that entered the directory gets
    /// the error; the next one tries again.
    ///
    /// Context: process, may sleep; on behalf of any task, which may hold the locks of none of
    /// this module's files.
    fn fill(&self, dir: &Arc<Dir>) -> Result<Self::Files>;
}

/// A directory whose files are made when somebody first enters it; removed with them when
/// dropped. Until the module is unloaded, a [`LateDirs`] must exist.
///
/// Context of the drop: process, may sleep. As the drop waits for a [`Fill`] in progress,
/// this must not wait for what the caller of the drop holds.
pub struct LateDir<F: Fill> {
    content: Pin<KBox<Content<F>>>,
}

/// # Invariants
///
/// The kernel's directory refers to `late` at most from the end of [`LateDir::new`] until the
/// drop of the `LateDir`, and calls its function for this content only.
#[pin_data]
#[repr(C)]
struct Content<F: Fill> {
    late: extra::ferroprobe_late_dir,
    fill: F,
    /// Dropped before the directory.
    #[pin]
    files: Mutex<Option<F::Files>>,
    dir: Arc<Dir>,
}

impl<F: Fill> LateDir<F> {
    /// Creates the directory `name` in `parent`.
    ///
    /// # Errors
    ///
    /// As for [`Dir::new`].
    ///
    /// Context: process, may sleep.
    pub fn new(name: &CStr, parent: &Arc<Dir>, fill: F) -> Result<Self> {
        // SAFETY: The name is copied; the parent is a directory.
        let dentry =
            unsafe { extra::ferroprobe_create_late_dir(name.as_char_ptr(), parent.dentry) };
        // INVARIANT: Created above.
        let openings = parent.openings.clone();
        let dir = Dir::made(from_err_ptr(dentry)?, Some(parent.clone()), openings)?;
        let content = pin_init!(Content {
            late: extra::ferroprobe_late_dir {
                fill: Some(Content::<F>::fill_late),
            },
            fill,
            files <- new_mutex!(None),
            dir,
        });
        let content = KBox::pin_init(content, GFP_KERNEL)?;
        let late = (&raw const *content).cast_mut().cast();
        // SAFETY: The directory exists as long as `content.dir`. `late` is the first field of
        // the content, is pinned, and the drop takes it back.
        unsafe { extra::ferroprobe_late_dir_set(dentry, late) };
        Ok(Self { content })
    }

    /// Returns what makes the files.
    pub fn fill(&self) -> &F {
        &self.content.fill
    }
}

impl<F: Fill> Drop for LateDir<F> {
    fn drop(&mut self) {
        // SAFETY: The directory exists as long as `content.dir`.
        unsafe {
            extra::ferroprobe_late_dir_set(self.content.dir.dentry, core::ptr::null_mut());
        }
    }
}

impl<F: Fill> Content<F> {
    /// # Safety
    ///
    /// Called by the kernel's directory only, with the content's first field.
    unsafe extern "C" fn fill_late(late: *mut extra::ferroprobe_late_dir) -> kernel::ffi::c_int {
        // SAFETY: By the type invariant the content exists during the call, and `late` is its
        // first field.
        let content = unsafe { &*late.cast::<Self>() };
        let mut files = content.files.lock();
        if files.is_some() {
            return 0;
        }
        match content.fill.fill(&content.dir) {
            Ok(made) => {
                *files = Some(made);
                0
            }
            Err(error) => error.to_errno(),
        }
    }
}

/// What must be dropped after the last [`LateDir`], before the module goes. Waits until all
/// tasks have left the functions that enter such a directory.
///
/// Context of the drop: process, may sleep.
pub struct LateDirs(());

impl LateDirs {
    /// Begins the time in which there are such directories.
    pub fn begin() -> Self {
        Self(())
    }
}

impl Drop for LateDirs {
    fn drop(&mut self) {
        calls::ferroprobe_late_dirs_end();
    }
}
