/* SPDX-License-Identifier: GPL-2.0 */
/* Which unwinder walks stacks: the parameter "unwinder", and what a comparison has shown. */
#ifndef FERROPROBE_UNWIND_CHECK_H
#define FERROPROBE_UNWIND_CHECK_H

#include "../stack.h"

enum unwinder { UNWINDER_OWN, UNWINDER_KERNEL, UNWINDER_BOTH };

extern unsigned int ferroprobe_unwinder;

/* Frames of a stack that are compared. */
#define MOST_COMPARED 32

/* Counts a stack that the kernel's unwinder walks from @code on. */
void ferroprobe_unwind_handed_over(u64 code);
/*
 * Compares what both have found: addresses, and the number of frames, which may be marked as cut.
 * The kernel's has room for MOST_COMPARED frames.
 */
void ferroprobe_unwind_compare(const u64 *own, u32 own_count, const u64 *kernel, u32 kernel_count);

#endif
