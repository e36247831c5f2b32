# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# The job of an initramfs that has the module and a definition by the package's hook: is the
# module loaded, and has the probe been hit?

busybox=/tools/busybox
$busybox mount -t debugfs none /sys/kernel/debug
$busybox dmesg | $busybox grep 'ferroprobe: define: probes that are defined and enabled: 1$' || exit 1
$busybox grep -v '^#' /sys/kernel/debug/ferroprobe/trace | $busybox head -n 3
$busybox grep -q 'open: (do_sys_openat2+.*) file="/' /sys/kernel/debug/ferroprobe/trace || exit 1
