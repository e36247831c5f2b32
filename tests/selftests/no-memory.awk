# SPDX-License-Identifier: GPL-2.0
#
# Of the kernel's log, what is not said of an allocation that failed: whoever asks
# vmalloc() for memory without __GFP_NOWARN has the stack shown.

/ (vmalloc error|page allocation failure): / { excused = 1 }
/[Cc]all [Tt]race:/ && excused { excused = 0; next }
{ print }
