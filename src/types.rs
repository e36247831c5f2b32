// SPDX-License-Identifier: GPL-2.0

//! The type information of the running kernel and its modules.
//!
//! It is read from `/sys/kernel/btf` when a definition first needs it, and kept
//! until the module is unloaded. Where the kernel has none, names and members
//! cannot be used, and the error says so.

use crate::{
    engine::{
        ast::{Action, Definition, Source},
        btf::{Btf, Index, Malformed},
    },
    kapi::vfs,
    sys::{AllocError, Vec},
};
use kernel::{prelude::*, str::CString, sync::Arc};

/// Most bytes of type information that are read; the kernel's has about six
/// million.
const MAX_BLOB: usize = 64 << 20;

/// The type information of the kernel, or of a module.
pub(crate) struct Types {
    blob: Vec<u8>,
    index: Index,
}

impl Types {
    /// Reads that of `module`, or of the kernel, on whose it then stands.
    ///
    /// # Errors
    ///
    /// `ENOENT` where there is none, `EINVAL` if it is broken, `ENOMEM`.
    fn read(path: &CStr, base: Option<&Types>) -> Result<Arc<Self>> {
        let mut blob = Vec::new();
        let mut result = Ok(());
        vfs::read(path, |piece| {
            if blob.len().saturating_add(piece.len()) > MAX_BLOB {
                result = Err(EFBIG);
            } else if blob.extend_from_slice(piece).is_err() {
                result = Err(ENOMEM);
            }
            result.is_ok()
        })?;
        result?;
        let index = Index::build(&blob, base.map(|base| &base.index));
        let index = index.map_err(|broken| match broken {
            Malformed::NoMemory => ENOMEM,
            _ => EINVAL,
        })?;
        Ok(Arc::new(Self { blob, index }, GFP_KERNEL)?)
    }
}

/// What has been read so far.
pub(crate) struct Cache {
    kernel: Option<Arc<Types>>,
    module: Option<(Vec<u8>, Arc<Types>)>,
}

impl Cache {
    /// Nothing.
    pub(crate) const fn new() -> Self {
        Self {
            kernel: None,
            module: None,
        }
    }

    /// Calls `look` with the type information that holds for `module`, or for
    /// the kernel; with none where there is none.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory to read it.
    pub(crate) fn with<R>(
        &mut self,
        module: Option<&[u8]>,
        look: impl FnOnce(Option<Btf<'_>>) -> R,
    ) -> Result<R, AllocError> {
        let Some(kernel) = self.kernel()? else {
            return Ok(look(None));
        };
        let base = Btf::new(&kernel.blob, &kernel.index, None);
        let own = match module {
            Some(module) => self.module(module, &kernel)?,
            None => None,
        };
        Ok(match (&own, &base) {
            (Some(own), Some(base)) => look(Btf::new(&own.blob, &own.index, Some(base))),
            _ => look(base),
        })
    }

    fn kernel(&mut self) -> Result<Option<Arc<Types>>, AllocError> {
        if self.kernel.is_none() {
            self.kernel = if_there(Types::read(c"/sys/kernel/btf/vmlinux", None))?;
        }
        Ok(self.kernel.clone())
    }

    fn module(&mut self, name: &[u8], kernel: &Types) -> Result<Option<Arc<Types>>, AllocError> {
        if let Some((known, types)) = &self.module {
            if **known == *name {
                return Ok(Some(types.clone()));
            }
        }
        let known = Vec::from_slice(name)?;
        let Ok(text) = core::str::from_utf8(name) else {
            return Ok(None);
        };
        let path = CString::try_from_fmt(fmt!("/sys/kernel/btf/{text}"));
        let types = path.and_then(|path| Types::read(&path, Some(kernel)));
        let types = if_there(types)?;
        // A module may be unloaded and another of its name loaded: the last one
        // only is kept, and only until another is asked for.
        self.module = types.clone().map(|types| (known, types));
        Ok(types)
    }
}

/// None where type information cannot be read for any other reason than memory.
fn if_there(read: Result<Arc<Types>>) -> Result<Option<Arc<Types>>, AllocError> {
    match read {
        Err(error) if error == ENOMEM => Err(AllocError),
        read => Ok(read.ok()),
    }
}

/// Whether compiling `definition` may ask for types.
pub(crate) fn are_needed(definition: &Definition) -> bool {
    definition.args.iter().any(|arg| {
        let by_source = match arg.expression.source {
            Source::Name(_) | Source::AllArguments => true,
            Source::ReturnValue => !arg.spec.explicit,
            // Without a name it takes that of the parameter.
            Source::Argument(_) => definition.kind.is_return() || arg.at == arg.text_at,
            _ => false,
        };
        let is_typed = |action: &Action| matches!(action, Action::Members(_) | Action::Cast { .. });
        by_source
            || arg
                .expression
                .steps
                .iter()
                .any(|step| is_typed(&step.action))
    })
}
