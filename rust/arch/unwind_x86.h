/* SPDX-License-Identifier: GPL-2.0 */
/* An unwinder with a memory: what the kernel's ORC says about an address is asked for once. */
#ifndef FERROPROBE_UNWIND_X86_H
#define FERROPROBE_UNWIND_X86_H

#include <linux/types.h>

#include "../stack.h"

/*
 * A frame: the address of its code, or the last byte of the call in it, and its registers; and the
 * function that called the probe, whose frames are skipped.
 */
struct place {
	u64 code;
	u64 sp;
	u64 bp;
	u64 skip;
	u64 skip_size;
};

/*
 * Adds the callers of the frame @place as far as this unwinder knows the way.  Returns whether the
 * stack has been walked to its end or to the end of the room; otherwise @place is the last frame
 * that was reached, and the kernel's unwinder is to go on from there.  @irqs is the end of this
 * CPU's interrupt stack; 0 if it is not known.
 */
bool ferroprobe_unwind(struct frames *frames, struct place *place, u64 irqs);

#endif
