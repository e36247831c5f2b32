/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Our own unwinder: what the kernel's ORC says about an address is asked for once, and remembered;
 * without ORC, the frame pointers are followed.
 */
#ifndef FERROPROBE_UNWIND_X86_H
#define FERROPROBE_UNWIND_X86_H

#include <linux/sched/task_stack.h>
#include <linux/types.h>

#include "../stack.h"
#include "unwind_guard.h"

/* Where a walk begins or goes on: a frame. */
struct start {
	/* The address of its code, or the last byte of the call in it. */
	u64 code;
	u64 sp;
	u64 bp;
	/* All registers of the first frame, if they are known. */
	const struct pt_regs *first;
	/* Without ORC: whether the function has not made its frame record yet. */
	bool has_no_record;
	/* Whether it begins in this module, whose frames are skipped. */
	bool is_here;
	/* The function that called the probe, whose frames are skipped then. */
	u64 skip;
	u64 skip_size;
};

/*
 * Writes the frame of the code at @code, and its callers, no more than @room.  Where this unwinder
 * does not know the way, the kernel's goes on.  @first are all registers of the frame, or NULL.
 * Returns the number of frames, with FERROPROBE_STACK_CUT if there are more.
 */
u32 ferroprobe_unwind(u64 *to, u32 room, u64 code, u64 sp, u64 bp, const struct pt_regs *first);

/*
 * The same where the walk begins in this module; without ORC, also where the function has not made
 * its frame record yet.
 */
u32 ferroprobe_unwind_from(u64 *to, u32 room, const struct start *start);

/* The same by the kernel's unwinder alone, behind @count frames, the last of which is @start. */
u32 ferroprobe_unwind_by_kernel(u64 *to, u32 count, u32 room, const struct start *start);

/* Returns the end of this CPU's interrupt stack; 0 if it is not known. */
u64 ferroprobe_irq_stack_end(void);

/* The end of the stack that @sp is on; 0 if it is not known. */
static __always_inline u64 limit_of_stack(u64 sp)
{
	u64 task = (u64)task_stack_page(current), end;

	if (likely(sp - task < THREAD_SIZE))
		return task + THREAD_SIZE;
	end = ferroprobe_irq_stack_end();
	return end && sp - (end - IRQ_STACK_SIZE) < IRQ_STACK_SIZE ? end : 0;
}

/* Reads a word of a stack. */
static __always_inline u64 stack_word(u64 at)
{
	return READ_ONCE_NOCHECK(*(u64 *)at);
}

#endif
