# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2016,SC2154
#
# The workers of run.  Each draws its operations from the numbers on its standard
# input, four a line, works in the tracing directory, ends soon after there is
# $scratch/stop, and leaves what it counted in $scratch/counts.

now() { cut -d . -f 1 /proc/uptime; }

# numbers SEED: lines of four numbers below 2^16, without end.
numbers() {
	awk -v seed="$1" 'BEGIN {
		srand(seed)
		while (1)
			print int(rand() * 65536), int(rand() * 65536), int(rand() * 65536), int(rand() * 65536)
	}' 2>/dev/null
}

# nth N WORD...: one of the words.
nth() {
	nth_at=$(($1 % ($# - 1) + 2))
	eval "echo \"\${$nth_at}\""
}

# tally NAME NUMBER
tally() { echo "$2" >"$scratch/counts/$1.$group"; }

# work WORKER GROUP: until the round ends.
work() {
	group=$2
	begin_"$1"
	while [ ! -e "$scratch/stop" ] && read -r a b c d; do
		do_"$1"
	done
	end_"$1"
}

# Hot functions; those that a handler, a reader or a definition needs; and those that
# cannot be probed.
place() {
	nth "$1" vfs_read vfs_write do_sys_openat2 kernel_clone do_exit "$call" "$call+4" \
		_raw_spin_lock _raw_spin_unlock_irqrestore __rcu_read_lock __rcu_read_unlock \
		__schedule try_to_wake_up update_curr update_process_times hrtimer_interrupt \
		ktime_get ktime_get_mono_fast_ns sched_clock irq_work_queue irq_work_run \
		vprintk_store vprintk_emit _printk copy_from_kernel_nofault \
		strncpy_from_user_nofault copy_to_user_nofault kfree __kmalloc_noprof vmap_range_noflush \
		mutex_lock mutex_unlock __wake_up synchronize_rcu sprint_symbol kallsyms_lookup \
		debugfs_file_get full_proxy_read default_llseek register_kprobe \
		enable_kprobe disable_kprobe unregister_kprobes kprobe_ftrace_handler \
		text_poke_queue stop_machine cpu_down smp_call_function_many_cond \
		fpsample:fpsample_double fpsample:set_value+8 nowhere:symbol no_such_function \
		vfs_read+1 kernel_clone+7 do_exit+99999 asm_exc_nmi preempt_count_add
}

arguments() {
	nth "$1" '' 'a=$arg1' 'a=$arg1:symbol b=$comm' 's=+0($arg2):string' 'u=+0($arg2):ustring' \
		'a=+0($arg1):u8 b=+8($arg1):u64 c=-8($stack)' 'a=$stack0 b=$stack3:x32' \
		'a=+0(0xffffdead0000):u64 s=+0(+0(0xffffdead0000)):string' 'v=@jiffies' \
		'm=+0($arg1):x32[16]' 'a=$arg99' 'broken='
}

begin_define() { accepted=0 rejected=0; }
do_define() {
	name=$group/e$((b % 6))
	case $((a % 12)) in
	0 | 1 | 2) line="p:$name $(place "$c") $(arguments "$d")" ;;
	3) line="r:$name $(place "$c") a=\$retval" ;;
	4) line="r$((d % 9)):$name $(place "$c")%return s=\$comm" ;;
	5) line="-:$name" ;;
	6 | 7)
		echo 1 >"events/$name/enable"
		return
		;;
	8)
		echo 0 >"events/$name/enable"
		return
		;;
	9)
		nth "$c" 'common_pid > 1' 'CPU == 1' 'COMM ~ "f*"' 'a == 3 && CPU & CPUS{0-2}' 0 'x ==' >"events/$name/filter"
		return
		;;
	10)
		echo $((c % 2)) >"events/$group/enable"
		return
		;;
	11)
		echo 0 >"events/$group/enable"
		line=$(printf '%s\n' "-:$group/e0" "-:$group/e1" "p:$group/e0 vfs_read" "p:$group/e1 vfs_write")
		;;
	esac 2>/dev/null
	if echo "$line" >>kprobe_events; then
		accepted=$((accepted + 1))
	else
		rejected=$((rejected + 1))
	fi 2>/dev/null
}
end_define() {
	echo 0 >"events/$group/enable"
	tally accepted "$accepted"
	tally rejected "$rejected"
}

