# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
#
# What every script in this folder shares: messages, steps, the cache, locks
# and the names each architecture goes by.  To be sourced.

set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ferroprobe
mkdir -p "$cache"
cache=$(cd "$cache" && pwd -P)

# The kernel series this project is tested on.
newest_first="7.3 7.2"

# Kernels that qemu/debug-kernel compiles: what KERNEL= may name besides.
debug_kernels="debug rt"

# The Debian release whose compilers built those kernels.
suite=trixie

say() { printf '%s\n' "$*" >&2; }

# die MESSAGE: the one line a failure ends with; it says what to do next.
die() {
	say "ferroprobe: $*"
	exit 1
}

# Machine and Debian names of an architecture given in any of its spellings.
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

# The architecture asked for is read once and given on as an argument: in the
# environment the kernel's make would take it, in whatever spelling.
wanted_arch=${ARCH:-}
unset ARCH

host_arch=$(debian_arch "$(uname -m)")

# kbuild_args ARCH [KERNEL-FOLDER]: what make needs to compile a kernel or module
# for ARCH here; a module takes the compiler of its kernel.
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

# with_lock NAME: hold the lock of that name until the shell ends.
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

# steps COUNT LOG: announce how many steps follow and where they write.
steps() {
	step_done=0
	step_count=$1
	step_log=$2
	: >"$step_log"
}

# step WHAT HINT COMMAND...: run one step, show how long it took; on failure
# show the end of its log, and HINT.
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

# remove DIR...: delete what an interrupted run left, without crossing mounts.
remove() { rm -rf --one-file-system -- "$@"; }
