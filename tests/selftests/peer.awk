# SPDX-License-Identifier: GPL-2.0
#
# Reads the numbered definitions, the list of intended differences, and what
# fpdiffer saw; prints the differences that the list does not have, and the rows
# of the list that no longer differ.  Succeeds if there are none.
#
# A row of the list is "SERIES<tab>ARCH<tab>WHAT<tab>DEFINITION"; "*" is any series
# or architecture.  With older=1 only what the kernel accepts is compared: an older series refuses
# other things, in other words.

BEGIN { FS = "\t" }

FNR == 1 { file++ }

file == 1 {
	if (NF > 1) {
		definition[$1] = $2
		for (i = 3; i <= NF; i++)
			definition[$1] = definition[$1] "\t" $i
		count++
	}
	next
}

file == 2 {
	if (/^#/ || NF < 4)
		next
	if (($1 == "*" || $1 == series) && ($2 == "*" || $2 == arch))
		intended[$3 "\t" $4] = FNR
	next
}

{
	key = $2 "\t" $3
	value = $4
	for (i = 5; i <= NF; i++)
		value = value "\t" $i
	if ($3 == "recorded") {
		# Other functions are called at other times by other tasks.
		if (!index(value, "(" call "+") && !index(value, " <- " call ")"))
			next
		# Ours is the place as it was defined; with IBT ftrace's is behind endbr64.
		if ($1 == "peer" && arch == "x86_64")
			sub("\\(" call "\\+0x4/", "(" call "+0x0/", value)
		# Of several return probes of one call only one can know the caller.
		sub(/^ \(.* <- /, " (... <- ", value)
	}
	if (!(key in seen)) {
		seen[key] = 1
		order[++keys] = key
	}
	if ($1 == "ours")
		ours[key] = ours[key] value "\n"
	else
		peer[key] = peer[key] value "\n"
	if ($3 == "errno" && $4 == 0)
		accepted[$1]++
	if ($3 == "recorded")
		recorded[$1]++
}

# Whether text shows a number of more than 48 bits that is no address of the kernel.  What lies on
# the stack may be a return address that is signed: we show the symbol, the peer the number.
function has_signed(text,   n, i, words) {
	n = split(text, words, "0x")
	for (i = 2; i <= n; i++)
		if (match(words[i], /^[0-9a-f]+/) && RLENGTH > 12 && substr(words[i], 1, 4) != "ffff")
			return 1
	return 0
}

# Whether ours is the peer's text, and more behind a colon.
function is_detailed(ours, peer) {
	sub(/[.]?\n$/, "", peer)
	return peer != "" && index(ours, peer ": ") == 1
}

# Whether two listings, or records, differ only in what arguments are called that are written
# without a name: the peer has argN for members and $comm, too.
function is_named(ours, peer, is_listed,   n, i, mine, others) {
	n = split(ours, mine, " ")
	if (split(peer, others, " ") != n)
		return 0
	for (i = 1; i <= n; i++) {
		if (mine[i] == others[i])
			continue
		if (!sub(/^arg[0-9]+=/, "", others[i]) || !sub(/^[A-Za-z_][A-Za-z_0-9]*=/, "", mine[i]) || mine[i] != others[i])
			return 0
		if (is_listed && mine[i] !~ /^[^\\].*(->|[.])[a-z_]/ && mine[i] !~ /^[$](comm|COMM)(:|$)/)
			return 0
	}
	return 1
}

# The event of a key, without its group.
function event_of(key) {
	sub(/^.*\//, "", key)
	return key
}

END {
	for (k = 1; k <= keys; k++) {
		split(order[k], part, "\t")
		if (part[2] == "listed" && is_named(ours[order[k]], peer[order[k]], 1))
			is_named_event[event_of(part[1])] = 1
	}
	for (k = 1; k <= keys; k++) {
		key = order[k]
		split(key, part, "\t")
		if (ours[key] == peer[key])
			continue
		if (part[2] == "listed" && is_named(ours[key], peer[key], 1))
			continue
		if (part[2] == "recorded" && is_named_event[event_of(part[1])] && is_named(ours[key], peer[key], 0))
			continue
		if (part[2] == "text" && is_detailed(ours[key], peer[key]))
			continue
		# Where the peer refuses without a word, we tell why.
		if (peer[part[1] "\ttext"] == "\n" && peer[part[1] "\terrno"] == ours[part[1] "\terrno"])
			continue
		# An event called after the number of its definition.
		number = event_of(part[1])
		if (number ~ /^e[0-9]+$/)
			number = substr(number, 2)
		text = (number in definition) ? definition[number] : part[1]
		# What was refused by one has no other outcome to compare.
		errno = number "\terrno"
		if (part[2] != "errno" && ours[errno] != peer[errno] && (ours[errno] == "0\n" || peer[errno] == "0\n"))
			continue
		if (older && peer[errno] != "0\n")
			continue
		if (arch == "arm64" && part[2] == "recorded" && text ~ /:symbol/ && has_signed(peer[key]))
			continue
		differing++
		row = part[2] "\t" text
		if (row in intended) {
			used[row] = 1
			continue
		}
		wrong++
		printf "%s\n  ours: %s  peer: %s", row, ours[key] == "" ? "nothing\n" : ours[key], peer[key] == "" ? "nothing\n" : peer[key]
	}
	for (row in intended)
		if (!(row in used) && !older) {
			wrong++
			printf "no longer differs (line %d): %s\n", intended[row], row
		}
	printf "definitions %d accepted %d/%d recorded %d/%d differences %d unexplained %d\n", count, accepted["ours"], accepted["peer"], recorded["ours"], recorded["peer"], differing, wrong
	if (wrong || !accepted["peer"] || accepted["peer"] == count || !recorded["peer"])
		exit 1
}
