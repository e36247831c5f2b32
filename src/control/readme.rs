// SPDX-License-Identifier: GPL-2.0

//! `README`: the files and the language in short.
//!
//! Tools look for some of these lines to learn what a tracer can do, so they equal those of the
//! kernel's own file. The line of a file is in its row, see [`Described`], that of a trigger in
//! [`trigger::ROWS`].

use super::named::Described;
use crate::engine::language::trigger;
use crate::engine::util::text::Plain;
use core::fmt;

/// The column of the descriptions.
const COLUMN: usize = 24;

/// The text before the files.
pub(super) const BEGINNING: &str = "\
ferroprobe: dynamic probes on kernel code

  # echo 'p:open do_sys_openat2 file=+0($arg2):string' > kprobe_events
  # echo 1 > events/kprobes/open/enable
  # cat trace_pipe

The files are in debugfs, and can be mounted elsewhere, with a group that may use them:

  # mount -t ferroprobe [-o [gid=<gid>]] none /sys/kernel/ferroprobe

Files:
";

/// The text between files and triggers.
const GROUPS: &str = "  events/syscalls/\t- sys_enter_NAME, sys_exit_NAME of each system call
  events/calls/\t\t- NAME: a whole call in one record, with result and duration
  events/sched/, ...\t- the kernel's own events, made when they are first used

Triggers, written to events/GROUP/EVENT/trigger; [if FILTER] may follow, !TRIGGER removes it:
";

const LANGUAGE: &str = "
kprobe_events: opening it with `>` removes all events, `>>` adds; the lines of a
write are all accepted or none; # starts a comment.  A definition with the group and name of
another, and the same arguments, appends its probe to that event.
	Format: p[:[<group>/][<event>]] <place> [<args>]
	        r[maxactive][:[<group>/][<event>]] <place> [<args>]
	        f[:[<group>/][<event>]] <func-name>[%return] [<args>]
	        f[:[<group>/][<event>]] <patterns>[%return] [!<pattern>...] [<args>]
	        t[:[<group>/][<event>]] <tracepoint> [<args>]
	        e[:[<group>/][<event>]] <attached-group>.<attached-event> [<args>] [if <filter>]
	        b[pairs][:[<group>/][<event>]] <group>.<event>(<key>,...) <group>.<event>(<key>,...) [<args>] [if <filter>]
	        c[:[<group>/][<event>]] <period> [<args>]
	        w[:[<group>/][<event>]] [r|w|rw|x@]<addr>[:<len>] [<args>]
	        s:[synthetic/]<event> <type> <field>[; <type> <field>...]
	        -:[<group>/][<event>] [<place> [<args>]]
	place: [<module>:]<symbol>[+<offset>]|<memaddr>
	period: <number>hz|<number>us|<number>ms|<number>s
	addr: <memaddr>|[<module>:]<variable>[+|-<offset>]
	symbol: of several of one name <symbol>#2 is the second, <symbol>#* each
	place (uprobe): <path>:<offset>[%return][(ref_ctr_offset)]|<path>:<symbol>[+<offset>][%return]
	place (kretprobe): [<module>:]<symbol>[+<offset>]%return|<memaddr>
	args: <name>=fetcharg[:type]
	args (uprobe): the same of the program's registers and memory, and @+<offset> in the file;
	          no <argname>, $duration, $current and symbols
	fetcharg: %<register>, @<address>, @<symbol>[+|-<offset>],
	          $stack<index>, $stack, $retval, $duration, $nsecs, $comm, $tgid, $nspid, $nstgid,
	          $cgroup, $arg<N>, $arg*, $current, <argname>[->field[->field|.field...]],
	          [(structname[,field])]<argname>[->field[->field|.field...]],
	          (struct name *)<fetcharg>->field, <fetcharg>->field[<number>],
	          $arg<N>->field, @<per-cpu-variable>[<cpu>][.field],
	          this_cpu_read(<fetcharg>), this_cpu_ptr(<fetcharg>),
	          +|-[u]<offset>(<fetcharg>), \\imm-value, \\\"imm-string\"
	kernel return probes support: $retval, $duration, $arg<N>, $comm
	args (c): $user, $idle, too; args (w): $addr, $value, too
	args (e): <name>=$<field>[:type], of the attached event; filter is one of its fields, too
	args (b): the same of the second event, $begin.<field> of the first, $duration;
	          task, stack and flags are the second event's
	type: s8/16/32/64, u8/16/32/64, x8/16/32/64, char, string, symbol,
	      be16/32/64, ip4, ip6, mac, errno, enum, ns, size, struct, changes, path,
	      symstr, %pd/%pD, ustring, b<bit-width>@<bit-offset>/<container-size>,
	      <type>\\[<array-size>\\], string[*], ustring[*]
Synthetic events, which actions of triggers make:
	# echo 'wakeup pid_t pid; u64 lat; char comm[]; unsigned long[] stack' >> synthetic_events
	# echo '!wakeup' >> synthetic_events
";

/// Writes the line of `file`, which is in `path`.
pub(super) fn line(out: &mut dyn fmt::Write, path: &str, file: &Described) -> fmt::Result {
    let name = Plain(file.name.to_bytes());
    let end = if file.is_folder() { "/" } else { "" };
    let length = path.len().saturating_add(file.name.to_bytes().len());
    write!(out, "  {path}{name}{end}")?;
    help(out, length.saturating_add(end.len()), file.help)
}

/// Writes the text after the files.
pub(super) fn end(out: &mut dyn fmt::Write) -> fmt::Result {
    out.write_str(GROUPS)?;
    for row in trigger::ROWS {
        write!(out, "  {}{}", row.name, row.usage)?;
        let length = row.name.len().saturating_add(row.usage.len());
        help(out, length, row.help)?;
    }
    out.write_str(LANGUAGE)
}

/// Writes `help` behind a name of `length` characters, in the column of the descriptions. Further
/// lines are aligned with the first.
fn help(out: &mut dyn fmt::Write, length: usize, help: &str) -> fmt::Result {
    // Including the two blanks before the name.
    let mut at = length.saturating_add(2);
    if at >= COLUMN {
        out.write_str(" ")?;
    }
    while at < COLUMN {
        out.write_str("\t")?;
        at = (at / 8).saturating_add(1).saturating_mul(8);
    }
    let mut lines = help.split('\n');
    writeln!(out, "- {}", lines.next().unwrap_or_default())?;
    for more in lines {
        writeln!(out, "\t\t\t  {more}")?;
    }
    Ok(())
}
