// SPDX-License-Identifier: GPL-2.0

//! Refusals of writes to files, and their entries in `error_log`.

use super::{
    member::{EventMember, Members},
    scope::OneCpu,
};
use crate::{
    engine::{
        refusal::error::{Errno, Error as Refusal, Kind, Subject},
        util::{errno, text::Plain},
    },
    events::registry::Failure,
    instance::Instance,
    kapi::tree::OpenFile,
    source::machine::error_of,
    sys::{AllocError, Vec},
    tracer::Tracer,
};
use kernel::prelude::*;

/// Why a write is rejected.
pub(crate) enum Rejected {
    /// A refusal, whose caret counts without surrounding white space.
    Refused(Refusal),
    /// A refusal of this line of the text.
    Line(Refusal, Vec<u8>),
    /// An operation failed.
    Failed(Error),
}

impl From<Refusal> for Rejected {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Error> for Rejected {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<AllocError> for Rejected {
    fn from(error: AllocError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<Failure> for Rejected {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused { refusal, command } => Self::Line(refusal, command),
            Failure::Interrupted => Self::Failed(EINTR),
        }
    }
}

/// The object that a file belongs to; it leads to the log.
pub(crate) trait Logged: Send + Sync + 'static {
    /// Returns the tracer, which has the log.
    fn tracer(&self) -> &Tracer;

    /// Checks that the object still exists; the file may have been open longer.
    ///
    /// # Errors
    ///
    /// `ENODEV`.
    fn check(&self) -> Result {
        Ok(())
    }
}

impl Logged for Tracer {
    fn tracer(&self) -> &Tracer {
        self
    }
}

impl Logged for Instance {
    fn tracer(&self) -> &Tracer {
        &self.tracer
    }
}

impl Logged for EventMember {
    fn tracer(&self) -> &Tracer {
        &self.instance.tracer
    }

    fn check(&self) -> Result {
        if self.event().is_some_and(|event| event.is_gone()) {
            return Err(ENODEV);
        }
        Ok(())
    }
}

impl Logged for Members {
    fn tracer(&self) -> &Tracer {
        &self.instance.tracer
    }
}

impl Logged for OneCpu {
    fn tracer(&self) -> &Tracer {
        &self.instance.tracer
    }
}

/// Logs why `file` rejects `text`, and returns the error of the write.
///
/// Context: process, may sleep; without the locks that are taken after the log's.
#[cold]
#[inline(never)]
pub(crate) fn log(tracer: &Tracer, file: &OpenFile, text: &[u8], rejected: Rejected) -> Error {
    let refusal = match rejected {
        Rejected::Line(refusal, command) => {
            tracer.log_refusal(&refusal, &command);
            return error_of(&refusal);
        }
        Rejected::Refused(refusal) => refusal,
        Rejected::Failed(error) => match words(error) {
            Some(refusal) => refusal,
            None => return error,
        },
    };
    if refusal.kind.subject() == Subject::File {
        log_value(tracer, file, text.trim_ascii(), refusal)
    } else {
        tracer.log_refusal(&refusal, text.trim_ascii());
        error_of(&refusal)
    }
}

/// [`log()`] for opening a file like the shell's `>`.
#[cold]
#[inline(never)]
pub(crate) fn log_opening(tracer: &Tracer, file: &OpenFile, rejected: Rejected) -> Error {
    log(tracer, file, b">", rejected)
}

/// Logs the refusal of a value, with the path of its file.
fn log_value(tracer: &Tracer, file: &OpenFile, text: &[u8], mut refusal: Refusal) -> Error {
    // Only the line with the caret is shown.
    let at = refusal.at.min(text.len());
    let (before, behind) = text.split_at_checked(at).unwrap_or((text, b""));
    let is_end = |&byte: &u8| byte == b'\n';
    let start = before.iter().rposition(is_end);
    let start = start.map_or(0, |end| end.saturating_add(1));
    let end = behind.iter().position(is_end).unwrap_or(behind.len());
    let line = match refusal.kind {
        // One entry suffices for these, however often a program repeats the write.
        Kind::FileMarkersOff | Kind::FileNotRecording => b"",
        _ => text.get(start..at.saturating_add(end)).unwrap_or_default(),
    };
    refusal.at = at.saturating_sub(start);
    let mut buffer = [0; 256];
    let path = file.path(&mut buffer).unwrap_or_default();
    // The path is below debugfs, or below the root of the mounted file system.
    let path = path.strip_prefix(b"/ferroprobe").unwrap_or(path);
    let path = path.strip_prefix(b"/").unwrap_or(path);
    let refusal = refusal.with_owner(format_args!("{}", Plain(path)));
    tracer.log_refusal(&refusal, line);
    error_of(&refusal)
}

/// Returns an explanation of a failed operation; `None` if its errno suffices.
fn words(error: Error) -> Option<Refusal> {
    if [ENOMEM, EINTR, ERESTARTSYS, EFAULT].contains(&error) {
        return None;
    }
    let kind = match error {
        error if error == ENODEV => Kind::FileGone,
        error if error == EPERM => Kind::FileLocked,
        _ => {
            let number = error.to_errno();
            let name = errno::name(number.into()).unwrap_or_default();
            let failed = Refusal::new(Kind::FileFailed, 0);
            let failed = failed.with_errno(Errno(number.wrapping_neg()));
            return Some(failed.with_detail(format_args!(
                "{name}, and the kernel's log (dmesg) may have the reason"
            )));
        }
    };
    Some(Refusal::new(kind, 0))
}

/// Returns the refusal of an operation that is impossible while a ring is mapped, for `EBUSY`.
pub(crate) fn while_mapped(error: Error) -> Rejected {
    if error == EBUSY {
        Refusal::new(Kind::FileMapped, 0).into()
    } else {
        error.into()
    }
}
