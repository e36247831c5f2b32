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
  trace_marker		- text that is written here goes to the buffer
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
  per_cpu/cpuN/		- trace, trace_pipe, snapshot, buffer_size_kb of a CPU; stats;
			  trace_pipe_raw, snapshot_raw: in binary
  kprobe_events		- Create/append/remove/show the kernel dynamic events
  dynamic_events	- Create/append/remove/show the generic dynamic events
  kprobe_profile	- event, hits, misses of each probe
  kprobe_stats		- place, hits and how they ended, for each probe
  syscall_stats		- the same of the system calls' events, and 32-bit calls
  syscall_user_buf_size	- bytes of user memory that these record of an argument
  set_event		- the enabled events; write names to enable, !names to disable
  available_events	- all events
  available_tracepoints	- the tracepoints, with their arguments
  enabled_functions	- the functions of the enabled f events
  error_log		- why the last definitions were refused
  README		- this text
  placement		- write a symbol or address, read what can be probed there
  saved_cmdlines	- number and name of tasks, of saved_cmdlines_size at most
  current_tracer	- nop, as are all available_tracers
  printk_formats	- nothing
  events/enable		- arm or disarm all events
  events/header_page	- the layout of a sub-buffer, header_event: of an event in it
  events/syscalls/	- sys_enter_NAME, sys_exit_NAME of each system call
  events/calls/		- NAME: a whole call in one record, with result and duration
  events/ftrace/print/	- format of an event that the kernel alone records
  events/GROUP/enable	- those of a group
  events/GROUP/filter	- a filter for those that have its fields
  events/GROUP/EVENT/	- enable, filter, format, id of an event; trigger: none

kprobe_events: opening it with `>` removes all events, `>>` adds; the lines of a
write are all accepted or none; # starts a comment.  A definition with the group and name of
another, and the same arguments, appends its probe to that event.
	Format: p[:[<group>/][<event>]] <place> [<args>]
	        r[maxactive][:[<group>/][<event>]] <place> [<args>]
	        f[:[<group>/][<event>]] <func-name>[%return] [<args>]
	        t[:[<group>/][<event>]] <tracepoint> [<args>]
	        -:[<group>/][<event>] [<place> [<args>]]
	place: [<module>:]<symbol>[+<offset>]|<memaddr>
	place (kretprobe): [<module>:]<symbol>[+<offset>]%return|<memaddr>
	args: <name>=fetcharg[:type]
	fetcharg: %<register>, @<address>, @<symbol>[+|-<offset>],
	          $stack<index>, $stack, $retval, $comm, $arg<N>, $arg*, $current,
	          <argname>[->field[->field|.field...]],
	          [(structname[,field])]<argname>[->field[->field|.field...]],
	          this_cpu_read(<fetcharg>), this_cpu_ptr(<fetcharg>),
	          +|-[u]<offset>(<fetcharg>), \\imm-value, \\\"imm-string\"
	kernel return probes support: $retval, $arg<N>, $comm
	type: s8/16/32/64, u8/16/32/64, x8/16/32/64, char, string, symbol,
	      symstr, %pd/%pD, ustring, b<bit-width>@<bit-offset>/<container-size>,
	      <type>\\[<array-size>\\]
";