begin_buffer() { :; }
do_buffer() {
	case $((a % 18)) in
	0) true >trace ;;
	1) echo $((1 + b % 2048)) >buffer_size_kb ;;
	2) echo $((1 + b % 512)) >per_cpu/cpu$((c % 4))/buffer_size_kb ;;
	3) echo $((1 << (b % 8))) >buffer_subbuf_size_kb ;;
	4) nth "$b" local global counter uptime perf mono mono_raw boot tai >trace_clock ;;
	5) nth "$b" overwrite nooverwrite pause-on-trace nopause-on-trace markers nomarkers \
		sym-addr nosym-addr annotate noannotate >trace_options ;;
	6) nth "$b" f f f 1 3 c 0 >tracing_cpumask ;;
	7) echo $((b % 2)) >tracing_on ;;
	8) echo $((b % 101)) >buffer_percent ;;
	9) true >per_cpu/cpu$((c % 4))/trace ;;
	10) nth "$b" 0 100000000 1000000000 >hit_limit ;;
	11) head -c $((b % 9000)) /dev/zero | tr '\0' x >trace_marker ;;
	12) true >error_log ;;
	13) place "$b" >placement ;;
	14) echo 99999999999 >buffer_size_kb ;;
	15) echo $((b % 3)) >snapshot ;;
	16) echo $((b % 3)) >per_cpu/cpu$((c % 4))/snapshot ;;
	*) usleep $((b * 4)) ;;
	esac 2>/dev/null
}
end_buffer() { :; }

begin_read() { reads=0; }
do_read() {
	for file in trace kprobe_events kprobe_profile kprobe_stats set_event error_log placement \
		saved_cmdlines available_events trace_options per_cpu/cpu$((b % 4))/stats \
		per_cpu/cpu$((b % 4))/trace snapshot per_cpu/cpu$((b % 4))/snapshot hit_limit; do
		[ $((c % 5)) -ne 0 ] || head -c $((d % 10000)) "$file"
		c=$((c + 1))
		reads=$((reads + 1))
	done >/dev/null 2>&1
	for file in trace_pipe trace_json per_cpu/cpu$((d % 4))/trace_pipe \
		per_cpu/cpu$((d % 4))/trace_json per_cpu/cpu$((d % 4))/trace_pipe_raw \
		per_cpu/cpu$((d % 4))/snapshot_raw; do
		fptool nonblock "$file" >/dev/null 2>&1
		reads=$((reads + 1))
	done
	cat events/[!sc]*/*/format events/[!sc]*/*/filter events/*/*open*/* syscall_stats \
		>/dev/null 2>&1
}
end_read() { tally reads "$reads"; }

# A reader that sleeps.
begin_block() { :; }
do_block() { head -n $((a % 1000)) trace_pipe >/dev/null 2>&1; }
end_block() { :; }

begin_module() { modules=0; }
do_module() {
	insmod /fpsample.ko && modules=$((modules + 1))
	echo "p:$group/init fpsample:fpsample_double v=\$arg1:s32" >>kprobe_events
	echo 1 >"events/$group/init/enable"
	echo "t:$group/point fpsample_called_tp v=\$arg1:s32 s=+0(\$arg5):string" >>dynamic_events
	echo 1 >"events/$group/point/enable"
	for value in 1 2 3 4 5; do
		echo $value >/sys/module/fpsample/parameters/value
	done
	usleep $((a * 8))
	rmmod fpsample
	[ $((b % 4)) -ne 0 ] || {
		echo 0 >"events/$group/init/enable"
		echo 0 >"events/$group/point/enable"
		echo "-:$group/init" >>kprobe_events
		echo "-:$group/point" >>kprobe_events
	}
} 2>/dev/null
end_module() { tally modules "$modules"; }

