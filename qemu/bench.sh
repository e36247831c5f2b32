# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154
#
# Common functions of the measurements in guests.  To be sourced after lib.sh, with
# the arguments [ARCH [SERIES]].

arch=${1:-${wanted_arch:-$host_arch}}
kernel=$("$top/qemu/kernel" "$arch" "${2:-${KERNEL:-}}")
release=$(cat "$kernel/release")
module=$("$top/qemu/module" "$kernel")
out=$top/build/bench-$release
mkdir -p "$out"

# program SOURCE: compile tests/SOURCE for the guest, without a C library.
program() {
	local name=${1##*/}
	"$top/qemu/in-toolbox" clang "--target=$(gnu_arch "$arch")-linux-gnu" -O2 -Wall -Wextra \
		-Werror -Wno-unused-function -ffreestanding -fno-stack-protector -nostdlib -static \
		-fuse-ld=lld -o "$out/${name%.c}" "$top/tests/$1"
}

# floor_module: compile $out/floor/fpfloor.ko, the module whose probe does nothing.
floor_module() {
	local args
	# Links to the sources, as some kernels compile only in the folder of the sources.
	remove "$out/floor"
	cp -rs "$top/tests/bench/module" "$out/floor"
	mapfile -t args < <(kbuild_args "$arch" "$kernel")
	"$top/qemu/in-toolbox" make -C "$kernel/build" "${args[@]}" "M=$out/floor" \
		modules >"$out/floor/make.log" 2>&1 ||
		die "the module of the floor does not compile for $release (log: $out/floor/make.log)"
}

# measure NAME OPTION...: run tests/bench/NAME in a guest; its lines are in $out/NAME.log.
measure() {
	local name=$1
	shift
	mkdir -p "$out/$name"
	printf "export COUNT='%s' ROUNDS='%s' PROBES='%s' CASES='%s'\nexec sh /bench\n" \
		"${COUNT:-}" "${ROUNDS:-}" "${PROBES:-}" "${CASES:-}" >"$out/$name/job"
	"$top/qemu/in-toolbox" "$top/qemu/boot" -m "$module" -o "$out/$name" -j "$out/$name/job" \
		-f "bench=$top/tests/bench/$name" -f "bin/fptool=$out/fptool" "$@" "$kernel" \
		>"$out/$name.log" || {
		cat "$out/$name.log" >&2
		die "the measurement failed on $release (log: $out/$name.log)"
	}
}
