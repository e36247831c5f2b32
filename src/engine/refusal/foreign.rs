// SPDX-License-Identifier: GPL-2.0

//! Words of bpftrace, perf probe and C, and what stands for them here.
//!
//! Each function takes a word that is already refused, and returns what is meant, for "did you
//! mean ...?", or `None` if it knows no such word.

/// What stands for one or several words, which are separated by blanks.
type Row = (&'static str, &'static str);

/// The variables of bpftrace, and names that lack a `$`.
const VARIABLES: &[Row] = &[
    ("arg0", "$arg1, the first argument"),
    ("retval ret", "$retval"),
    ("comm", "$comm"),
    ("pid tgid", "$tgid, the process"),
    ("tid", "common_pid, which each record has"),
    ("cpu", "common_cpu, which each record has"),
    ("nsecs elapsed", "$nsecs"),
    ("cgroup", "$cgroup"),
    ("current curtask", "$current"),
    (
        "kstack ustack stacktrace backtrace",
        "the trigger stacktrace, or the option stacktrace",
    ),
    ("duration latency took", "$duration"),
    ("caller parent", "$stack0:symbol where a function begins"),
    ("func probe", "symbol names, which each record has"),
];

/// Types of C and bpftrace, and conversions of printf().
const TYPES: &[Row] = &[
    ("str s %s cstr text kstr char*", "string"),
    ("ustr", "ustring"),
    ("int i32 int32_t int32 pid_t signed %i", "s32"),
    ("unsigned uint uint32_t uint32 gfp_t uid_t umode_t", "u32"),
    (
        "long i64 int64_t int64 ssize_t loff_t %d %ld %lld dec decimal",
        "s64",
    ),
    ("ulong uint64_t uint64 size_t sector_t %u %lu %llu", "u64"),
    ("short i16 int16_t int16", "s16"),
    ("ushort uint16_t uint16", "u16"),
    ("i8 int8_t int8", "s8"),
    ("bool byte uint8_t uint8", "u8"),
    ("hex %x %lx %llx %p ptr pointer addr address", "x64"),
    ("%c", "char"),
    ("o %o oct octal", "x32: nothing is shown in octal digits"),
    ("sym ksym func %ps %pS", "symbol"),
    ("err error ret", "errno"),
    ("ip ipv4 inet %pI4", "ip4"),
    ("ipv6 inet6 %pI6", "ip6"),
    ("macaddr %pM", "mac"),
];

/// The fields of other tracers that each record has under another name.
const FIELDS: &[Row] = &[
    ("pid tid PID TID", "common_pid"),
    ("tgid TGID process", "common_tgid"),
    (
        "duration elapsed latency took",
        "$duration in the definition of a return, or of a pair",
    ),
    ("nsecs", "$nsecs in the definition"),
    (
        "retval ret",
        "the argument $retval of a return, which ret=$retval names so",
    ),
    ("COMM execname task", "common_comm"),
    ("CPU cpuid", "common_cpu"),
    ("kstack stack stacktrace", "common_stacktrace"),
];

/// What is written as a trigger.
const TRIGGERS: &[Row] = &[
    (
        "stack kstack ustack bt backtrace dump_stack print_stack",
        "stacktrace",
    ),
    ("on start", "traceon"),
    ("off stop exit", "traceoff"),
    ("enable", "enable_event:GROUP:EVENT"),
    ("disable", "disable_event:GROUP:EVENT"),
    (
        "count sum",
        "hist:keys=common_comm, which counts by a field",
    ),
];

/// Returns what stands for the variable `name`, without a `$`.
#[cold]
#[inline(never)]
pub fn variable(name: &[u8]) -> Option<&'static str> {
    match name {
        [b'a', b'r', b'g', b'1'..=b'9'] => Some("$argN, of which $arg1 is the first"),
        _ => find(VARIABLES, name),
    }
}

/// Returns the type that stands for `name`.
#[cold]
pub fn type_name(name: &[u8]) -> Option<&'static str> {
    find(TYPES, name)
}

/// Returns the field that stands for `name`.
#[cold]
pub fn field(name: &[u8]) -> Option<&'static str> {
    find(FIELDS, name)
}

