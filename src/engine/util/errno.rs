// SPDX-License-Identifier: GPL-2.0

//! The names of error numbers, which are the same on both architectures.

/// The names by number; empty for unassigned numbers.
const NAMES: [&str; 134] = [
    "",
    "EPERM",
    "ENOENT",
    "ESRCH",
    "EINTR",
    "EIO",
    "ENXIO",
    "E2BIG",
    "ENOEXEC",
    "EBADF",
    "ECHILD",
    "EAGAIN",
    "ENOMEM",
    "EACCES",
    "EFAULT",
    "ENOTBLK",
    "EBUSY",
    "EEXIST",
    "EXDEV",
    "ENODEV",
    "ENOTDIR",
    "EISDIR",
    "EINVAL",
    "ENFILE",
    "EMFILE",
    "ENOTTY",
    "ETXTBSY",
    "EFBIG",
    "ENOSPC",
    "ESPIPE",
    "EROFS",
    "EMLINK",
    "EPIPE",
    "EDOM",
    "ERANGE",
    "EDEADLK",
    "ENAMETOOLONG",
    "ENOLCK",
    "ENOSYS",
    "ENOTEMPTY",
    "ELOOP",
    "",
    "ENOMSG",
    "EIDRM",
    "ECHRNG",
    "EL2NSYNC",
    "EL3HLT",
    "EL3RST",
    "ELNRNG",
    "EUNATCH",
    "ENOCSI",
    "EL2HLT",
    "EBADE",
    "EBADR",
    "EXFULL",
    "ENOANO",
    "EBADRQC",
    "EBADSLT",
    "",
    "EBFONT",
    "ENOSTR",
    "ENODATA",
    "ETIME",
    "ENOSR",
    "ENONET",
    "ENOPKG",
    "EREMOTE",
    "ENOLINK",
    "EADV",
    "ESRMNT",
    "ECOMM",
    "EPROTO",
    "EMULTIHOP",
    "EDOTDOT",
    "EBADMSG",
    "EOVERFLOW",
    "ENOTUNIQ",
    "EBADFD",
    "EREMCHG",
    "ELIBACC",
    "ELIBBAD",
    "ELIBSCN",
    "ELIBMAX",
    "ELIBEXEC",
    "EILSEQ",
    "ERESTART",
    "ESTRPIPE",
    "EUSERS",
    "ENOTSOCK",
    "EDESTADDRREQ",
    "EMSGSIZE",
    "EPROTOTYPE",
    "ENOPROTOOPT",
    "EPROTONOSUPPORT",
    "ESOCKTNOSUPPORT",
    "EOPNOTSUPP",
    "EPFNOSUPPORT",
    "EAFNOSUPPORT",
    "EADDRINUSE",
    "EADDRNOTAVAIL",
    "ENETDOWN",
    "ENETUNREACH",
    "ENETRESET",
    "ECONNABORTED",
    "ECONNRESET",
    "ENOBUFS",
    "EISCONN",
    "ENOTCONN",
    "ESHUTDOWN",
    "ETOOMANYREFS",
    "ETIMEDOUT",
    "ECONNREFUSED",
    "EHOSTDOWN",
    "EHOSTUNREACH",
    "EALREADY",
    "EINPROGRESS",
    "ESTALE",
    "EUCLEAN",
    "ENOTNAM",
    "ENAVAIL",
    "EISNAM",
    "EREMOTEIO",
    "EDQUOT",
    "ENOMEDIUM",
    "EMEDIUMTYPE",
    "ECANCELED",
    "ENOKEY",
    "EKEYEXPIRED",
    "EKEYREVOKED",
    "EKEYREJECTED",
    "EOWNERDEAD",
    "ENOTRECOVERABLE",
    "ERFKILL",
    "EHWPOISON",
];

/// The names from number [`INTERNAL`] on, which user space never sees.
const INTERNAL_NAMES: [&str; 5] = [
    "ERESTARTSYS",
    "ERESTARTNOINTR",
    "ERESTARTNOHAND",
    "ENOIOCTLCMD",
    "ERESTART_RESTARTBLOCK",
];

/// The first internal number.
const INTERNAL: u64 = 512;

/// The largest error number.
const MAX: u64 = 4095;

/// Returns the name of the error in a system call's result, empty if unknown; `None` if the result
/// is no error.
pub fn name(result: i64) -> Option<&'static str> {
    let number = match result {
        0.. => return None,
        ..0 => result.unsigned_abs(),
    };
    if number > MAX {
        return None;
    }
    let internal = number.checked_sub(INTERNAL);
    let found = match internal {
        None => usize::try_from(number).ok().and_then(|n| NAMES.get(n)),
        Some(n) => usize::try_from(n).ok().and_then(|n| INTERNAL_NAMES.get(n)),
    };
    Some(found.copied().unwrap_or_default())
}

/// Returns the number of the error called `name`.
pub fn number(name: &[u8]) -> Option<u64> {
    let of = |names: &[&str]| names.iter().position(|known| known.as_bytes() == name);
    let internal = |at: usize| INTERNAL.checked_add(u64::try_from(at).ok()?);
    if name.is_empty() {
        return None;
    }
    match of(&NAMES) {
        Some(at) => u64::try_from(at).ok(),
        None => of(&INTERNAL_NAMES).and_then(internal),
    }
}

#[cfg(test)]
mod tests {
    use super::{name, number};

    #[test]
    fn names_have_their_errors() {
        for known in [1, 2, 38, 133, 512, 516] {
            let text = name(-known).unwrap();
            assert_eq!(number(text.as_bytes()), u64::try_from(known).ok());
        }
        assert_eq!(number(b""), None);
        assert_eq!(number(b"ENOSUCH"), None);
    }

    #[test]
    fn errors_have_their_names() {
        let known = [
            (-1, "EPERM"),
            (-2, "ENOENT"),
            (-11, "EAGAIN"),
            (-38, "ENOSYS"),
            (-41, ""),
            (-110, "ETIMEDOUT"),
            (-133, "EHWPOISON"),
            (-134, ""),
            (-512, "ERESTARTSYS"),
            (-516, "ERESTART_RESTARTBLOCK"),
            (-517, ""),
            (-4095, ""),
        ];
        for (result, expected) in known {
            assert_eq!(name(result), Some(expected), "{result}");
        }
        for result in [0, 1, i64::MAX, -4096, i64::MIN] {
            assert_eq!(name(result), None);
        }
    }
}
