# SPDX-License-Identifier: GPL-2.0
#
# Makes of a line of trace_json, for the event of json.tc, the line of trace, without the
# spaces of its columns.

def hex: if . < 10 then 48 + . else 87 + . end;
# A byte as trace escapes it.
def escaped: "\\x" + ([(. / 16 | floor), . % 16] | map(hex) | implode);
# A string as trace shows it.
def shown:
	if test("[\\x00-\\x1f\\x7f\\x{ef80}-\\x{efff}]") then
		explode
		| map(if . == 10 then "\\n"
			elif . == 9 then "\\t"
			elif . == 13 then "\\r"
			elif . < 32 or . == 127 then escaped
			elif . >= 61312 and . <= 61439 then . - 61184 | escaped
			else [.] | implode end)
		| join("")
	else . end;
def time:
	(. + 500) / 1000 | floor
	| "\(. / 1000000 | floor).\(. % 1000000 + 1000000 | tostring | .[1:])";

select(.event == "e")
| "\(.comm)-\(.pid) [\(.cpu)] \(.flags) \(.ts | time): \(.event): (\(.ip)) n=\(.args.n) " +
"m=\(.args.m) s=\"\(.args.s | shown)\" a={\(.args.a | map(tostring) | join(","))} " +
"f=\(if .args.f == null and .faults == ["f"] then "(fault)" else "?" end) y=\(.args.y)"
