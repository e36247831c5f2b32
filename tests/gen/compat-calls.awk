# SPDX-License-Identifier: GPL-2.0
#
# Prints, for each number of a 32-bit system call from 0 on, the name of the 64-bit call with the
# same arguments, or - if there is none: the text of src/engine/program/syscall/compat.rs.
#
#	awk -f compat-calls.awk syscall_64.tbl syscall_32.tbl
#
# The tables are the kernel's, in arch/x86/entry/syscalls and arch/arm64/tools.

/^#/ || NF < 4 { next }
FILENAME == ARGV[1] && $2 ~ /^(common|64|renameat|rlimit|memfd_secret)$/ && $4 != "sys_ni_syscall" { native[$4] = 1 }
FILENAME == ARGV[2] {
	# The arguments of clone are in another order on x86.
	if ($4 in native && $5 !~ /compat_sys_(ia32|aarch32)_/) {
		name[$1] = substr($4, 5)
		if ($1 + 0 > last)
			last = $1 + 0
	}
}
END {
	for (n = 0; n <= last; n++) {
		word = n in name ? name[n] : "-"
		if (length(line) + length(word) > 90) {
			print "    " line " \\"
			line = ""
		}
		line = line (line == "" ? "" : " ") word
	}
	print "    " line
}
