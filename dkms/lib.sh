# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
#
# Common functions of the scripts in this folder, which prepare and compile on the machine
# that is to load the module.  To be sourced.

set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
. "$top/dkms/kernel.sh"

# The compilers of a stock kernel are Debian's, not what a user has elsewhere.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH LC_ALL=C
unset RUSTFLAGS RUSTUP_TOOLCHAIN ARCH CROSS_COMPILE LLVM MAKEFLAGS MFLAGS MAKELEVEL

# Where a kernel's headers are, and its configuration.
headers_of() { echo "${FERROPROBE_KDIR:-/lib/modules/$1/build}"; }
config_of() { echo "$(headers_of "$1")/include/config/auto.conf"; }

# cc_of: print the name of the C compiler in $config: "gcc", or one like
# "x86_64-linux-gnu-gcc-14".
cc_of() {
	local cc
	cc=$(text CC_VERSION_TEXT)
	cc=${cc%% *}
	command -v "$cc" >/dev/null || cc=gcc
	echo "$cc"
}

# make_args: set the array "args" to make's arguments for the kernel with $config.
make_args() {
	args=(ARCH=x86_64)
	! option ARM64 || args=(ARCH=arm64)
	[ -z "${RUSTC:-}" ] || args+=("RUSTC=$RUSTC")
	[ -z "${BINDGEN:-}" ] || args+=("BINDGEN=$BINDGEN")
	if option CC_IS_CLANG; then
		args+=(LLVM=1)
	else
		args+=("CC=$(cc_of)")
	fi
}
