// SPDX-License-Identifier: GPL-2.0

//! Files that show and take 0 or 1.

use super::text;
use crate::kapi::debugfs::{File, OpenFile};
use core::{marker::PhantomData, pin::Pin};
use kernel::{
    prelude::*,
    sync::{Arc, ArcBorrow},
    uaccess::{UserSliceReader, UserSliceWriter},
};

/// What is switched.
pub(crate) trait Switched: 'static {
    /// What it belongs to.
    type Data: Send + Sync + 'static;

    /// The state as one character: `0`, `1`, `X` where parts differ, `?` where
    /// there are none.
    fn state(data: &Arc<Self::Data>) -> u8;

    /// Switches.
    ///
    /// # Errors
    ///
    /// What the write is to return.
    fn set(data: &Arc<Self::Data>, on: bool) -> Result;
}

/// A file that shows and takes the state of `S`.
pub(crate) struct Switch<S>(PhantomData<S>);

impl<S: Switched> File for Switch<S> {
    type Data = S::Data;
    type Open = Arc<S::Data>;

    fn open(data: ArcBorrow<'_, S::Data>, _file: &OpenFile) -> Result<Pin<KBox<Arc<S::Data>>>> {
        Ok(KBox::pin(data.into(), GFP_KERNEL)?)
    }

    fn read(
        data: &Arc<S::Data>,
        _file: &OpenFile,
        to: &mut UserSliceWriter,
        offset: &mut i64,
    ) -> Result<usize> {
        text::copy(&[S::state(data), b'\n'], to, offset)
    }

    fn write(data: &Arc<S::Data>, _file: &OpenFile, from: UserSliceReader) -> Result {
        match text::number(from)? {
            0 => S::set(data, false),
            1 => S::set(data, true),
            _ => Err(EINVAL),
        }
    }
}
