# SPDX-License-Identifier: GPL-2.0
#
# Makes a hist file one whose entries are a line each, with what their actions keep: that is then
# for hist.awk.  The differences between the kernel and the module are taken away:
#
# * Columns of expressions and constants: the kernel computes and does not show them, or shows them
#   without a name; a variable of another histogram without its "$".
# * Numbers below zero: the kernel shows 2^64 more.
# * What save() has kept: the kernel shows it once more behind each other "max:" and "changed:".
# * A text that save() has not kept yet: the kernel shows "(null)".
# * An expression that refers to a variable twice, once with its event: the kernel lists the event
#   both times.

# Returns 2^64 less the number, which has up to nine digits.
function wrapped(digits,	low) {
	low = 709551616 - digits
	return low >= 0 ? sprintf("18446744073%09d", low) : sprintf("18446744072%09d", low + 1000000000)
}

function unsigned(line,	out) {
	while (match(line, /: *-[0-9]+/)) {
		out = out substr(line, 1, RSTART)
		digits = substr(line, RSTART + 1, RLENGTH - 1)
		line = substr(line, RSTART + RLENGTH)
		gsub(/[ -]/, "", digits)
		out = out " " wrapped(digits)
	}
	return out line
}

function put(line) {
	line = unsigned(line)
	# Widths differ with signs.
	gsub(/: +/, ": ", line)
	gsub(/  [^ :]*[-+*\/][^ :]*: [0-9]+/, "", line)
	gsub(/  [0-9]*: [0-9]+/, "", line)
	gsub(/  [$]/, "  ", line)
	sub(/^[{] [0-9]+: /, "{ : ", line)
	print line
}

# Notes what an action shows, each value once, in order of the text.
function keep(line,	parts, count, n, at) {
	gsub(/[(]null[)]/, "      ", line)
	line = unsigned(substr(line, 2))
	gsub(/: +/, ": ", line)
	sub(/ +$/, "", line)
	count = split(line, parts, /  +/)
	for (n = 1; n <= count; n++) {
		for (at = kept; at > 0 && was[at] > parts[n]; at--)
			was[at + 1] = was[at]
		if (at > 0 && was[at] == parts[n]) {
			for (at++; at <= kept; at++)
				was[at] = was[at + 1]
			continue
		}
		was[at + 1] = parts[n]
		kept++
	}
}

function flush(	n) {
	for (n = 1; n <= kept; n++)
		held = held "  " was[n]
	kept = 0
	if (held)
		put(held)
	held = ""
}

/^# trigger info/ { gsub(/kprobes[.]in[.][$]/, "$") }
/^[{]/ { flush(); held = $0; next }
held && /^\t/ { keep($0); next }
{ flush() }
/triggered by event/ { gsub(/\t/, " "); print "    Snapshot: " unsigned($0); next }
{ print }
END { flush() }
