// SPDX-License-Identifier: GPL-2.0

//! `instances`: in it, `mkdir NAME` makes an instance and `rmdir NAME` removes it.
//!
//! `rmdir` closes the count of openings below the directory, which fails unless it is 0. From
//! then on no task uses the instance from outside. The registry then disables its events, and
//! takes its buffer out of all plans and recorders, before the last reference to the buffer is
//! dropped. Unlike ftrace's, instances do not keep the module from being unloaded: they are its
//! own directories.

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

/// The instances that users have made, with their directories. They are removed when it is
/// dropped: once the module is being unloaded, which no open file lets happen.
pub(crate) struct InstancesDirectory {
    directory: UserDir<InDirectory>,
}

/// What is in `instances`.
struct InDirectory {
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
    files: InstanceFiles,
}

impl InstancesDirectory {
    /// Makes the directory `instances` in `root`. An instance that is made there has a buffer of
    /// `kilobytes` for each CPU.
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

    /// Lets users make instances in debugfs. The module's loading does nothing behind this that
    /// fails.
    ///
    /// Context: process, may sleep.
    pub(crate) fn open(&mut self) {
        self.directory.open();
    }
}

impl Subdirs for InDirectory {
    fn make(&self, name: &CStr) -> Result {
        /// About what an instance takes without its rings, in bytes, and for each CPU.
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
        // Until everything is made, no file of it can be opened.
        openings.close()?;
        let instance = Instance::new(&self.tracer, self.kilobytes)?;
        // Those that came before it was known; they do with what they have otherwise.
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
