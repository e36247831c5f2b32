// SPDX-License-Identifier: GPL-2.0

//! `instances`: `mkdir NAME` in it makes an instance, and `rmdir NAME` removes it.
//!
//! `rmdir` closes the count of open files below the directory, which fails unless it is 0. From
//! then on no task uses the instance from outside. The registry then disables its events, and
//! removes its buffer from all plans and recorders, before the last reference to the buffer is
//! dropped. Unlike in ftrace, instances do not prevent unloading of the module: they are its own
//! directories.

use super::{
    named::{folder, Described},
    InstanceFiles,
};
use crate::{
    instance::Instance,
    kapi::{
        memory, percpu,
        tree::{Dir, Openings, Subdirs, UserDir},
    },
    sys::Vec,
    tracer::Tracer,
};
use kernel::{
    new_mutex,
    prelude::*,
    str::CString,
    sync::{Arc, Mutex},
};

pub(super) const DIRECTORY: Described = folder(
    c"instances",
    "mkdir NAME: a directory with its own buffer, settings, and\n\
     files of the events; rmdir NAME removes it",
);

/// The instances made by users, with their directories. Its drop removes them: when the module is
/// unloaded, so that no file is open.
pub(crate) struct InstancesDirectory {
    directory: UserDir<InDirectory>,
}

/// The contents of `instances`.
struct InDirectory {
    tracer: Arc<Tracer>,
    /// The directory `instances`.
    directory: Arc<Dir>,
    /// KiB of each CPU's ring in a new instance, after its first use.
    kilobytes: usize,
    /// Held while an instance is made or removed.
    made: Pin<KBox<Mutex<Vec<One>>>>,
}

/// An instance with its directory.
struct One {
    name: CString,
    instance: Arc<Instance>,
    /// The number of open files below the directory.
    openings: Arc<Openings>,
    /// Dropped before the reference to the instance, which may be the last one.
    files: InstanceFiles,
}

impl InstancesDirectory {
    /// Makes the directory `instances` in `root`. A new instance has a buffer of `kilobytes` for
    /// each CPU.
    ///
    /// # Errors
    ///
    /// As for [`Dir::new`].
    ///
    /// Context: process, may sleep.
    #[inline(never)]
    pub(crate) fn new(tracer: &Arc<Tracer>, root: &Arc<Dir>, kilobytes: usize) -> Result<Self> {
        let directory = Dir::new(DIRECTORY.name, Some(root.clone()))?;
        let made = InDirectory {
            tracer: tracer.clone(),
            directory: directory.clone(),
            kilobytes,
            made: KBox::pin_init(new_mutex!(Vec::new()), GFP_KERNEL)?,
        };
        Ok(Self {
            directory: UserDir::new(directory, made)?,
        })
    }

    /// Allows users to make instances in debugfs. Nothing may fail after this while the module is
    /// loaded.
    ///
    /// Context: process, may sleep.
    pub(crate) fn open(&mut self) {
        self.directory.open();
    }
}

impl Subdirs for InDirectory {
    fn make(&self, name: &CStr) -> Result {
        /// Approximate memory of an instance without its rings, in bytes: fixed, and for each CPU.
        const MEMORY: (usize, usize) = (1 << 20, 32 << 10);

        let mut made = self.made.lock();
        if made.iter().any(|one| *one.name == *name) {
            return Err(EEXIST);
        }
        // CAST: u32 to usize widens.
        let of_cpus = MEMORY.1.saturating_mul(percpu::cpu_limit() as usize);
        if !memory::suffices(MEMORY.0.saturating_add(of_cpus)) {
            return Err(ENOMEM);
        }
        made.reserve(1)?;
        let name = CString::try_from(name)?;
        let openings = Openings::new()?;
        let directory = Dir::counted(&name, &self.directory, openings.clone())?;
        // No file can be opened until everything is made.
        openings.close()?;
        let instance = Instance::new(&self.tracer, self.kilobytes)?;
        // CPUs that came before the instance was registered; on failure they keep small rings.
        let _ = instance.buffer.give_to_arrived();
        let files =
            InstanceFiles::new(&instance, &directory).inspect_err(|_| instance.discard())?;
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
