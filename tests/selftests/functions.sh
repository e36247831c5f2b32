# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154
#
# Functions for selftests.  Every test begins in the tracing directory, with no
# events, an empty buffer and tracing on.
#
# Note that "set -e" ignores a failing "! command": use expect_failure.

# The tracing directory, for tests that leave it.
# shellcheck disable=SC2034
fp=$FERROPROBE_DIR

# The name of the architecture, as in "requires: arch:".
case $(uname -m) in
aarch64) arch=arm64 ;;
*) arch=$(uname -m) ;;
esac

skip_status=4

# fail TEXT: end the test as failed.
fail() {
	set +x
	echo "$*"
	exit 1
}

# skip REASON: end the test as skipped.  The reason is the last line printed.
skip() {
	set +x
	echo "$*"
	exit "$skip_status"
}

# The groups of the ready-made events, for grep -E.
# shellcheck disable=SC2034
ready_groups='block|irq|kmem|net|raw_syscalls|sched|signal|timer|workqueue'

# has_symbol SYMBOL: whether the kernel has it.  Without -F, grep takes five times as long for that
# many lines.
has_symbol() { grep -F " $1" /proc/kallsyms | grep -q " $1\$"; }

# address_of SYMBOL: its first address, in hexadecimal digits.
address_of() {
	grep -F " $1" /proc/kallsyms | awk -v name="$1" '$3 == name { print $1; exit }'
}

# has_functions: whether the kernel has what f events need.  has_tracepoints: the same of t.
has_functions() { has_symbol register_ftrace_function; }
has_tracepoints() { has_symbol __probestub_sched_switch; }

# expect_failure COMMAND...: fail the test if the command succeeds.
expect_failure() {
	if "$@"; then
		fail "succeeded, but should not: $*"
	fi
}

# expect_equal ACTUAL EXPECTED WHAT: that neither of them is there is no equality: use
# expect_nothing for what should be empty.
expect_equal() {
	[ -n "$1$2" ] || fail "$3: both are empty"
	[ "$1" = "$2" ] || fail "$3 is '$1', not '$2'"
}

# expect_line PATTERN FILE: fail unless some line matches the extended regular
# expression.
expect_line() {
	grep -qE -e "$1" "$2" || {
		head -n 30 "$2"
		fail "no line of $2 matches: $1"
	}
}

# expect_no_line PATTERN FILE: fail if a line matches, or there is no such file; - is the
# standard input.
expect_no_line() {
	[ "$2" = - ] || [ -e "$2" ] || fail "no file $2"
	if grep -E -e "$1" "$2"; then
		fail "a line of $2 matches: $1"
	fi
}

# expect_nothing WHAT: fail if there is a line on standard input.
expect_nothing() {
	if grep .; then
		fail "$1"
	fi
}

# insmod MODULE [PARAMETER]...: ours with the parameters that fit this kernel, unless they are
# given: a parameter can be set once.
insmod() {
	case "$*" in
	*/ferroprobe.ko*syscall_events=*) command insmod "$@" ;;
	*/ferroprobe.ko*)
		# shellcheck disable=SC2046 # a word is a parameter
		command insmod "$@" $(cat /parameters 2>/dev/null)
		;;
	*) command insmod "$@" ;;
	esac
}

# rmmod MODULE...: not ours while the tests run in a mount, which holds it.
rmmod() {
	case "${FERROPROBE_MOUNT:+$*}" in
	ferroprobe) skip "it unloads the module, in a mount of which it runs" ;;
	*) command rmmod "$@" ;;
	esac
}

# needs_syscalls: see that there are the events of system calls, or skip the test.
needs_syscalls() {
	[ ! -e "$fp/events/syscalls" ] || return 0
	cd /
	rmmod ferroprobe
	insmod /modules/ferroprobe.ko syscall_events=1
	cd "$fp" || fail "the module has no directory"
	[ -e events/syscalls ] || skip "the kernel does not describe its system calls"
}

# no_more_syscalls: where they cost much, leave them out for the tests that follow.
no_more_syscalls() {
	[ -e /parameters ] || return 0
	cd /
	rmmod ferroprobe
	insmod /modules/ferroprobe.ko
	cd "$fp" || fail "the module has no directory"
}

# others 0|1: take the processors but the first away, or bring them back, for a test that lets
# the kernel patch much text.  QEMU may execute code as it was before another processor has
# patched it: seen once in some hundred runs, a breakpoint that was gone when the kernel looked
# for its cause.
others() {
	for cpu in /sys/devices/system/cpu/cpu[1-9]*; do
		[ ! -e "$cpu/online" ] || echo "$1" >"$cpu/online"
	done
}

# define LINE...: append definitions.
define() {
	for line; do
		echo "$line" >>kprobe_events
	done
}

