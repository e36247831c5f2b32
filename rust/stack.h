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

/* The buffer for the addresses. */
struct frames {
	u64 *to;
	u32 count;
	u32 room;
	/* Whether the stack has more frames than fit. */
	bool is_cut;
};

static __always_inline bool put(struct frames *frames, u64 address)
{
	if (frames->count == frames->room)
		return false;
	put_unaligned(address, frames->to + frames->count++);
	return true;
}

/* Returns the result of a function that has walked a kernel stack. */
static __always_inline u32 followed(const struct frames *frames)
{
	return frames->count | (frames->is_cut ? FERROPROBE_STACK_CUT : 0);
}

/*
 * The most frames of ftrace between the probe and the function to skip: with CFI, ftrace reports
 * tracepoints.
 */
#define FRAMES_OF_FTRACE (IS_ENABLED(CONFIG_CFI) ? 3 : 0)

/*
 * Returns whether a frame, with @count unknown frames in front, is one of this module or of ftrace.
 */
static __always_inline bool is_plumbing(u64 address, u64 skip, u64 skip_size, u32 count)
{
	if (count > FRAMES_OF_FTRACE)
		return false;
	/* A return address may be just behind the function. */
	return address - 1 - skip < skip_size ||
	       (!count && within_module_mem_type(address, THIS_MODULE, MOD_TEXT));
}

/* Adds a frame unless is_plumbing(); returns false if there is no room. */
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
 * Returns the current task's user registers, or NULL.  The caller knows whether the probed code is
 * an NMI; in_nmi() cannot tell, as a breakpoint on x86 is entered like an NMI.
 */
static __always_inline struct pt_regs *user_regs(void)
{
	struct pt_regs *regs = task_pt_regs(current);

	if (current->flags & (PF_KTHREAD | PF_USER_WORKER) || !user_mode(regs))
		return NULL;
	return regs;
}

/* The frame record that a user's frame pointer points to. */
struct user_frame {
	u64 fp;
	u64 to;
};

/* Adds the frames whose records begin with @fp, which is not below @low. */
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
