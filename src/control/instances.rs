// SPDX-License-Identifier: GPL-2.0

//! `instances`: in it, `mkdir NAME` makes an instance and `rmdir NAME` removes it.

use super::Files;
use crate::{
    instance::Instance,
    kapi::debugfs::{Dir, Openings, Subdirs, UserDir},
    sys::Vec,
    tracer::Tracer,
};
use kernel::{
    new_mutex,
    prelude::*,
    str::CString,
    sync::{Arc, Mutex},
};

/// The instances that users have made, with their directories. They are removed when it is
/// dropped: once the module is being unloaded, which no open file lets happen.
pub(crate) struct Instances {
    _directory: UserDir<Made>,
}

/// What is in `instances`.
struct Made {
    tracer: Arc<Tracer>,
    /// The directory `instances`.
    directory: Arc<Dir>,
    /// The size of each CPU's buffer in a new instance that is used, in KiB.
    kilobytes: usize,
    /// Held while an instance is made or removed.
    made: Pin<KBox<Mutex<Vec<One>>>>,
}

/// An instance with its directory.
struct One {
    name: CString,
    instance: Arc<Instance>,
    /// How often its files are open.
    openings: Arc<Openings>,
    /// Dropped before the reference to the instance that the drop of `One` may be the last of.
    files: Files,
}

impl Instances {
    /// Makes the directory `instances` in `root`. An instance that is made there has a buffer of
    /// `kilobytes` for each CPU. The module's loading does nothing behind this
    /// that fails.
    ///
    /// # Errors
    ///
    /// As for [`Dir::new`].
    ///
    /// Context: process, may sleep.
    pub(crate) fn new(tracer: &Arc<Tracer>, root: &Arc<Dir>, kilobytes: usize) -> Result<Self> {
        let directory = Dir::new(c"instances", Some(root.clone()))?;
        let made = Made {
            tracer: tracer.clone(),
            directory: directory.clone(),
            kilobytes,
            made: KBox::pin_init(new_mutex!(Vec::new()), GFP_KERNEL)?,
        };
        Ok(Self {
            _directory: UserDir::new(directory, made)?,
        })
    }
}

impl Subdirs for Made {
    fn make(&self, name: &CStr) -> Result {
        let mut made = self.made.lock();
        if made.iter().any(|one| *one.name == *name) {
            return Err(EEXIST);
        }
        made.reserve(1)?;
        let name = CString::try_from(name)?;
        let openings = Openings::new()?;
        let directory = Dir::counted(&name, &self.directory, openings.clone())?;
        // Until everything is made, no file of it can be opened.
        openings.close()?;
        let instance = Instance::new(&self.tracer, self.kilobytes)?;
        let files = Files::new(&instance, &directory).inspect_err(|_| {
            // Its events are disabled: nothing has to be changed for which memory is needed.
            let _ = instance.remove();
        })?;
        openings.open_again();
        // There is room.
        let _ = made.push(One {
            name,
            instance,
            openings,
            files,
        });
        Ok(())
    }

    fn remove(&self, name: &CStr) -> Result {
        let mut made = self.made.lock();
        let index = made.iter().position(|one| *one.name == *name);
        let index = index.ok_or(ENOENT)?;
        let one = made.get(index).ok_or(ENOENT)?;
        one.openings.close()?;
        one.instance
            .remove()
            .inspect_err(|_| one.openings.open_again())?;
        if let Some(One {
            files, instance, ..
        }) = made.take(index)
        {
            drop(files);
            drop(instance);
        }
        Ok(())
    }
}