# enable [GROUP/]EVENT, disable [GROUP/]EVENT: the group is kprobes by default.
enable() { echo 1 >"$(event_dir "$1")/enable"; }
disable() { echo 0 >"$(event_dir "$1")/enable"; }

event_dir() {
	case $1 in
	*/*) echo "events/$1" ;;
	*) echo "events/kprobes/$1" ;;
	esac
}

# hits EVENT, misses EVENT: print the column of kprobe_profile; nothing if not listed.
hits() { awk -v event="$1" '$1 == event { print $2 }' kprobe_profile; }
misses() { awk -v event="$1" '$1 == event { print $3 }' kprobe_profile; }

# records EVENT: print the trace's lines of one event.  count_records counts.
records() { grep -F " $1: " trace || :; }
count_records() { records "$1" | wc -l; }

# task_exits: a task is made, by kernel_clone(), and ends, by do_exit().
task_exits() { (exit 0); }

# arg_register N: print the register that holds a function's N-th argument (from 1).
arg_register() {
	case $arch in
	x86_64) echo di si dx cx r8 r9 ;;
	arm64) echo x0 x1 x2 x3 x4 x5 x6 x7 ;;
	esac | cut -d ' ' -f "$1"
}

# inside FUNCTION: print the offset of an instruction near the function's entry that
# is longer than a byte and can be probed, and the offset of the next one.  The
# kernel's own events have no map: for these, print offsets in stock kernels.
inside() {
	if [ ! -e placement ]; then
		case $arch in
		x86_64) echo 9 11 ;;
		arm64) echo 8 12 ;;
		esac
		return
	fi
	echo "$1" >placement
	while read -r inside_at inside_length _ inside_verdict; do
		# What ftrace patches ends there at the latest.
		if [ "$inside_at" != '#' ] && [ $((inside_at)) -gt 7 ] && [ "$inside_length" -gt 1 ] &&
			[ "$inside_verdict" = probeable ]; then
			echo $((inside_at)) $((inside_at + inside_length))
			return
		fi
	done <placement
	fail "no instruction of $1 for a probe" >&2
}

# A system call that only "fptool call A B C" makes, the function that serves it, and
# the fetch argument for its N-th argument (from 1) at the entry of that function.
case $arch in
x86_64) call=__x64_sys_setpriority ;;
arm64) call=__arm64_sys_setpriority ;;
esac

# shellcheck disable=SC2016 # the language has a $ of its own
call_arg() {
	case $arch:$1 in
	x86_64:1) echo '+112($arg1)' ;;
	x86_64:2) echo '+104($arg1)' ;;
	x86_64:3) echo '+96($arg1)' ;;
	arm64:1) echo '+0($arg1)' ;;
	arm64:2) echo '+8($arg1)' ;;
	arm64:3) echo '+16($arg1)' ;;
	esac
}

# argv_of_execve: print the location of a probe of execve, and the argument argv.
argv_of_execve() {
	case $arch in
	x86_64) echo '__x64_sys_execve argv=+0(+104(%di)):ustring[*]' ;;
	*) echo '__arm64_sys_execve argv=+0(+8(%x0)):ustring[*]' ;;
	esac
}

# printed EVENT DEFINITION COMMAND...: print the records of an event of group kprobes
# while the command runs, from the event's name on.  Removes the event afterwards.
# values: the same, from behind the location on.
printed() { record_of '' "$@"; }
values() { record_of '([^)]*) ' "$@"; }

record_of() {
	record_cut=$1
	record_event=$2
	echo "$3" >>kprobe_events
	shift 3
	echo >trace
	echo 1 >"events/kprobes/$record_event/enable"
	"$@"
	echo 0 >"events/kprobes/$record_event/enable"
	case $record_cut in
	'') sed -n "s/^.*[0-9]: \($record_event: \)/\1/p" trace ;;
	*) sed -n "s/^.*[0-9]: $record_event: $record_cut//p" trace ;;
	esac
	echo "-:kprobes/$record_event" >>kprobe_events
}

# last_error: print the newest entry of error_log as three lines: its text, the
# command, and the caret's column in the command, counted from 0.
last_error() { awk -f "$tests/last_error.awk" error_log; }

# expect_error DEFINITION TEXT [FILE]: fail unless the definition is refused with
# that message (a shell pattern), which ": " and details may follow.  A ^ in the
# definition marks the column of the caret, and is not part of the definition.
expect_error() {
	before=${1%%^*}
	after=${1#"$before"}
	definition=$before${after#^}
	: >error_log
	if echo "$definition" >>"${3:-kprobe_events}"; then
		fail "accepted, but should not be: $definition"
	fi
	last_error >"$scratch/error"
	text=$(sed -n 1p "$scratch/error")
	caret=$(sed -n 3p "$scratch/error")
	# shellcheck disable=SC2254 # it is a pattern
	case $text in
	$2 | $2:*) ;;
	*) fail "refused with '$text', not with '$2': $definition" ;;
	esac
	if [ "$before" != "$1" ]; then
		expect_equal "$caret" "${#before}" "the caret's column for '$1'"
	fi
}

# expect_refused ERRNO TEXT DEFINITION [FILE]: as expect_error, and the write must fail with
# that errno and leave the definitions as they are.  The definition may have line
# feeds; the caret is then in the refused line.
expect_refused() {
	before=${3%%^*}
	after=${3#"$before"}
	definition=$before${after#^}
	line=${before##*"$newline"}
	: >error_log
	cat "${4:-kprobe_events}" >"$scratch/before"
	status=0
	fptool write "$fp/${4:-kprobe_events}" "$definition" || status=$?
	[ "$status" -ne 0 ] || fail "accepted, but should not be: $definition"
	expect_equal "$status" "$1" "the errno of '$definition'"
	last_error >"$scratch/error"
	{
		read -r text || :
		read -r _ || :
		read -r caret || :
	} <"$scratch/error"
	# shellcheck disable=SC2254 # it is a pattern
	case $text in
	$2 | $2': '*) ;;
	*) fail "refused with '$text', not with '$2': $definition" ;;
	esac
	if [ "$before" != "$3" ]; then
		expect_equal "$caret" "${#line}" "the caret's column for '$3'"
	fi
	cmp "$scratch/before" "${4:-kprobe_events}" || fail "changed what is defined: $definition"
}

newline='
'

# fewer N LEAST: print N, reduced on slow kernels, and to a third with BRIEF, but at least LEAST.
fewer() {
	fewer_times=$(($1 / ${PATIENCE:-1} / (${BRIEF:+2} + 1)))
	if [ "$fewer_times" -gt "$2" ]; then echo "$fewer_times"; else echo "$2"; fi
}

# reset_clock: select the first clock again.
reset_clock() {
	[ -e trace_clock ] || return 0
	chosen_clock=$(sed 's/.*\[\(.*\)\].*/\1/' trace_clock)
	[ -e /tmp/first-clock ] || echo "$chosen_clock" >/tmp/first-clock
	[ "$chosen_clock" = "$(cat /tmp/first-clock)" ] || cat /tmp/first-clock >trace_clock
}

