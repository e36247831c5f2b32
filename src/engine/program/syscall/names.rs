// SPDX-License-Identifier: GPL-2.0

//! The functions of system calls, by their names in current and older kernels.

/// Prefixes of functions whose argument is a `struct pt_regs`, which has the call's arguments.
const OF_REGISTERS: [&[u8]; 2] = [b"__x64_sys_", b"__arm64_sys_"];

/// Prefixes of other functions that serve a system call, or did in older kernels.
const OF_ARGUMENTS: [&[u8]; 7] = [
    b"__do_sys_",
    b"__se_sys_",
    b"do_sys_",
    b"ksys_",
    b"compat_sys_",
    b"sys_",
    b"SyS_",
];

/// Returns the system call that `function` serves, if it takes a `struct pt_regs`.
pub fn served_by(function: &[u8]) -> Option<&[u8]> {
    without(&OF_REGISTERS, function)
}

/// Returns the system call that `function` may mean, with or without a prefix.
pub fn called(function: &[u8]) -> &[u8] {
    served_by(function)
        .or_else(|| without(&OF_ARGUMENTS, function))
        .unwrap_or(function)
}

fn without<'a>(prefixes: &[&[u8]], function: &'a [u8]) -> Option<&'a [u8]> {
    let mut prefixes = prefixes.iter();
    prefixes.find_map(|prefix| function.strip_prefix(*prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_known_by_its_functions() {
        for function in [
            "open",
            "sys_open",
            "__x64_sys_open",
            "SyS_open",
            "ksys_open",
        ] {
            assert_eq!(called(function.as_bytes()), b"open", "{function}");
        }
        assert_eq!(served_by(b"__arm64_sys_open"), Some(&b"open"[..]));
        assert_eq!(served_by(b"do_sys_open"), None);
    }
}
