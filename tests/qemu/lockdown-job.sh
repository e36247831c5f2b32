# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2016,SC2154,SC2317
#
# The job of the guest of lockdown, behind a line mode=MODE: locks the kernel down
# with files open, and compares what they still do with what those of the kernel's
# own kprobe_events do.

fp=/sys/kernel/debug/ferroprobe
fm=/sys/kernel/ferroprobe
mount -t securityfs securityfs /sys/kernel/security
mount -t tracefs tracefs /sys/kernel/tracing
cd "$fp" || exit 1

status=0
# tell WHAT COMMAND...: a line for whether the command succeeds.
tell() {
	what=$1
	shift
	if "$@"; then
		echo "ok - lockdown=$mode: $what"
	else
		echo "not ok - lockdown=$mode: $what"
		status=1
	fi
}
# The exit status of a write, in words.
wrote() { if "$@" 2>/dev/null; then echo yes; else echo no; fi; }
to3() { echo "$1" >&3; }
to5() { echo "$1" >&5; }
to6() { echo "$1" >&6; }
same() { [ "$1" = "$2" ]; }
# files_of DIRECTORY: print the files below it.  It leaves out the files of all events but two in each
# group, and the files of all events in instances.
files_of() {
	find "$1" -type f ! -path '*/instances/*/events/*' | awk -v top="$1/" '{
		parts = split(substr($0, length(top) + 1), part, "/")
		if (parts > 3 && part[1] == "events") {
			event = part[2] "/" part[3]
			if (!(event in seen) && count[part[2]]++ >= 2)
				next
			seen[event]
		}
		print
	}'
}

echo 'p:kprobes/e vfs_read' >kprobe_events
echo 1 >events/kprobes/e/enable
mount -t ferroprobe none "$fm"
mkdir -p /tmp/again
exec 3>>kprobe_events 4<kprobe_profile 5>>/sys/kernel/tracing/kprobe_events 6>events/kprobes/e/enable
tell "all is allowed before" same "$(wrote to3 'p:kprobes/f vfs_read') $(wrote to5 'p:kprobes/f vfs_read')" "yes yes"
to6 0
to6 1
echo "$mode" >/sys/kernel/security/lockdown
tell "the kernel is locked down" grep -qF "[$mode]" /sys/kernel/security/lockdown

# No file of ours can be opened, in any way.
opened=
files_of "$fp" >/tmp/files
while read -r file; do
	if (exec 7<"$file") 2>/dev/null; then opened="$opened $file for reading"; fi
	if (exec 7>>"$file") 2>/dev/null; then opened="$opened $file for writing"; fi
done </tmp/files
tell "no file can be opened${opened:+:$opened}" same "$opened" ""
tell "there are files" [ "$(wc -l </tmp/files)" -gt 50 ]
if chmod 644 kprobe_events 2>/dev/null; then
	tell "no file can be given to others" false
else
	tell "no file can be given to others" true
fi

# A file that is open does what the kernel's own does.
case $mode in
integrity) allowed=yes ;;
*) allowed=no ;;
esac
tell "the kernel defines an event: $allowed" same "$(wrote to5 'p:kprobes/g vfs_read')" "$allowed"
tell "so do we" same "$(wrote to3 'p:kprobes/g vfs_read')" "$allowed"
tell "disabling is allowed" same "$(wrote to6 0)" yes
tell "enabling is allowed: $allowed" same "$(wrote to6 1)" "$allowed"
tell "deleting is allowed" same "$(wrote to3 '-:kprobes/f')" yes
read -r event _ <&4
tell "what is open can be read" same "$event" e

exec 3>&- 4>&- 5>&- 6>&-

# The file system of our own does what tracefs does.
# demo DIRECTORY: define, record and show as in the demo; print what is shown.
demo() (
	cd "$1" || exit
	echo 'p:open do_sys_openat2 file=+0($arg2):string' >>kprobe_events || exit
	echo 1 >events/kprobes/open/enable
	cat /proc/version >/dev/null
	grep -o 'file="/proc/version"' trace
	echo 0 >events/kprobes/open/enable
	echo '-:open' >>kprobe_events
	mkdir instances/own && [ -e instances/own/trace ] && rmdir instances/own
)
case $mode in
integrity) shown='file="/proc/version"' ;;
*) shown='' ;;
esac
tell "the kernel's demo shows: $shown" same "$(demo /sys/kernel/tracing 2>/dev/null)" "$shown"
tell "so does ours in a mount" same "$(demo "$fm" 2>/tmp/refused)" "$shown"
[ -n "$shown" ] || tell "it is refused as not permitted" grep -q 'Operation not permitted' /tmp/refused
tell "instances are made: $allowed" same "$(wrote mkdir "$fm/instances/two")" "$allowed"
tell "names can be listed" [ -e "$fm/events/kprobes/e/enable" ]
opened=
files_of "$fm" >/tmp/files
while read -r file; do
	if (exec 7<"$file") 2>/dev/null; then opened="$opened $file"; fi
	if (exec 7>>"$file") 2>/dev/null; then opened="$opened $file"; fi
done </tmp/files
tell "files are opened there: $allowed" same "${opened:+yes}" "$(echo "$allowed" | grep yes)"
tell "it can be mounted again: $allowed" same "$(wrote mount -t ferroprobe none /tmp/again)" "$allowed"
umount /tmp/again 2>/dev/null
cd /
umount "$fm"
tell "the module can be unloaded" rmmod ferroprobe
insmod /modules/ferroprobe.ko 2>/dev/null
tell "and not be loaded again" [ ! -e "$fp" ]
exit "$status"
