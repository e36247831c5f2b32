// SPDX-License-Identifier: GPL-2.0

//! The type information of the running kernel and its modules.
//!
//! It is read from sysfs when a definition first needs it. The kernel's is kept until ferroprobe is
//! unloaded, a module's until that module is unloaded. If the kernel has none, names and members
//! are refused with this reason.

use crate::{
    engine::{
        definition::{
            ast::{Argument, Definition, Origin, StepKind},
            kind::ArgumentsFrom,
        },
        language::types::Shown,
        program::btf::{Btf, Index, Malformed},
    },
    kapi::vfs,
    sys::{AllocError, Vec},
};
use kernel::{prelude::*, str::CString, sync::Arc};

/// Maximum number of bytes of type information; the kernel's has about six million.
const MAX_BLOB: usize = 64 << 20;

/// The type information of the kernel, or of a module.
pub(crate) struct Types {
    blob: Vec<u8>,
    index: Index,
}

impl Types {
    /// Reads the type information in the file `path`. A module's is based on `base`, the
    /// kernel's.
    ///
    /// # Errors
    ///
    /// `ENOENT` if there is none, `EINVAL` if it is malformed, `EFBIG` if it is too
    /// large, `ENOMEM`.
    fn read(path: &CStr, base: Option<&Types>) -> Result<Arc<Self>> {
        let mut blob = Vec::new();
        let mut result = Ok(());
        vfs::read_sysfs(path, |piece| {
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

/// The type information that was read so far.
pub(crate) struct Cache {
    kernel: Option<Arc<Types>>,
    module: Option<(Vec<u8>, Arc<Types>)>,
}

impl Cache {
    /// Makes an empty cache.
    pub(crate) const fn new() -> Self {
        Self {
            kernel: None,
            module: None,
        }
    }

    /// Calls `look` with the type information for `module`, or for the kernel; with `None` if there
    /// is none.
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

    /// Forgets the type information of `module`, which is being unloaded: another module of that
    /// name may be loaded later.
    pub(crate) fn forget(&mut self, module: &[u8]) {
        self.module.take_if(|(known, _)| **known == *module);
    }

    fn kernel(&mut self) -> Result<Option<Arc<Types>>, AllocError> {
        if self.kernel.is_none() {
            self.kernel = if_there(Types::read(c"kernel/btf/vmlinux", None))?;
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
        let path = CString::try_from_fmt(fmt!("kernel/btf/{text}"));
        let types = path.and_then(|path| Types::read(&path, Some(kernel)));
        let types = if_there(types)?;
        // Only one module's is kept.
        self.module = types.clone().map(|types| (known, types));
        Ok(types)
    }
}

/// Turns all errors except lack of memory into `None`.
fn if_there(read: Result<Arc<Types>>) -> Result<Option<Arc<Types>>, AllocError> {
    match read {
        Err(error) if error == ENOMEM => Err(AllocError),
        read => Ok(read.ok()),
    }
}

/// Returns the first argument of `definition` whose meaning depends on the function: a parameter's
/// name, or a member behind a parameter.
pub(crate) fn of_function(definition: &Definition) -> Option<&Argument> {
    definition.args.iter().find(|arg| {
        let first = arg.expression.steps.first().map(|step| &step.action);
        match arg.expression.origin {
            Origin::Name(_) => true,
            Origin::Argument(_) => {
                arg.spec.is_of_structure()
                    || is_named(arg)
                    || matches!(first, Some(StepKind::Members(_)))
            }
            _ => false,
        }
    })
}

/// Returns whether the value of `arg` is shown by name.
fn is_named(arg: &Argument) -> bool {
    arg.spec.base.shown() == Shown::Enum
}

/// Returns whether compiling `definition` may need types.
pub(crate) fn are_needed(definition: &Definition) -> bool {
    definition.args.iter().any(|arg| {
        let by_source = match arg.expression.origin {
            Origin::Name(_) | Origin::AllArguments | Origin::Variable { .. } => true,
            Origin::ReturnValue => !arg.spec.explicit,
            // An unnamed argument gets the parameter's name. For a tracepoint's argument, the type
            // tells its size.
            Origin::Argument(_) => {
                definition.kind.arguments != ArgumentsFrom::Registers || arg.at == arg.text_at
            }
            _ => false,
        };
        // The kernel's types do not know the functions of programs.
        let by_source = by_source && !definition.kind.is_user;
        // The type tells whether it is a dentry or a file, and has the names of values.
        let by_source =
            by_source || arg.spec.path.is_some() || arg.spec.base.is_structure() || is_named(arg);
        let is_typed =
            |action: &StepKind| matches!(action, StepKind::Members(_) | StepKind::Cast { .. });
        by_source
            || arg
                .expression
                .steps
                .iter()
                .any(|step| is_typed(&step.action))
    })
}
