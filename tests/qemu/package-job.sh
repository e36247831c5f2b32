# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2016
#
# The job of a guest of qemu/test-package: does the module that the package has compiled
# probe this kernel, and can it be unloaded?

cd /sys/kernel/debug/ferroprobe || exit 1
echo 'p:open do_sys_openat2 file=+0($arg2):string' >kprobe_events || exit 1
echo 1 >events/kprobes/enable || exit 1
cat /proc/version >/dev/null
echo 0 >events/kprobes/enable
grep 'open: .*file="/proc/version"' trace || exit 1
echo >kprobe_events
cd / && rmmod ferroprobe && [ ! -e /sys/kernel/debug/ferroprobe ]
