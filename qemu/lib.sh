# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
#
# Common functions of the scripts in this folder: messages, steps, the cache, locks,
# and the names of the architectures.  To be sourced.

set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ferroprobe
mkdir -p "$cache"
cache=$(cd "$cache" && pwd -P)

# Nothing of a fresh checkout is here, and every script writes to it.
mkdir -p "$top/build"

# The kernel series that this project is tested on, "newest_first".
. "$top/dkms/kernel.sh"

# Kernels that qemu/debug-kernel compiles: further values of KERNEL=.
debug_kernels="debug rt cfi fp debug-6.12"

# The Debian release whose compilers have built those kernels; with SUITE=sid or another one,
# its kernels and its compilers.
suite=${SUITE:-trixie}
toolbox_suite=$suite

# kernels_of SUITE: print the suite that has the kernels of a Debian release.
kernels_of() {
	case $1 in
	trixie) echo "$1-backports" ;;
	*) echo "$1" ;;
	esac
}

say() { printf '%s\n' "$*" >&2; }

# die MESSAGE: exit with a one-line message, which says what to do next.
die() {
	say "ferroprobe: $*"
	exit 1
}

# Convert any spelling of an architecture to the Debian, kernel or GNU name.
debian_arch() {
	case $1 in
	x86_64 | x86 | amd64) echo amd64 ;;
	arm64 | aarch64) echo arm64 ;;
	*) die "unknown architecture '$1': use ARCH=x86_64 or ARCH=arm64" ;;
	esac
}

kernel_arch() {
	case $(debian_arch "$1") in
	amd64) echo x86_64 ;;
	arm64) echo arm64 ;;
	esac
}

gnu_arch() {
	case $(debian_arch "$1") in
	amd64) echo x86_64 ;;
	arm64) echo aarch64 ;;
	esac
}

# The requested architecture is read once and passed on as an argument: the kernel's
# make would take it from the environment, in any spelling.
wanted_arch=${ARCH:-}
unset ARCH
# A wrong one is told before anything is compiled for it.
for word in $wanted_arch; do
	debian_arch "$word" >/dev/null
done

# number NAME VALUE: exit if the value of the variable NAME= is no number.
number() {
	case $2 in
	'' | *[!0-9]*) die "$1=$2 is no number: write it without a unit, such as $1=60" ;;
	esac
}

host_arch=$(debian_arch "$(uname -m)")

# kbuild_args ARCH [KERNEL-FOLDER]: print make's arguments to compile a kernel or
# module for ARCH on this host; a module is compiled with its kernel's compiler.
kbuild_args() {
	printf 'ARCH=%s\n' "$(kernel_arch "$1")"
	if [ -n "${2:-}" ] && grep -qx CONFIG_CC_IS_CLANG=y "$2/build/.config"; then
		echo LLVM=1
		return
	fi
	if [ "$(debian_arch "$1")" != "$host_arch" ]; then
		printf 'CROSS_COMPILE=%s-linux-gnu-\n' "$(gnu_arch "$1")"
	fi
}

# with_lock NAME: hold the lock NAME until the shell exits.
with_lock() {
	exec 9>"$cache/$1.lock"
	if ! flock -n 9; then
		say "waiting for another run that prepares $1"
		flock 9
	fi
}

step_done=0
step_count=0
step_log=/dev/null

# steps COUNT LOG: set how many steps follow, and their log file.
steps() {
	step_done=0
	step_count=$1
	step_log=$2
	: >"$step_log"
}

# step WHAT HINT COMMAND...: run one step and print how long it took; on failure
# print the end of its log, and HINT.
step() {
	local what=$1 hint=$2 began=$SECONDS status
	shift 2
	step_done=$((step_done + 1))
	printf '[%d/%d] %s' "$step_done" "$step_count" "$what" >&2
	set +e
	(
		set -e
		exec 9>&-
		"$@"
	) >>"$step_log" 2>&1
	status=$?
	set -e
	if [ "$status" -ne 0 ]; then
		printf ', failed after %d s\n' "$((SECONDS - began))" >&2
		tail -n 15 "$step_log" | sed 's/^/    /' >&2
		die "$hint (log: $step_log)"
	fi
	printf ', %d s\n' "$((SECONDS - began))" >&2
}

# isolation: set the array "isolate" to a prefix that gives a command private mounts.
isolation() {
	isolate=(unshare --mount)
	[ "$(id -u)" -eq 0 ] || isolate=(unshare --user --map-root-user --map-auto --mount)
	! "${isolate[@]}" true 2>/dev/null || return 0
	if grep -q '^[^ ]* [^ ]* [^ ]* [^ ]* / ' /proc/self/mountinfo; then
		die "mounting is not permitted here: start the container with --cap-add SYS_ADMIN, or use a $suite host with the packages of qemu/packages"
	fi
	[ "$(id -u)" -eq 0 ] || die "in a chroot this needs root"
	# In a chroot "/" is not a mount point, so unshare cannot make all mounts
	# private.  They can stay as they are if mounts below "/" do not show outside.
	isolate=(unshare --mount --propagation unchanged)
	local try=$cache/mounts status=0
	mkdir -p "$try"
	# shellcheck disable=SC2016 # expanded by the inner shell
	"${isolate[@]}" sh -c '
		mount -t tmpfs tmpfs "$1" || exit 2
		! grep -q "^[^ ]* [^ ]* [^ ]* [^ ]* $1 .* shared:" /proc/self/mountinfo
		status=$?
		umount "$1"
		exit "$status"
	' sh "$try" 2>/dev/null || status=$?
	case $status in
	0) ;;
	1) die "this chroot is on a shared mount, so that what is mounted here shows outside: run 'mount --bind DIR DIR && mount --make-private DIR' for its folder DIR there, and enter it again" ;;
	*) die "mounting is not permitted in this chroot: leave it, or give it CAP_SYS_ADMIN and /proc" ;;
	esac
}

# remove DIR...: delete the leftovers of an interrupted run, without crossing mounts.
remove() { rm -rf --one-file-system -- "$@"; }
