// SPDX-License-Identifier: GPL-2.0

//! `trace` and `per_cpu/cpuN/trace`: the events in the buffer, which reading does not consume.
//! Truncating the file clears them; a write does nothing.

use super::{listing::Listing, scope::Scope};
use crate::{
    kapi::tree::{File, OpenFile, ReadTo},
    options::Flag,
};
use core::pin::Pin;
use kernel::{prelude::*, sync::Arc, uaccess::UserSliceReader};

/// The file.
pub(crate) struct Trace;

#[pin_data(PinnedDrop)]
pub(crate) struct OpenTrace {
    scope: Arc<Scope>,
    /// Whether recording is paused while the file is open.
    pauses: bool,
    #[pin]
    listing: Listing,
}

#[pinned_drop]
impl PinnedDrop for OpenTrace {
    fn drop(self: Pin<&mut Self>) {
        if self.pauses {
            self.scope.instance.buffer.resume();
        }
    }
}

impl File for Trace {
    type Data = Arc<Scope>;
    type Open = OpenTrace;

    fn open(scope: &Arc<Scope>, file: &OpenFile) -> Result<Pin<KBox<OpenTrace>>> {
        let (instance, cpu) = (&scope.instance, scope.cpu);
        let pauses = file.is_readable() && instance.options.has(Flag::PauseOnTrace);
        // Allocate first.
        let open = KBox::pin_init(
            pin_init!(OpenTrace {
                scope: scope.clone(),
                pauses,
                listing <- Listing::new(),
            }),
            GFP_KERNEL,
        )?;
        if file.truncates() {
            instance.clear_buffer(cpu);
        }
        if pauses {
            instance.buffer.pause();
        }
        Ok(open)
    }

    fn read(
        open: &OpenTrace,
        _file: &OpenFile,
        to: &mut ReadTo<'_>,
        offset: &mut i64,
    ) -> Result<usize> {
        open.listing.read(&open.scope, to, offset)
    }

    fn write(_open: &OpenTrace, _file: &OpenFile, _from: UserSliceReader) -> Result {
        // Opening the file cleared the buffer.
        Ok(())
    }
}
