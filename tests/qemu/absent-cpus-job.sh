# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2016,SC2317
#
# The job of the guest of absent-cpus, which has two CPUs, and thirty that may arrive.

fp=/sys/kernel/debug/ferroprobe
status=0
# tell WHAT COMMAND...: a line for whether the command succeeds.
tell() {
	what=$1
	shift
	if "$@"; then
		echo "ok - absent CPUs: $what"
	else
		echo "not ok - absent CPUs: $what"
		status=1
	fi
}
same() {
	[ "$1" = "$2" ] || { echo "# '$1' is not '$2'" && false; }
}
less() {
	[ "$1" -lt "$2" ] || { echo "# $1 is not less than $2" && false; }
}
# KiB that are free.
free() { awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo; }
settle() {
	sync
	echo 3 >/proc/sys/vm/drop_caches
	sleep 1
}
# totals: the sizes of all rings of each buffer, in KiB.
totals() {
	for dir in "$fp" "$fp"/instances/*; do
		[ ! -e "$dir/buffer_total_size_kb" ] || cut -d ' ' -f 1 "$dir/buffer_total_size_kb"
	done
}
# appear CPU: another CPU arrives, and comes online.
appear() {
	echo "# another CPU"
	tries=300
	until [ -e "/sys/devices/system/cpu/cpu$1/online" ]; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || return 1
		sleep 0.2
	done
	echo 1 >"/sys/devices/system/cpu/cpu$1/online"
}
# grown TOTALS: waits until each buffer has larger rings than these, as it has a moment after a CPU
# has come online.
grown() {
	tries=300
	# shellcheck disable=SC2046,SC2086 # words
	until echo $1 $(totals) | awk '{ for (n = 1; n <= NF / 2; n++) if ($(n + NF / 2) <= $n) exit 1 }'; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || return 1
		sleep 0.2
	done
}
# arrive CPU: another CPU arrives, and is given what the others have.
arrive() {
	small=$(totals)
	appear "$1" && grown "$small" || return 1
	# What happened there meanwhile may have been missed.
	before=$(missed)
}
# open CPU: a file is opened there, more often than the ring of an absent CPU can keep.
opens=400
open() {
	taskset -c "$1" sh -c 'i=0; while [ $i -lt "$0" ]; do i=$((i+1)); read -r _ </proc/version; done' "$opens"
}
# kept FILE: how many of these a file shows, with their strings.
kept() { grep -c 'e: .*file="/proc/version"' "$1"; }
missed() { awk '$1 == "e" { print $3 }' kprobe_profile; }
# row CPU: how often the histogram has counted it.
row() { sed -n "s/^{ cpu: *$1 } hitcount: *//p" events/kprobes/e/hist; }

tell "there are some" same "$(cat /sys/devices/system/cpu/present) $(cat /sys/devices/system/cpu/possible)" "0-1 0-31"
rmmod ferroprobe
settle
before=$(free)
insmod /modules/ferroprobe.ko
settle
used=$((before - $(free)))
echo "# loaded: $used KiB"
# Thirty more rings are 41 MiB.
tell "loading takes memory for the CPUs that are present" less "$used" 16384
cd "$fp" || exit 1
before=$(free)
mkdir instances/old
settle
used=$((before - $(free)))
echo "# an instance: $used KiB"
tell "so does an instance" less "$used" 8192
echo 512 >buffer_size_kb
echo 'p:e do_sys_openat2 file=+0($arg2):string' >kprobe_events
echo 'hist:keys=cpu if file == "/proc/version"' >events/kprobes/e/trigger
echo 1 >snapshot
echo 1 >events/kprobes/e/enable
echo 1 >instances/old/events/kprobes/e/enable

tell "one arrives" arrive 2
tell "its ring has the size of the others" same "$(cat buffer_size_kb) $(cat per_cpu/cpu2/buffer_size_kb)" "512 512"
open 2
tell "its ring keeps what is recorded there" same "$(kept per_cpu/cpu2/trace)" "$opens"
tell "and so in an instance that was there before" same "$(kept instances/old/per_cpu/cpu2/trace)" "$opens"
tell "the histogram counts it" same "$(row 2)" "$opens"
echo 1 >snapshot
tell "the snapshot takes all of it" same "$(kept per_cpu/cpu2/snapshot)" "$opens"
open 2
tell "and leaves as much room" same "$(kept per_cpu/cpu2/trace)" "$opens"
tell "no hit was missed" same "$(missed)" "$before"

tell "another one arrives" arrive 3
mkdir instances/new
echo 1 >instances/new/events/kprobes/e/enable
echo 256 >buffer_size_kb
echo global >trace_clock
open 3
tell "it keeps what is recorded after changes of the buffer" same "$(kept per_cpu/cpu3/trace)" "$opens"
tell "an instance made later has a ring for it" same "$(kept instances/new/per_cpu/cpu3/trace)" "$opens"
echo 0 >/sys/devices/system/cpu/cpu3/online
tell "its events stay while it is offline" same "$(kept per_cpu/cpu3/trace)" "$opens"
echo 1 >/sys/devices/system/cpu/cpu3/online
echo >trace
open 3
tell "and new ones come" same "$(kept per_cpu/cpu3/trace)" "$opens"
tell "none was missed" same "$(missed)" "$before"

# Others arrive while the module is loaded and unloaded.
rmdir instances/old instances/new
echo 0 >events/kprobes/e/enable
echo '!hist:keys=cpu if file == "/proc/version"' >events/kprobes/e/trigger
echo >kprobe_events
cd / || exit 1
(appear 4 && appear 5) &
n=0
while [ "$n" -lt 8 ]; do
	n=$((n + 1))
	rmmod ferroprobe || status=1
	insmod /modules/ferroprobe.ko || status=1
done
wait
cd "$fp" || exit 1
echo 'p:e do_sys_openat2 file=+0($arg2):string' >kprobe_events
echo 1 >events/kprobes/e/enable
# Six have rings of the usual size.
grown $((6 * $(cat buffer_size_kb) - 1))
open 5
tell "one that arrives while the module is loaded has its ring" same "$(kept per_cpu/cpu5/trace)" "$opens"
cd / || exit 1
tell "the module can be unloaded" rmmod ferroprobe
exit "$status"
