// SPDX-License-Identifier: GPL-2.0

//! `README`: the files and the language in short.
//!
//! Tools look for some of the lines here to learn what a tracer can do, so
//! they stand as the kernel's own file has them.

use super::text::Show;
use crate::tracer::Tracer;
use core::fmt;
use kernel::sync::Arc;

/// The file.
pub(crate) struct Readme;

impl Show for Readme {
    type Data = Tracer;

    fn show(_tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
        out.write_str(TEXT)
    }
}

const TEXT: &str = "\
ferroprobe: dynamic probes on kernel code

  # echo 'p:open do_sys_openat2 file=+0($arg2):string' > kprobe_events
  # echo 1 > events/kprobes/open/enable
  # cat trace_pipe

Files:
  trace			- the buffer as text; writing clears it
  trace_pipe		- the same, consumed as it is read; waits for events
  trace_json		- the same as JSON, one object a line
  trace_marker		- text that is written here goes to the buffer
  trace_marker_raw	- so do bytes; the first four are a number for them
  trace_clock		- the clocks, [the one in use]; another one clears the buffer
  clock_source		- what the clock local is taken from: counter or kernel
  trace_options		- the options, options/NAME one of them: 1 or 0
  tracing_on		- 1 or 0: record events or not
  tracing_cpumask	- the CPUs that record, in hexadecimal
  hit_limit		- hits a second on a CPU above which an event is disabled
  snapshot		- what was set aside: 1 sets the buffer aside, 0 frees that
  buffer_size_kb	- KiB of each CPU's buffer; another size keeps the events
			  that fit into it
  buffer_total_size_kb	- KiB of all
  buffer_subbuf_size_kb	- KiB of a sub-buffer; another size clears the buffer
  buffer_percent	- how full a buffer wakes who waits for trace_pipe_raw
  per_cpu/cpuN/		- trace, trace_pipe, trace_json, snapshot, buffer_size_kb of a
			  CPU; stats; trace_pipe_raw, snapshot_raw: in binary
  kprobe_events		- Create/append/remove/show the kernel dynamic events
  dynamic_events	- Create/append/remove/show the generic dynamic events
  private_events	- definitions that go when the file is closed
  kprobe_profile	- event, hits, misses of each probe
  kprobe_stats		- place, hits and how they ended, for each probe
  syscall_stats		- the same of the system calls' events, and 32-bit calls
  syscall_user_buf_size	- bytes of user memory that these record of an argument
  set_event		- the enabled events; write names to enable, !names to disable
  set_event_pid		- the tasks whose hits count, all if there is none
  set_event_notrace_pid	- the tasks whose hits do not count
  available_events	- all events
  available_tracepoints	- the tracepoints, with their arguments
  available_filter_functions - the functions that f events can probe
  enabled_functions	- the functions of the enabled f events
  instances/		- mkdir NAME: a directory with its own buffer, settings, and
			  files of the events; rmdir NAME removes it
  error_log		- why the last definitions were refused
  README		- this text
  placement		- write a symbol or address, read what can be probed there
  saved_cmdlines	- number and name of tasks, of saved_cmdlines_size at most
  saved_tgids		- thread and process, of those that ran with record-tgid
  current_tracer	- nop, as are all available_tracers
  printk_formats	- nothing
  events/enable		- arm or disarm all events
  events/header_page	- the layout of a sub-buffer, header_event: of an event in it
  events/syscalls/	- sys_enter_NAME, sys_exit_NAME of each system call
  events/calls/		- NAME: a whole call in one record, with result and duration
  events/ftrace/print/	- format, trigger, hist of the event of trace_marker,
  events/ftrace/raw_data/ - format of that of trace_marker_raw,
  events/ftrace/kernel_stack/, user_stack/ - of the stacks
  events/GROUP/enable	- those of a group
  events/GROUP/filter	- a filter for those that have its fields
  events/GROUP/EVENT/	- enable, filter, format, id of an event; trigger: what
			  else is done on a hit: TRIGGER[:COUNT] [if FILTER], !TRIGGER
			  with traceon, traceoff, snapshot, stacktrace,
			  enable_event:GROUP:EVENT, disable_event:GROUP:EVENT,
			  enable_hist:GROUP:EVENT, disable_hist:GROUP:EVENT; or hist:keys=FIELD[.MODIFIER],...
			  [:vals=FIELD,...][:sort=FIELD,...][:size=N][:pause|cont|clear]
			  hist, hist_graph: what it has counted

kprobe_events: opening it with `>` removes all events, `>>` adds; the lines of a
write are all accepted or none; # starts a comment.  A definition with the group and name of
another, and the same arguments, appends its probe to that event.
	Format: p[:[<group>/][<event>]] <place> [<args>]
	        r[maxactive][:[<group>/][<event>]] <place> [<args>]
	        f[:[<group>/][<event>]] <func-name>[%return] [<args>]
	        f[:[<group>/][<event>]] <patterns> [!<pattern>...] [<args>]
	        t[:[<group>/][<event>]] <tracepoint> [<args>]
	        -:[<group>/][<event>] [<place> [<args>]]
	place: [<module>:]<symbol>[+<offset>]|<memaddr>
	symbol: of several of one name <symbol>#2 is the second, <symbol>#* each
	place (kretprobe): [<module>:]<symbol>[+<offset>]%return|<memaddr>
	args: <name>=fetcharg[:type]
	fetcharg: %<register>, @<address>, @<symbol>[+|-<offset>],
	          $stack<index>, $stack, $retval, $duration, $nsecs, $comm, $tgid, $arg<N>, $arg*,
	          $current, <argname>[->field[->field|.field...]],
	          [(structname[,field])]<argname>[->field[->field|.field...]],
	          this_cpu_read(<fetcharg>), this_cpu_ptr(<fetcharg>),
	          +|-[u]<offset>(<fetcharg>), \\imm-value, \\\"imm-string\"
	kernel return probes support: $retval, $duration, $arg<N>, $comm
	type: s8/16/32/64, u8/16/32/64, x8/16/32/64, char, string, symbol,
	      be16/32/64, ip4, ip6, mac, errno,
	      symstr, %pd/%pD, ustring, b<bit-width>@<bit-offset>/<container-size>,
	      <type>\\[<array-size>\\], string[*], ustring[*]
";
