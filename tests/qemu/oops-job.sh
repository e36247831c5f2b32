# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# The job of the guest of oops: looks at what the module was loaded with, loads it with
# definitions that it refuses, and makes the kernel panic.

fp=/sys/kernel/debug/ferroprobe
module=/lib/modules/$(uname -r)/updates/ferroprobe.ko
cd "$fp" || exit 1

# tell WHAT COMMAND...: a line for whether the command succeeds.
tell() {
	what=$1
	shift
	if "$@"; then
		echo "ok - load: $what"
	else
		echo "not ok - load: $what"
	fi
}
same() {
	[ "$1" = "$2" ] || {
		echo "# found: $1"
		return 1
	}
}

# shellcheck disable=SC2016 # the language has a $ of its own
tell "what was given is defined" same "$(cat kprobe_events)" 'p:kprobes/read vfs_read n=$arg3
r:kprobes/readr vfs_read arg1=$retval:s64'
tell "and enabled" same "$(cat events/kprobes/read/enable events/kprobes/readr/enable)" '1
1'
tell "and hit before anybody asked" [ "$(grep -c ' read: (vfs_read+' trace)" -gt 0 ]
tell "nothing else is enabled" same "$(sort set_event)" 'kprobes:read
kprobes:readr'
tell "the log says so" sh -c 'dmesg | grep -q "ferroprobe: define: probes that are defined and enabled: 2$"'
tell "dump_on_oops is what was given" same "$(cat dump_on_oops)" '1 100'

cd /
rmmod ferroprobe
for define in 'p:a vfs_read;p:b vfs_read+1' 'p:a vfs_read nonsense=%nope' 'no such thing' \
	'p:syscalls/sys_enter_openat kernel_clone'; do
	if insmod "$module" "define=\"$define\"" 2>/tmp/insmod; then
		tell "refused: $define" false
	fi
done
dmesg | sed 's/^\[[^]]*\] //' >/tmp/dmesg
# insmod may try each twice, by either system call.
tell "the log names each refused one" same "$(grep -A 2 'define: a definition is refused, and the module is not loaded:$' /tmp/dmesg |
	sed -n 's/.* Command: //p' | sort -u)" 'no such thing
p:a vfs_read nonsense=%nope
p:b vfs_read+1
p:syscalls/sys_enter_openat kernel_clone'
grep -A 1 'Command: p:b vfs_read+1$' /tmp/dmesg | head -n 2 >/tmp/caret
tell "the caret is where it is in error_log" same "$(sed 's/^ferroprobe: //' /tmp/caret)" '  Command: p:b vfs_read+1
               ^'
tell "nothing is left" [ ! -e "$fp" ]
insmod "$module" define='""'
cd "$fp" || exit 1
tell "an empty one defines nothing" same "$(cat kprobe_events)" ''

for bad in 3 '1 0' '1 1001' '1 5 5' x; do
	echo "$bad" >dump_on_oops 2>/dev/null && tell "refused: $bad" false
done
tell "refusals change nothing" same "$(cat dump_on_oops)" 0
echo '2 7' >dump_on_oops
tell "one CPU" same "$(cat dump_on_oops)" '2 7'
echo '1 50' >dump_on_oops

# Two tasks take turns, each on a CPU of its own.
n=0
while [ "$n" -lt 400 ]; do
	n=$((n + 1))
	taskset -p $((1 << n % 2)) $$ >/dev/null
	echo "mark $n" >trace_marker
done
tell "the end" true
sync
sleep 1
echo c >/proc/sysrq-trigger
sleep 30
