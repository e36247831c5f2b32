# SPDX-License-Identifier: GPL-2.0
#
# Prints COUNT different histograms of an event with the fields n s b h q p c, whose keys,
# modifiers, values, orders and filters are drawn by SEED.

function draw(below) {
	seed = (seed * 16807) % 2147483647
	return seed % below
}

function pick(list,	parts, count) {
	count = split(list, parts, " ")
	return parts[draw(count) + 1]
}

function bare(field) {
	sub(/\..*/, "", field)
	return field
}

BEGIN {
	seed = SEED % 2147483646 + 1
	numbers = "n s b h q"
	for (i = 0; i < 20; i++)
		draw(2)
	while (count < COUNT) {
		# Each kind of key is drawn as the first one.
		keys = ""
		bares = " "
		many = 1 + draw(3)
		for (k = 0; k < many; k++) {
			kind = k ? draw(9) : tried++ % 13
			if (kind < 5)
				key = pick(numbers)
			else if (kind == 5)
				key = pick(numbers) ".hex"
			else if (kind == 6)
				key = pick("n b q") ".log2"
			else if (kind == 7)
				key = pick("n b q") ".buckets=" pick("2 3 7 10 100")
			else if (kind == 8)
				key = pick("c common_pid common_pid.execname common_cpu common_comm")
			else if (kind == 9)
				key = "p" pick(".sym .sym-offset .hex")
			else if (kind == 10)
				key = pick("n b") ".syscall"
			else if (kind == 11)
				key = "common_stacktrace"
			else
				key = pick("common_timestamp common_timestamp.usecs")
			if (index(bares, " " bare(key) " ") || key ~ /timestamp/ && many > 1)
				continue
			bares = bares bare(key) " "
			keys = keys (keys ? "," : "") key
		}
		if (!keys)
			continue
		text = "keys=" keys
		sorts = keys ~ /stacktrace|timestamp/ ? "hitcount" : "hitcount" bares
		values = draw(3)
		vals = ""
		for (v = 0; v < values; v++) {
			val = pick(numbers)
			if (index(bares, " " val " "))
				continue
			bares = bares val " "
			sorts = sorts " " val
			vals = vals (vals ? "," : "") val pick(" .hex .percent .graph . .")
		}
		gsub(/\.,/, ",", vals)
		sub(/\.$/, "", vals)
		hidden = vals && draw(6) == 0
		if (vals)
			text = text ":vals=" vals
		if (hidden)
			sub(/^hitcount/, "", sorts)
		if (draw(3)) {
			first = pick(sorts)
			second = pick(sorts)
			text = text ":sort=" first pick(". .descending .ascending")
			if (second != first && draw(2))
				text = text "," second pick(". .descending")
		} else if (hidden) {
			text = text ":sort=" pick(sorts)
		}
		gsub(/\.,/, ",", text)
		sub(/\.$/, "", text)
		text = text ":size=" pick("128 256")
		if (hidden)
			text = text ":nohitcount"
		if (draw(3) == 0)
			text = text pick("@if@n@>@3 @if@n@!=@5@&&@s@<@20 @if@c@~@\"fp*\" @if@q@&@1")
		gsub(/@/, " ", text)
		if (text in seen)
			continue
		seen[text] = 1
		print text
		count++
	}
}
