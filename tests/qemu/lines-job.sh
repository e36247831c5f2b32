# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# The job of the guest of test-lines: writes each of /definitions to dynamic_events.  What is refused must be
# explained: error_log has the definition, a caret below its place, and why no probe can be there.

cd /sys/kernel/debug/ferroprobe || exit 1
accepted=0 explained=0 status=0
while IFS= read -r definition; do
	if echo "$definition" 2>/dev/null >>dynamic_events; then
		accepted=$((accepted + 1))
		continue
	fi
	# awk would take the backslash of a constant in -v for more than that.
	if tail -n 3 error_log | definition=$definition awk '
		BEGIN { definition = ENVIRON["definition"] }
		NR == 1 { says = /error: [^:]*: .* cannot be probed: ./ }
		NR == 2 { column = index($0, definition); is_it = column > 0 }
		NR == 3 { points = index($0, "^") == column + index(definition, " ") }
		END { exit !(says && is_it && points) }
	'; then
		explained=$((explained + 1))
		tail -n 3 error_log | sed 's/^/# /'
	else
		status=1
		echo "not ok - $definition"
		tail -n 3 error_log | sed 's/^/# /'
	fi
done </definitions
echo "# $accepted definitions are accepted, $explained refused with an explanation"
# Where nothing is written, nothing is refused.
[ "$accepted" -gt 0 ] || status=1
[ "$accepted" -eq "$(grep -c '^p:drawn/' dynamic_events)" ] || status=1
exit "$status"
