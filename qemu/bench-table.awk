# SPDX-License-Identifier: GPL-2.0
#
# Prints the rows of bench.tsv as a table, with the peer's cost relative to ours.

BEGIN { FS = "\t" }

{
	if (NR == 1)
		ratio = "peer/ours"
	else if ($3 + 0 > 0 && $4 + 0 > 0)
		ratio = sprintf("%.1f", $4 / $3)
	else
		ratio = "-"
	printf "%-7s %-54s %10s %10s %6s %9s\n", $1, $2, $3, $4, $5, ratio
}
