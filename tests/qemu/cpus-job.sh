# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2016,SC2317
#
# The job of the guest of qemu/test-cpus: prints how long things take, in hundredths of a second,
# ours in three rounds and then the kernel's own.

fp=/sys/kernel/debug/ferroprobe
peer=/sys/kernel/tracing
# Hundredths of a second that a thing may take.
most=300
status=0
mount -t tracefs tracefs "$peer"

# Hundredths of a second since the boot.
now() { sed 's/\.//; s/ .*//' /proc/uptime; }

# timed WHAT COMMAND...: run the command, and print how long it took.
timed() {
	what=$1
	shift
	before=$(now)
	if ! "$@"; then
		echo "not ok - cpus: $what: failed"
		status=1
		return
	fi
	echo "time $(($(now) - before)) $what" | tee -a /tmp/times
}

# beside WHAT COMMAND...: the same with the kernel's own, which may be unable to do it.
beside() {
	what=$1
	shift
	before=$(now)
	if "$@" 2>/dev/null; then
		echo "peer $(($(now) - before)) $what" | tee -a /tmp/peers
	else
		echo "peer - $what"
	fi
}

# judge: whether each thing took too long, in its fastest round: what waits for all CPUs waits for
# what the host does besides, and one that is slow by itself is so each time.  It may take as long as
# the kernel's own.
judge() {
	sort -k 3 -k 2n /tmp/times | awk '{ took = $2; sub(/^time [0-9]* /, "") } !seen[$0]++ { print took, $0 }' >/tmp/fastest
	while read -r took what; do
		[ "$took" -gt "$most" ] || continue
		own=$(sed -n "s/^peer \([0-9]*\) $what\$/\1/p" /tmp/peers)
		if [ "$took" -gt "${own:-0}" ]; then
			echo "not ok - cpus: $what: $took hundredths of a second, the kernel's own ${own:--}"
			status=1
		fi
	done </tmp/fastest
}

write() { echo "$1" >"$2"; }
lines() {
	n=0
	while [ "$n" -lt "$1" ]; do
		n=$((n + 1))
		echo "p:many/e$n vfs_read n=\$arg3"
	done
}
define_many() { lines 100 >"$1"; }
remove_events() { echo >"$1"; }
make_instances() {
	for name in a b c d; do
		mkdir "$1/$name" || return 1
	done
}
remove_instances() { rmdir "$1"/a "$1"/b "$1"/c "$1"/d; }
# A task on each CPU makes some calls.
spread() {
	for cpu in $(seq 0 $(($(nproc) - 1))); do
		taskset -c "$cpu" cat /proc/version >/dev/null &
	done
	wait
}
show() { cat "$1" >/tmp/shown; }

echo "cpus $(nproc) present $(cat /sys/devices/system/cpu/present) possible $(cat /sys/devices/system/cpu/possible)"

insmod /modules/ferroprobe.ko 2>/dev/null
rmmod ferroprobe
for round in 1 2 3; do
	echo "round $round"
	timed "load" insmod /modules/ferroprobe.ko
	cd "$fp" || exit 1
	timed "define 100" define_many dynamic_events
	timed "enable 100" write 1 events/many/enable
	spread
	timed "disable 100" write 0 events/many/enable
	timed "read trace" show trace
	echo "lines $(grep -c ': e[0-9]*: ' /tmp/shown)"
	timed "set a histogram" write 'hist:keys=cpu' events/many/e1/trigger
	spread
	timed "read the histogram" show events/many/e1/hist
	echo "rows $(grep -c 'hitcount:' /tmp/shown)"
	timed "remove the histogram" write '!hist:keys=cpu' events/many/e1/trigger
	timed "delete 100" remove_events dynamic_events
	timed "define f of a pattern" write 'f:some/f acpi_*,pci_*,vfs_*' dynamic_events
	timed "enable f" write 1 events/some/f/enable
	echo "functions $(wc -l <enabled_functions)"
	spread
	timed "disable f" write 0 events/some/f/enable
	timed "delete f" remove_events dynamic_events
	timed "mkdir of four instances" make_instances instances
	timed "rmdir of four instances" remove_instances instances
	timed "take a snapshot" write 1 snapshot
	timed "free the snapshot" write 0 snapshot
	timed "resize to 4 MiB for each CPU" write 4096 buffer_size_kb
	timed "resize to 64 KiB for each CPU" write 64 buffer_size_kb
	cd / || exit 1
	timed "unload" rmmod ferroprobe
done

cd "$peer" || exit 1
echo 1408 >buffer_size_kb
beside "define 100" define_many kprobe_events
beside "enable 100" write 1 events/many/enable
spread
beside "disable 100" write 0 events/many/enable
beside "read trace" show trace
beside "set a histogram" write 'hist:keys=common_cpu' events/many/e1/trigger
spread
beside "read the histogram" show events/many/e1/hist
beside "remove the histogram" write '!hist:keys=common_cpu' events/many/e1/trigger
beside "delete 100" remove_events kprobe_events
# Its own events of functions are of one function each: this is its function tracer.
beside "define f of a pattern" write 'acpi_* pci_* vfs_*' set_ftrace_filter
beside "enable f" write function current_tracer
echo "functions $(wc -l <enabled_functions)"
spread
beside "disable f" write nop current_tracer
beside "mkdir of four instances" make_instances instances
beside "rmdir of four instances" remove_instances instances
beside "take a snapshot" write 1 snapshot
beside "free the snapshot" write 0 snapshot
beside "resize to 4 MiB for each CPU" write 4096 buffer_size_kb
beside "resize to 64 KiB for each CPU" write 64 buffer_size_kb
judge
exit "$status"