/// What follows a value, for functions of bpftrace and C.
const CALLS: &[Row] = &[
    (
        "container_of",
        "(STRUCT,FIELD)VALUE->MEMBER, for container_of(VALUE, struct STRUCT, FIELD)->MEMBER",
    ),
    ("str kstr", "VALUE:string"),
    ("ustr", "VALUE:ustring"),
    ("buf", "+0(VALUE):u8[16]"),
    ("ntop", "VALUE:ip4"),
    ("ksym kaddr sym", "VALUE:symbol"),
    ("macaddr", "VALUE:mac"),
    ("strerror", "VALUE:errno"),
    ("ntohs", "VALUE:be16"),
    ("ntohl", "VALUE:be32"),
    ("inet_sk", "((struct inet_sock *)VALUE)->MEMBER"),
    ("tcp_sk", "((struct tcp_sock *)VALUE)->MEMBER"),
    (
        "kstack ustack stack",
        "the trigger stacktrace, or the option stacktrace",
    ),
    (
        "__builtin_return_address",
        "$stack0:symbol where a function begins",
    ),
    ("path dpath", "VALUE:path"),
    (
        "kptr uptr",
        "VALUE, and +u0(VALUE) for what is in user memory",
    ),
];

/// Returns the trigger that stands for `name`.
#[cold]
pub fn trigger(name: &[u8]) -> Option<&'static str> {
    find(TRIGGERS, name)
}

/// Returns what stands for a call of the function `name`.
#[cold]
pub fn call(name: &[u8]) -> Option<&'static str> {
    find(CALLS, name)
}

#[inline(never)]
fn find(rows: &[Row], name: &[u8]) -> Option<&'static str> {
    let is_it = |(words, _): &&Row| words.split(' ').any(|word| word.as_bytes() == name);
    rows.iter().find(is_it).map(|&(_, meant)| meant)
}

/// Returns whether `place` names a line or a file of the source, as perf probe and debuggers take
/// them: `FUNCTION:LINE`, `FILE:LINE`, `FUNCTION@FILE`.
#[cold]
#[inline(never)]
pub fn is_source(place: &[u8]) -> bool {
    let mut parts = place.splitn(2, |&byte| byte == b':');
    let (name, line) = (parts.next().unwrap_or_default(), parts.next());
    let is_line = line.is_some_and(|line| !line.is_empty() && line.iter().all(u8::is_ascii_digit));
    let endings: [&[u8]; 4] = [b".c", b".h", b".S", b".rs"];
    let is_file = endings.iter().any(|ending| name.ends_with(ending));
    let is_path = name.contains(&b'/') && !is_file;
    is_line && !name.is_empty() && !is_path || is_file || name.contains(&b'@')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_whole() {
        assert_eq!(type_name(b"int"), Some("s32"));
        assert_eq!(type_name(b"%lx"), Some("x64"));
        assert_eq!(type_name(b"in"), None);
        assert_eq!(type_name(b"int i32"), None);
        assert_eq!(
            variable(b"arg3"),
            Some("$argN, of which $arg1 is the first")
        );
        assert_eq!(variable(b""), None);
        assert_eq!(field(b"pid"), Some("common_pid"));
        assert_eq!(trigger(b"stack"), Some("stacktrace"));
    }

    #[test]
    fn no_word_stands_twice_in_a_table() {
        for rows in [VARIABLES, TYPES, FIELDS, TRIGGERS, CALLS] {
            let words: Vec<_> = rows
                .iter()
                .flat_map(|(words, _)| words.split(' '))
                .collect();
            for (n, word) in words.iter().enumerate() {
                assert!(!words[..n].contains(word) && !word.is_empty(), "{word}");
            }
        }
    }

    #[test]
    fn lines_of_the_source_are_known() {
        for place in [
            "vfs_read:11",
            "fs/read_write.c:560",
            "fs/read_write.c",
            "vfs_read@fs/read_write.c",
            "vfs_read@fs/read_write.c:20",
            "read_write.c:5",
        ] {
            assert!(is_source(place.as_bytes()), "{place}");
        }
        for place in [
            "/bin/sh:0x10",
            "/bin/sh:10",
            "mod:5x",
            "mod:",
            ":5",
            "vfs_read",
            "a:b",
        ] {
            assert!(!is_source(place.as_bytes()), "{place}");
        }
    }
}
