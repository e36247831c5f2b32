# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# KTAP for tests of the scripts themselves.  To be sourced.

number=0
failures=0

# pass NAME; fail NAME REASON...
pass() {
	number=$((number + 1))
	echo "ok $number $1"
}

fail() {
	number=$((number + 1))
	failures=$((failures + 1))
	echo "not ok $number $1"
	shift
	printf '%s\n' "$@" | sed 's/^/# /'
}

finish() {
	echo "1..$number"
	[ "$failures" -eq 0 ]
}
