/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The stacks of probed code.  They begin with the probed code itself: what the kernel has
 * put on the stack to call the probe is never among the frames.
 *
 * What the files of the architectures have in common.
 */
#ifndef FERROPROBE_STACK_H
#define FERROPROBE_STACK_H

#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>
#include <linux/unaligned.h>

#include "arch/code.h"
#include "helpers.h"

/* Where the addresses are written. */
struct frames {
	u64 *to;
	u32 count;
	u32 room;
	/* Whether there is one more than there is room for. */
	bool is_cut;
};

static __always_inline bool put(struct frames *frames, u64 address)
{
	if (frames->count == frames->room)
		return false;
	put_unaligned(address, frames->to + frames->count++);
	return true;
}

/* What a function returns that has followed the stack of the kernel. */
static __always_inline u32 followed(const struct frames *frames)
{
	return frames->count | (frames->is_cut ? FERROPROBE_STACK_CUT : 0);
}

/*
 * Frames of ftrace between the probe and the function to be skipped, at most: where the kernel
 * checks the types of functions that are called by a pointer, ftrace reports tracepoints.
 */
#define FRAMES_OF_FTRACE (IS_ENABLED(CONFIG_CFI) ? 3 : 0)

/* Whether a frame, behind @count others that are not known to be so, belongs to the probe. */
static __always_inline bool is_plumbing(u64 address, u64 skip, u64 skip_size, u32 count)
{
	if (count > FRAMES_OF_FTRACE)
		return false;
	/* A return address may be just behind the function. */
	return address - 1 - skip < skip_size ||
	       (!count && within_module_mem_type(address, THIS_MODULE, MOD_TEXT));
}

/* Puts a frame of a stack on top of which is the probe; returns false if there is no room. */
static __always_inline bool put_behind_probe(struct frames *frames, u64 address, u64 skip,
					     u64 skip_size)
{
	if (is_plumbing(address, skip, skip_size, frames->count)) {
		frames->count = 0;
		return true;
	}
	return put(frames, address);
}

/*
 * Whether the task has a user's registers, and what they are.  The caller knows whether the
 * probed code is an NMI, which in_nmi() cannot tell: a breakpoint of x86 is entered as one.
 */
static __always_inline struct pt_regs *user_regs(void)
{
	struct pt_regs *regs = task_pt_regs(current);

	if (current->flags & (PF_KTHREAD | PF_USER_WORKER) || !user_mode(regs))
		return NULL;
	return regs;
}

/* What a frame pointer of a user points to. */
struct user_frame {
	u64 fp;
	u64 to;
};

/* Follows the records from @fp on, which is not below @low. */
static __always_inline void follow_user(struct frames *frames, u64 fp, u64 low)
{
	struct user_frame frame;

	while (fp >= low && !(fp & 7) && frames->count < frames->room) {
		if (copy_from_user_nofault(&frame, (void __user *)fp, sizeof(frame)))
			break;
		frame.to = strip_user_code(frame.to);
		if (!frame.to || !put(frames, frame.to))
			break;
		low = fp + sizeof(frame);
		fp = frame.fp;
	}
}

#endif
