# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2034,SC2154
#
# What a kernel's release and configuration say, for qemu/preflight and dkms/check.  To be
# sourced.

# The kernel series that this project is tested on.
newest_first="7.3 7.2"

# Further series, whose kernels have no Rust: rust/own has it.
without_rust="6.12"

# supported: print the series, such as "7.3, 7.2 and 6.12".
supported() { echo "$newest_first $without_rust" | sed 's/ /, /g; s/, \([^,]*\)$/ and \1/'; }

# series_of RELEASE: print the tested series that a kernel belongs to, if any.
series_of() {
	for number in $newest_first $without_rust; do
		case $1 in
		"$number".* | "$number"[+-]*) echo "$number" ;;
		esac
	done
}

# Older kernels lack what the module includes: linux/unaligned.h is of 6.12, fsparam_uid() of 6.11.
oldest=6.12

# too_old RELEASE: succeeds if the module cannot be compiled for a kernel of so old a series.
too_old() {
	[ "$(printf '%s\n' "$oldest" "$1" | sort -V | head -n 1)" != "$oldest" ]
}

# $config is the configuration that these read.  option NAME: succeeds if it is y.
# text NAME: print its string, without quotes.
option() { grep -qx "CONFIG_$1=y" "$config"; }
text() { sed -n "s/^CONFIG_$1=\"\{0,1\}\([^\"]*\)\"\{0,1\}\$/\1/p" "$config"; }

# With CFI, Rust's functions have the types that C expects of them only if the types of integers are
# normalised.  types_differ: succeeds if they are not.
types_differ() {
	{ option CFI || option CFI_CLANG; } && ! option CFI_ICALL_NORMALIZE_INTEGERS
}

# Symbol names of Rust code contain a hash of the compiler's version: it must match.
# differs NAME COMMAND OPTION: print how a compiler is not the one that OPTION of the
# configuration names; nothing if it is.
differs() {
	expected=$(text "$3")
	if ! actual=$($2 --version 2>/dev/null); then
		echo "no $1: install '${expected:-$1}'"
	elif [ -n "$expected" ] && [ "$actual" != "$expected" ]; then
		echo "$1 is '$actual' but the kernel was made with '$expected'"
	fi
}
