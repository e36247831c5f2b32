# SPDX-License-Identifier: GPL-2.0
#
# The newest entry of an error_log as three lines: the message, the command,
# and the caret's column in the command, counted from 0.

/: error: /    { text = $0; sub(/.*: error: /, "", text); caret = "none" }
/^  Command: / { command = substr($0, 12) }
/^ *\^ *$/     { caret = index($0, "^") - 12 }
END            { print text; print command; print caret }
