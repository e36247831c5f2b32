# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154
#
# Counts the results of test suites, for the scripts that run several.  To be sourced
# after lib.sh; $logs is the folder of their logs.

passed=0 failed=0 skipped=0
failures=()

# tally NAME PASSED FAILED SKIPPED: print one line, and add to the sums.
tally() {
	local more=''
	[ "$4" -eq 0 ] || more=", $4 skipped"
	echo "$1: $2 passed, $3 failed$more"
	passed=$((passed + $2))
	failed=$((failed + $3))
	skipped=$((skipped + $4))
}

# total: print the names of what failed and the last line, and return the exit status.
total() {
	[ ${#failures[@]} -eq 0 ] || printf 'failed: %s\n' "${failures[@]}"
	[ "$skipped" -eq 0 ] || echo "$skipped skipped"
	echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ]
}

count() { grep -cE "$1" "$2" || :; }

# suite NAME LOG STATUS: count KTAP lines, and show the failures.
suite() {
	local good bad skips line
	skips=$(count '^ok .*# SKIP' "$2")
	good=$(($(count '^ok' "$2") - skips))
	bad=$(count '^not ok' "$2")
	grep -E '^(not ok|Bail out|#)' "$2" | grep -v '^# \(guest ended\|selftests\): ' || :
	if [ "$3" -ne 0 ] && [ "$bad" -eq 0 ]; then
		tail -n 20 "$2" | sed 's/^/# /'
		bad=1
	fi
	while read -r line; do
		failures+=("$1: $line")
	done < <(sed -nE 's/^not ok ([0-9]+ )?(- )?//p' "$2")
	[ "$bad" -eq 0 ] || grep -q '^not ok' "$2" || failures+=("$1: status $3")
	grep -E '^ok .*# SKIP' "$2" || :
	tally "$1" "$good" "$bad" "$skips"
}

# Most bytes of the module's functions, .kprobes.text, for each architecture: a little more than
# they have.  What a hit does when something about it is unusual has one copy; copies for each
# source once made a fifth of the whole.  Raise them for code that does more.  Kernels of
# qemu/debug-kernel have options that make each function longer: with CFI, by up to 5.4 %.
most_text_amd64=1940000
most_text_arm64=1594000

# small_text MODULE RELEASE: check the size of the module's functions.
small_text() {
	local size budget=most_text_${2##*-} most
	most=${!budget}
	[[ $2 != *-@(rt|cfi|fp)-* ]] || most=$((most * 106 / 100))
	size=$("$top/qemu/in-toolbox" llvm-size -A "$1" | awk '$1 == ".kprobes.text" { print $2 }')
	if [ "${size:-0}" -gt 0 ] && [ "$size" -le "$most" ]; then
		echo "ok - functions of at most $most bytes for $2"
	else
		echo "not ok - functions of at most $most bytes for $2"
		echo "# they have ${size:-no size}: see $budget in qemu/tally.sh"
	fi
}

# little_stack MODULE RELEASE: check how much of the stack its functions take.
little_stack() {
	if "$top/qemu/in-toolbox" "$top/qemu/stack-depth" "$1" 2>&1; then
		echo "ok - calls leave enough of the stack on $2"
	else
		echo "not ok - calls leave enough of the stack on $2"
	fi
}

# documented_imports UNDEFINED RELEASE: check that Documentation/porting.rst names each function of
# the kernel that the module imports.  What compilers call is not the kernel's to change, and names
# in Rust have a hash of the compiler.
documented_imports() {
	local unknown
	unknown=$(awk '{ print $2 }' "$1" |
		grep -vE '^(_R|rust_helper_|__ubsan_|__x86_|__SCT__|__asan_|__fentry__|__stack_chk|__ref_stack)' |
		grep -vxE 'mem(cpy|move|set|cmp|chr)|bcmp|strn?(len|cmp)|(__)?preempt_schedule(_notrace)?' |
		while read -r symbol; do
			grep -qF "\`\`$symbol\`\`" "$top/Documentation/porting.rst" || echo "$symbol"
		done)
	if [ -z "$unknown" ]; then
		echo "ok - Documentation/porting.rst names what is imported on $2"
	else
		echo "not ok - Documentation/porting.rst names what is imported on $2"
		printf '%s\n' "$unknown" | sed 's/^/# it lacks /'
	fi
}

# module_suite KERNEL-FOLDER: check that the module compiles for the kernel, is small, takes
# little of the stack, and links no code for a panic, which would be a BUG() in the kernel.
module_suite() {
	local release module
	release=$(cat "$1/release")
	{
		if module=$("$top/qemu/module" "$1"); then
			echo "ok - compiles for $release"
			"$top/qemu/in-toolbox" llvm-nm -u "$module" >"$logs/undefined"
			if grep -qx CONFIG_KASAN=y "$1/build/.config"; then
				# With KASAN each access has a call beside it, so the
				# optimiser proves less.
				echo "ok - no panic can be reached on $release # SKIP compiled with KASAN"
			elif [ -s "$logs/undefined" ] &&
				"$top/qemu/in-toolbox" "$top/qemu/panics" "$module" >"$logs/panics" &&
				[ ! -s "$logs/panics" ]; then
				echo "ok - no panic can be reached on $release"
			else
				echo "not ok - no panic can be reached on $release"
				sed 's/^ */# /' "$logs/panics"
			fi
			if ! grep -qx CONFIG_KASAN=y "$1/build/.config"; then
				# What inline functions call depends on what a kernel checks.
				[ -e "$1/patience" ] || documented_imports "$logs/undefined" "$release"
				small_text "$module" "$release"
				little_stack "$module" "$release"
			fi
		else
			echo "not ok - compiles for $release"
		fi
	} >"$logs/module-$release" 2>&1
	suite "module for $release" "$logs/module-$release" 0
}

# module_suites KERNEL-FOLDER...: module_suite for each.  They are compiled first, two at a time,
# as one file in Rust keeps one processor busy; what does not compile is compiled again, to be told.
module_suites() {
	local kernel
	printf '%s\n' "$@" | xargs -P 2 -n 1 "$top/qemu/module" >/dev/null 2>&1 9>&- || :
	for kernel; do
		module_suite "$kernel"
	done
}

# status_of PID: wait for a background job; its exit status goes to $logs/status.
status_of() {
	local status=0
	wait "$1" || status=$?
	echo "$status" >"$logs/status"
}

# in_guests JOB...: call "guest JOB" for each, three at a time, as a guest waits for a quarter of
# its time and two leave a part of two processors idle.  Reports them in order.  A JOB that is a
# kernel's folder is reported by that kernel's release.
in_guests() {
	local job name names=() pids=() i
	for job; do
		while [ "$(jobs -rp | wc -l)" -ge 3 ]; do
			wait -n || :
		done
		name=$job
		[ ! -d "$job" ] || name=$(cat "$job/release")
		guest "$job" >"$logs/guest-$name" 2>&1 9>&- &
		names+=("$name")
		pids+=($!)
	done
	for i in "${!names[@]}"; do
		status_of "${pids[$i]}"
		suite "guest ${names[$i]}" "$logs/guest-${names[$i]}" "$(cat "$logs/status")"
	done
}