# The events of all system calls, of which all workers make many.
begin_syscalls() { switches=0; }
do_syscalls() {
	case $((a % 9)) in
	0 | 1 | 2) echo $((b % 2)) >events/syscalls/enable && switches=$((switches + 1)) ;;
	7) echo $((b % 2)) >events/calls/enable && switches=$((switches + 1)) ;;
	8) nth "$b" 'ret < 0' 'duration > 100000' 0 >events/calls/filter ;;
	3)
		echo $((b % 200)) >syscall_user_buf_size
		echo $((b % 4096 + 1)) >call_string_size
		;;
	4) nth "$b" 'common_pid > 0' 'comm == "cat"' 0 >events/syscalls/filter ;;
	5) nth "$b" '__filename_val ~ "/proc/*"' 'dfd > 0 && flags & 1' 0 \
		>events/syscalls/sys_enter_openat/filter ;;
	*) usleep $((c * 8)) ;;
	esac
} 2>/dev/null
end_syscalls() {
	echo 0 >events/syscalls/enable
	echo 0 >events/calls/enable
	tally switches "$switches"
}

# Entries of functions, of the module's too.
begin_functions() { entries=0; }
do_functions() {
	case $((a % 7)) in
	0) nth "$b" "f:$group/f$((c % 8)) vfs_read \$arg1" "f:$group/f$((c % 8)) vfs_write" \
		"f:$group/f$((c % 8)) kernel_clone%return \$retval" \
		"f:$group/f$((c % 8)) __schedule s=+0(\$stack):x64 \$comm" \
		"f:$group/f$((c % 8)) fpsample:fpsample_double \$arg1" \
		"f:$group/f$((c % 8)) vfs_*,ksys_* !vfs_get* a=\$arg1" \
		"f:$group/f$((c % 8)) mutex_*,__mutex*,_raw_spin* s=+0(\$stack):x64" \
		"f:$group/f$((c % 8)) fps*:*,t* \$arg1 \$comm" >>dynamic_events ;;
	1) echo "-:$group/f$((c % 8))" >>dynamic_events ;;
	2 | 3) echo $((b % 2)) >"events/$group/f$((c % 8))/enable" && entries=$((entries + 1)) ;;
	4) echo $((b % 2)) >"events/$group/enable" && entries=$((entries + 1)) ;;
	5)
		# Linux 7.2 turns ftrace off unless an f event is armed, and then counts no hit of
		# a kprobe at a function's entry; newer kernels refuse.
		case $(uname -r) in
		7.2.*) ;;
		*) echo 0 >/proc/sys/kernel/ftrace_enabled ;;
		esac
		;;
	*) usleep $((d * 8)) ;;
	esac
} 2>/dev/null
end_functions() { tally entries "$entries"; }

# Triggers on hot functions, between events that come and go.
begin_triggers() {
	triggers=0
	for n in 0 1 2 3; do
		echo "p:$group/t$n $(nth $n vfs_read kernel_clone "$call" do_sys_openat2) a=\$arg1"
	done >>kprobe_events
}
do_triggers() {
	event=$(nth "$b" "events/$group/t0" "events/$group/t1" "events/$group/t2" "events/$group/t3" \
		events/ftrace/print)
	target=$group:t$((d % 4))
	case $((a % 8)) in
	0 | 1 | 2)
		echo "$(nth "$c" traceon traceoff:1 snapshot:2 snapshot stacktrace:50 \
			"enable_event:$target" "disable_event:$target:9" "enable_event:$target:3" \
			"enable_hist:$target" "disable_hist:$target:7" hist:keys=common_pid.execname \
			hist:keys=common_cpu,common_stacktrace:vals=common_pid.max:size=128 \
			hist:name=shared:keys=common_comm nosuch)$(nth "$d" '' ' if common_pid == 0' \
			' if CPU == 1 && common_pid > 1' ' if a ==')" >>"$event/trigger" &&
			triggers=$((triggers + 1))
		;;
	3 | 4)
		echo "!$(nth "$c" traceon snapshot stacktrace "enable_event:$target" \
			"enable_hist:$target" hist:keys=common_pid.execname \
			hist:name=shared:keys=common_comm)" >>"$event/trigger"
		echo mark >trace_marker
		;;
	5) echo $((c % 2)) >"$event/enable" ;;
	6) nth "$c" 'a == 1' 'common_pid > 1' 0 >"$event/filter" ;;
	*) usleep $((c * 8)) ;;
	esac
} 2>/dev/null
end_triggers() {
	for event in events/"$group"/t? events/ftrace/print; do
		grep -v '^#' "$event/trigger" | while read -r line; do
			echo "!$line" >>"$event/trigger"
		done
		# This removes the histograms.
		: >"$event/trigger"
		[ ! -e "$event/enable" ] || echo 0 >"$event/enable"
	done
	echo 1 >tracing_on
	for n in 0 1 2 3; do echo "-:$group/t$n" >>kprobe_events; done
	tally triggers "$triggers"
}