# remove_triggers: of all events.  There are thousands of events of system calls, whose files
# need not be made for this.
remove_triggers() {
	for group in events/*/; do
		case $group in
		events/syscalls/ | events/calls/) continue ;;
		esac
		grep -Hv '^#' "$group"*/trigger 2>/dev/null
	done | sed 's/ \[[a-z]*\]$//' | while IFS=: read -r file trigger; do
		echo "!$trigger" >>"$file"
	done
}

# reset_options: set the options that were changed as they were before the first test.
reset_options() {
	[ -e trace_options ] || return 0
	[ -e /tmp/first-options ] || cat trace_options >/tmp/first-options
	cmp -s trace_options /tmp/first-options && return
	while read -r option; do
		grep -qxF "$option" trace_options || echo "$option" >trace_options || return 1
	done </tmp/first-options
}

# reset_values: write what else can be set as it was before the first test.
reset_values() {
	for value in buffer_size_kb buffer_percent saved_cmdlines_size call_string_size tracing_cpumask; do
		[ -e "$value" ] || continue
		# The kernel's own tracer says "7 (expanded: 1408)"; if sizes differ between CPUs, "X".
		now=$(sed 's/.*expanded: \([0-9]*\).*/\1/' "$value")
		[ -e "/tmp/first-$value" ] || echo "$now" >"/tmp/first-$value"
		[ "$now" = "$(cat "/tmp/first-$value")" ] || cat "/tmp/first-$value" >"$value" || return 1
	done
}

