# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# The job of the guest of cpus: prints how long things take.

fp=/sys/kernel/debug/ferroprobe

# Hundredths of a second since the boot.
now() { sed 's/\.//; s/ .*//' /proc/uptime; }

# timed WHAT COMMAND...: run the command, and print how long it took.
timed() {
	what=$1
	shift
	before=$(now)
	"$@" || echo "not ok - cpus: $what: failed"
	echo "time $(($(now) - before)) $what"
}
# Kilobytes that are free, once nothing is freed late any more.
free_memory() {
	sleep 1
	awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo
}

echo "cpus $(nproc) possible $(cat /sys/devices/system/cpu/possible)"
rmmod ferroprobe
free=$(free_memory)
timed "load" insmod /modules/ferroprobe.ko
cd "$fp" || exit 1
echo "memory $((free - $(free_memory))) loaded"

# shellcheck disable=SC2016 # the language has a $ of its own
define_many() {
	n=0
	while [ "$n" -lt 100 ]; do
		n=$((n + 1))
		echo "p:many/e$n vfs_read n=\$arg3"
	done >dynamic_events
}
write() { echo "$1" >"$2"; }
instances() {
	for name in a b c d; do
		mkdir "instances/$name" || return 1
	done
}
remove_instances() { rmdir instances/*; }
spread() {
	# A task on each CPU.
	for cpu in $(seq 0 $(($(nproc) - 1))); do
		taskset "$(printf '%x' $((1 << cpu % 32)))$([ "$cpu" -lt 32 ] || echo 00000000)" \
			cat /proc/version >/dev/null &
	done
	wait
}
timed "100 definitions" define_many
timed "enable 100" write 1 events/many/enable
timed "a task on each CPU" spread
timed "read trace" cat trace >/dev/null
timed "disable 100" write 0 events/many/enable
timed "a histogram" write 'hist:keys=common_pid' events/many/e1/trigger
timed "read the histogram" cat events/many/e1/hist
timed "no histogram" write '!hist:keys=common_pid' events/many/e1/trigger
timed "remove 100" write '' dynamic_events
timed "f of a pattern" write 'f:some/f vfs_*' dynamic_events
timed "enable f" write 1 events/some/f/enable
spread
timed "disable f" write 0 events/some/f/enable
timed "remove f" write '' dynamic_events
timed "four instances" instances
echo "memory $((free - $(free_memory))) with four instances"
timed "remove four instances" remove_instances
timed "snapshot" write 1 snapshot
timed "free the snapshot" write 0 snapshot
timed "resize to 4 MB" write 4096 buffer_size_kb
echo "memory $((free - $(free_memory))) with 4 MB for each CPU"
timed "resize to 64 kB" write 64 buffer_size_kb
cd /
timed "unload" rmmod ferroprobe
echo "memory $((free - $(free_memory))) unloaded"
echo "ok - cpus: the end"