# Instances of its own, and some that others of its kind make and remove, too.
begin_instances() { instances=0; }
do_instances() {
	instance=instances/$(nth "$a" "$group" "$group" shared)
	case $((b % 12)) in
	0 | 1) mkdir "$instance" && instances=$((instances + 1)) ;;
	2) rmdir "$instance" ;;
	3) echo $((c % 2)) >"$instance/events/sum/enable" ;;
	4) echo $((c % 2)) >"$instance/events/enable" ;;
	5) nth "$c" 'common_pid > 1' 'common_pid & 1' 0 >"$instance/events/sum/filter" ;;
	6) nth "$c" traceoff '!traceoff' snapshot:1 '!snapshot' hist:keys=common_pid \
		'!hist:keys=common_pid' enable_event:sum:e1 '!enable_event:sum:e1' \
		>"$instance/events/sum/e$((d % 4 + 1))/trigger" ;;
	7) echo $((c % 512 + 1)) >"$instance/buffer_size_kb" ;;
	8) nth "$c" local mono uptime counter >"$instance/trace_clock" ;;
	9) head -n $((c % 1000)) "$instance/trace" >/dev/null ;;
	10) fptool nonblock "$instance/per_cpu/cpu$((c % 4))/trace_pipe_raw" >/dev/null ;;
	*)
		nth "$c" $((d % 2)) 1 >"$instance/tracing_on"
		nth "$d" 1 0 >"$instance/snapshot"
		;;
	esac
} 2>/dev/null
end_instances() {
	for instance in "instances/$group" instances/shared; do
		[ ! -e "$instance" ] || rmdir "$instance"
	done 2>/dev/null
	tally instances "$instances"
}

begin_hotplug() { hotplugs=0; }
do_hotplug() {
	cpu=$((2 + a % 2))
	echo 0 >/sys/devices/system/cpu/cpu$cpu/online && hotplugs=$((hotplugs + 1))
	usleep $((b * 8))
	echo 1 >/sys/devices/system/cpu/cpu$cpu/online
	usleep $((c * 8))
} 2>/dev/null
end_hotplug() { tally hotplugs "$hotplugs"; }

# The kernel's own events, and its function tracer.
begin_peer() { cd /sys/kernel/tracing || :; }
do_peer() {
	case $((a % 6)) in
	0 | 1) echo "p:peer/e$((b % 4)) $(place "$c")" >>kprobe_events ;;
	2) echo "r:peer/e$((b % 4)) $(place "$c")" >>kprobe_events ;;
	3) echo $((b % 2)) >events/peer/enable ;;
	4)
		echo 0 >events/peer/enable
		true >kprobe_events
		;;
	5)
		printf '%s\n' vfs_read vfs_write "$call" kernel_clone >set_ftrace_filter
		nth "$b" function nop >current_tracer
		;;
	esac 2>/dev/null
}
end_peer() {
	echo 0 >events/enable
	true >kprobe_events
	echo nop >current_tracer
	cd "$fp" || :
} 2>/dev/null

# Calls whose number is known, on a CPU that stays.
begin_call0() { calls=0; }
do_call0() { fptool hammer 500 0 && calls=$((calls + 500)); }
end_call0() { tally calls "$calls"; }
begin_call1() { calls=0; }
do_call1() { fptool hammer 500 1 && calls=$((calls + 500)); }
end_call1() { tally calls "$calls"; }

# All sorts of system calls, on any CPU.
begin_flood() { :; }
do_flood() {
	cat /proc/version /proc/meminfo /proc/self/maps >/dev/null
	dd if=/dev/zero of=/dev/null bs=64 count=2000 2>/dev/null
	ls -l /proc /sys/kernel >/dev/null 2>&1
	usleep 100
}
end_flood() { :; }
