// SPDX-License-Identifier: GPL-2.0

//! A directory in which users make and remove directories.

use super::{super::bindings as extra, dir::Dir};
use core::pin::Pin;
use kernel::{prelude::*, sync::Arc};

/// Makes and removes the directories in a [`UserDir`].
pub trait Subdirs: Send + Sync + 'static {
    /// Makes the directory `name`, for `mkdir(2)`.
    ///
    /// # Errors
    ///
    /// The error that `mkdir(2)` returns.
    ///
    /// Context: process, may sleep; concurrent calls are possible. Called with the
    /// lock of the directory's inode in the module's own file system, and no other.
    fn make(&self, name: &CStr) -> Result;

    /// Removes the directory `name`, for `rmdir(2)`.
    ///
    /// # Errors
    ///
    /// The error that `rmdir(2)` returns.
    ///
    /// Context: as for [`Subdirs::make`].
    fn remove(&self, name: &CStr) -> Result;
}

/// A directory in which users make and remove directories with `mkdir(2)` and `rmdir(2)`. At most
/// one may exist, and it must not be dropped before the module is unloaded.
pub struct UserDir<S: Subdirs> {
    content: Pin<KBox<Content<S>>>,
    /// Whether debugfs uses it.
    is_open: bool,
}

/// # Invariants
///
/// From the end of [`UserDir::new`] until the drop of the `UserDir`, the kernel's directories
/// refer to `user`, and call its functions for this content only.
#[pin_data]
#[repr(C)]
struct Content<S: Subdirs> {
    user: extra::ferroprobe_user_dir,
    /// Dropped before the directory.
    subdirs: S,
    dir: Arc<Dir>,
}

impl<S: Subdirs> UserDir<S> {
    /// Lets users make and remove directories in `dir`, which is empty: in debugfs after
    /// [`UserDir::open`], and in the module's own file system when it is mountable, which must not
    /// happen before.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub fn new(dir: Arc<Dir>, subdirs: S) -> Result<Self> {
        let content = pin_init!(Content {
            user: extra::ferroprobe_user_dir {
                make: Some(Content::<S>::make),
                remove: Some(Content::<S>::remove),
            },
            subdirs,
            dir,
        });
        let content = KBox::pin_init(content, GFP_KERNEL)?;
        let user = (&raw const *content).cast_mut().cast();
        // SAFETY: The node exists as long as `content.dir`. `user` is the first field of the
        // content, is pinned, and exists as long as anything is mounted.
        unsafe { extra::ferroprobe_node_user_dir(content.dir.node.as_ptr(), user) };
        Ok(Self {
            content,
            is_open: false,
        })
    }

    /// Lets users do so in debugfs. Call it when loading the module, with nothing behind it that
    /// can fail.
    ///
    /// Context: process, may sleep.
    pub fn open(&mut self) {
        // SAFETY: The directory exists as long as `content.dir`, and refers to `user`. The drop
        // ends it.
        unsafe { extra::ferroprobe_user_dir_begin(self.content.dir.node.as_ptr()) };
        // INVARIANT: As above.
        self.is_open = true;
    }
}

impl<S: Subdirs> Drop for UserDir<S> {
    fn drop(&mut self) {
        if !self.is_open {
            return;
        }
        // SAFETY: The directory exists as long as `content.dir`.
        unsafe { extra::ferroprobe_user_dir_end(self.content.dir.node.as_ptr()) };
    }
}

impl<S: Subdirs> Content<S> {
    /// # Safety
    ///
    /// Called by the kernel's directory only, with the content's first field and a name.
    unsafe extern "C" fn make(
        user: *mut extra::ferroprobe_user_dir,
        name: *const kernel::ffi::c_char,
    ) -> kernel::ffi::c_int {
        // SAFETY: Passed on.
        unsafe { Self::call(user, name, S::make) }
    }

    /// # Safety
    ///
    /// As for [`Content::make`].
    unsafe extern "C" fn remove(
        user: *mut extra::ferroprobe_user_dir,
        name: *const kernel::ffi::c_char,
    ) -> kernel::ffi::c_int {
        // SAFETY: Passed on.
        unsafe { Self::call(user, name, S::remove) }
    }

    /// # Safety
    ///
    /// As for [`Content::make`].
    unsafe fn call(
        user: *mut extra::ferroprobe_user_dir,
        name: *const kernel::ffi::c_char,
        work: fn(&S, &CStr) -> Result,
    ) -> kernel::ffi::c_int {
        // SAFETY: By the type invariant the content exists during the call, and `user` is its
        // first field. The name is a NUL-terminated string that stays during the call.
        let (content, name) = unsafe { (&*user.cast::<Self>(), CStr::from_char_ptr(name)) };
        work(&content.subdirs, name).map_or_else(|error| error.to_errno(), |()| 0)
    }
}
