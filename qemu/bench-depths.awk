# SPDX-License-Identifier: GPL-2.0
#
# Draws what stacks of different depth cost: an SVG of the rows of bench.tsv that qemu/bench-hits
# calls "a stack of N functions".  Solid lines are ours, dashed ones the kernel's.

BEGIN { FS = "\t"; left = 80; top = 50; width = 560; height = 300 }

match($2, /a stack of [0-9]+ functions/) {
	split(substr($2, RSTART, RLENGTH), word, " ")
	depth = word[4] + 0
	if (!($1 in known)) {
		known[$1] = ++archs
		arch[archs] = $1
	}
	n = ++rows[$1]
	at[$1, n] = depth
	ours[$1, n] = $3
	peer[$1, n] = $4
	if (depth > deepest)
		deepest = depth
	if ($3 > most)
		most = $3
	if ($4 > most)
		most = $4
}

function x(depth) { return left + width * depth / last_depth }
function y(cost) { return top + height - height * cost / highest }

# step(N): the least of 1, 2 and 5 times a power of ten with which at most 8 ticks reach N.
function step(n,  unit) {
	for (unit = 1; unit * 80 < n; unit *= 10)
		;
	return n <= unit * 8 ? unit : n <= unit * 16 ? unit * 2 : n <= unit * 40 ? unit * 5 : unit * 10
}

function line(name, costs, style,  i, points) {
	for (i = 1; i <= rows[name]; i++)
		points = points sprintf("%.1f,%.1f ", x(at[name, i]), y(costs[name, i]))
	printf "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s/>\n",
		points, colour[known[name]], style
	i = rows[name]
	return y(costs[name, i])
}

function label(name, whose, height_of) {
	printf "<text x=\"%.1f\" y=\"%.1f\" fill=\"%s\">%s, %s</text>\n", x(deepest) + 8, height_of + 4,
		colour[known[name]], name, whose
}

END {
	if (!archs) {
		print "bench-depths: no rows of stacks" > "/dev/stderr"
		exit 1
	}
	colour[1] = "#2060c0"
	colour[2] = "#c05020"
	tick_y = step(most)
	tick_x = 8
	highest = int((most + tick_y - 1) / tick_y) * tick_y
	last_depth = int((deepest + tick_x - 1) / tick_x) * tick_x
	print "<?xml version=\"1.0\" standalone=\"no\"?>"
	printf "<svg version=\"1.1\" width=\"800\" height=\"410\" viewBox=\"0 0 800 410\" "
	print "xmlns=\"http://www.w3.org/2000/svg\" font-family=\"monospace\" font-size=\"12\" fill=\"#222\">"
	print "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>"
	print "<text x=\"400\" y=\"24\" text-anchor=\"middle\" font-size=\"16\">What a stack costs, by its depth</text>"
	printf "<text x=\"%d\" y=\"40\" text-anchor=\"end\">instructions</text>\n", left + 20
	for (cost = 0; cost <= highest; cost += tick_y) {
		printf "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#ddd\"/>\n", left, y(cost),
			left + width, y(cost)
		printf "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%d</text>\n", left - 8, y(cost) + 4, cost
	}
	for (depth = 0; depth <= last_depth; depth += tick_x)
		printf "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%d</text>\n", x(depth),
			top + height + 18, depth
	printf "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">functions above the system call</text>\n",
		left + width / 2, top + height + 40
	for (i = 1; i <= archs; i++) {
		name = arch[i]
		end = line(name, ours, "")
		if (i > 1 && end - last_end < 14 && last_end - end < 14)
			end = last_end - 14
		label(name, "ours", end)
		last_end = end
	}
	for (i = 1; i <= archs; i++) {
		name = arch[i]
		label(name, "kernel", line(name, peer, " stroke-dasharray=\"6 4\""))
	}
	print "</svg>"
}