# reset_state: put the tracing directory in the state in which every test begins.
# Fails if that is impossible.  (A redirection that fails ends the shell on ":", but
# not on "true".)
reset_state() {
	# What a test has mounted.
	if [ -z "${FERROPROBE_MOUNT:-}" ]; then
		while umount /sys/kernel/ferroprobe 2>/dev/null; do :; done
	fi
	# It is another directory once the module was loaded again.
	cd "$fp" || return 1
	for instance in instances/*/; do
		[ ! -e "$instance" ] || rmdir "$instance" || return 1
	done
	remove_triggers
	if [ -e events/enable ]; then
		echo 0 >events/enable || return 1
	fi
	[ ! -e dynamic_events ] || true >dynamic_events || return 1
	true >kprobe_events || return 1
	if grep . kprobe_events >&2; then
		return 1
	fi
	if [ -e set_event_pid ]; then
		echo >set_event_pid || return 1
		echo >set_event_notrace_pid || return 1
	fi
	reset_options || return 1
	reset_values || return 1
	unwinder=/sys/module/ferroprobe/parameters/unwinder
	[ ! -e "$unwinder" ] || echo own >"$unwinder" || return 1
	# A test may hit as often as its machine can.
	[ ! -e hit_limit ] || echo 0 >hit_limit || return 1
	[ ! -e tracing_on ] || echo 1 >tracing_on || return 1
	reset_clock || return 1
	[ ! -e snapshot ] || echo 0 >snapshot || return 1
	[ ! -e trace ] || true >trace || return 1
	[ ! -e error_log ] || true >error_log
}

# failing_allocations: let fpfail fail any allocation that the module makes, itself
# or by a function it calls, including those that may wait and those of single pages;
# but not those of kmemleak, which can do without.  The kernel does not log each
# failure.
failing_allocations() {
	module_at=$(awk '$1 == "ferroprobe" { print $NF == "(O)" ? $(NF - 1) : $NF }' /proc/modules)
	for kind in failslab fail_page_alloc; do
		(
			cd "/sys/kernel/debug/$kind" || exit
			echo N >ignore-gfp-wait
			echo 0 >verbose
			# All, of a task that asks for it.
			echo Y >task-filter
			echo -1 >./times
			echo 100 >probability
			# Wherever it is loaded the next time.
			printf '0x%x' $((module_at - (16 << 20))) >require-start
			printf '0x%x' $((module_at + (16 << 20))) >require-end
		)
	done
	echo N >/sys/kernel/debug/fail_page_alloc/ignore-gfp-highmem
	echo 0 >/sys/kernel/debug/fail_page_alloc/min-order
	spare __alloc_object
}

# spare FUNCTION: do not fail the allocations of that function of the kernel.
spare() {
	sort /proc/kallsyms | awk -v name="$1" '
		from && $1 != from { print "0x" from, "0x" $1; exit }
		$3 == name { from = $1 }' >"$scratch/spared"
	read -r spared_from spared_to <"$scratch/spared" || return 0
	for kind in failslab fail_page_alloc; do
		echo "$spared_from" >/sys/kernel/debug/$kind/reject-start
		echo "$spared_to" >/sys/kernel/debug/$kind/reject-end
	done
}

# walk WHAT OPERATION... [-- UNDO...]: run fpfail on the operation and the files that
# state_files names, and note its result.  One of this many allocations fails:
every=${FAULTS:-1}
# With FAULTS=1 before the command, all of them; otherwise ever fewer, where that takes long.
fault_seconds=10
[ "${FAULTS:-}" != 1 ] || fault_seconds=0
walk() {
	walked=$1
	shift
	set +x
	# shellcheck disable=SC2046 # a word is a file
	fpfail "$every" $fault_seconds $(state_files) -- "$@" >"$scratch/walk" || {
		tail -n 60 "$scratch/walk"
		[ ! -e error_log ] || tail -n 4 error_log
		fail "$walked"
	}
	echo "note: $walked: $(cat "$scratch/walk")"
}

# deepest DEFINITION: define an event deep/in with a number a and a text c, and let its hits cause
# the deepest ones that definitions allow: of a synthetic event with a text and many fields, in a
# circle, and of event probes on each other, with texts and a symbol.
# shellcheck disable=SC2016 # the language has a $ of its own
deepest() {
	echo "$1" >>kprobe_events
	echo 'round char k[16]; u64 a; u64 b; u64 c; u64 d; u64 e; u64 f; u64 g; u64 h; u64 i' >>synthetic_events
	for line in 'e:deep/one synthetic.round w=$k:string x=$k:string y=$k:string z=$k:string n=$a' \
		'e:deep/two deep.one w=$w:string x=$x:string y=$y:string z=$z:string n=$n' \
		'e:deep/three deep.two w=$w:string x=$x:string y=$y:string z=$z:string n=$n:symbol'; do
		echo "$line" >>dynamic_events
	done
	deepest_many=va=a,vb=a,vc=a,vd=a,ve=a,vf=a,vg=a,vh=a,vi=a
	deepest_emits='.round($k,$va,$vb,$vc,$vd,$ve,$vf,$vg,$vh,$vi)'
	echo "hist:keys=c:k=c,$deepest_many:onchange(\$va)$deepest_emits" >events/deep/in/trigger
	echo "hist:keys=k,b,c:k=k,$deepest_many:onmatch(synthetic.round)$deepest_emits" \
		>events/synthetic/round/trigger
	echo 1 >events/deep/enable
	echo 1 >events/synthetic/round/enable
}
