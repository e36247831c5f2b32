# SPDX-License-Identifier: GPL-2.0
#
# Normalises a hist file, of the kernel or of the module, so that two can be compared after
# sort(1).  Entries that are equal by what they are sorted by may come in any order, so the
# entries are lines without their place, and the values that they are sorted by are lines
# with it.  Frames of stacks and times are left out.

# Returns the value of a column in a line, up to the next column.
function column(line, name,	at) {
	at = index(line, " " name ":")
	if (!at)
		at = index(line, " " name " (%):")
	if (!at)
		return "?"
	line = substr(line, at + 1)
	sub(/^[^:]*: */, "", line)
	sub(/(, |  [a-z0-9_]+( [(]%[)])?:| [}]).*/, "", line)
	return line
}

function entry(line,	n, order) {
	gsub(/common_timestamp: *[0-9]+/, "common_timestamp: T", line)
	for (n = 1; n <= sorts; n++)
		order = order " " column(line, sort[n])
	printf "%03d order %05d%s\n", histogram, ++place, order
	printf "%03d entry %s\n", histogram, line
}

/^# trigger info: / {
	histogram++
	place = 0
	gsub(/common_cpucommon_cpu/, "common_cpu")
	printf "%03d %s\n", histogram, $0
	sorted = $0
	sub(/.*:sort=/, "", sorted)
	sub(/[: ].*/, "", sorted)
	sorts = split(sorted, sort, ",")
	for (n = 1; n <= sorts; n++)
		sub(/\..*/, "", sort[n])
	next
}

# A key that is a stack is some lines.
/^[{].*stacktrace:/ { stack = $0; next }
stack && /^[,}]/ { entry(stack " STACK" $0); stack = ""; next }
stack { next }

/^[{]/ { entry($0); next }
/^    [A-Z][a-z]*: / { printf "%03d total %s\n", histogram, $0 }
