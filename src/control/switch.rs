// SPDX-License-Identifier: GPL-2.0

//! Files that show and take 0 or 1.

use super::{
    rejected::{Logged, Rejected},
    text,
};
use crate::{
    engine::language::setting,
    kapi::tree::{File, OpenFile, ReadTo},
};
use core::{marker::PhantomData, pin::Pin};
use kernel::{
    prelude::*,
    sync::{Arc, ArcBorrow},
    uaccess::UserSliceReader,
};

/// What is switched.
pub(crate) trait Switched: 'static {
    /// What it belongs to.
    type Data: Logged + Send + Sync + 'static;

    /// Whether any number but 0 switches on, not 1 alone.
    const TAKES_ANY_NUMBER: bool = false;

    /// The state as one character: `0`, `1`, `X` where parts differ, `?` where
    /// there are none.
    fn state(data: &Arc<Self::Data>) -> u8;

    /// Whether `*` follows the state.
    fn is_marked(_data: &Arc<Self::Data>) -> bool {
        false
    }

    /// Switches.
    ///
    /// # Errors
    ///
    /// Why it cannot be switched; then nothing has changed.
    fn set(data: &Arc<Self::Data>, on: bool) -> Result<(), Rejected>;
}

/// A file that shows and takes the state of `S`.
pub(crate) struct SwitchFile<S>(PhantomData<S>);

impl<S: Switched> File for SwitchFile<S> {
    type Data = S::Data;
    type Open = Arc<S::Data>;

    fn open(data: ArcBorrow<'_, S::Data>, _file: &OpenFile) -> Result<Pin<KBox<Arc<S::Data>>>> {
        Ok(KBox::pin(data.into(), GFP_KERNEL)?)
    }

    fn read(
        data: &Arc<S::Data>,
        _file: &OpenFile,
        to: &mut ReadTo<'_>,
        offset: &mut i64,
    ) -> Result<usize> {
        data.check()?;
        let state = S::state(data);
        if S::is_marked(data) {
            return text::copy(&[state, b'*', b'\n'], to, offset);
        }
        text::copy(&[state, b'\n'], to, offset)
    }

    fn write(data: &Arc<S::Data>, file: &OpenFile, from: UserSliceReader) -> Result {
        text::take_value(&**data, file, from, |text| {
            let on = match S::TAKES_ANY_NUMBER {
                true => setting::is_not_zero(text)?,
                false => setting::switch(text)?,
            };
            S::set(data, on)
        })
    }
}
