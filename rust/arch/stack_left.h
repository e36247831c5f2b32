/* SPDX-License-Identifier: GPL-2.0 */
/* How much of a stack is left, where that takes more than a look at its pointer. */
#ifndef FERROPROBE_STACK_LEFT_H
#define FERROPROBE_STACK_LEFT_H

#include <linux/types.h>

#ifdef CONFIG_X86_64
/*
 * Returns how many bytes are left below @here on a stack of this CPU other than the current task's;
 * 0 if the stack is not known.  Context: any, on the CPU.
 */
size_t ferroprobe_stack_left(size_t here);
/* Sets the address of the per-CPU variable hardirq_stack_ptr; 0 if the kernel has none. */
void ferroprobe_stack_learn_irqs(u64 variable);
#endif

#endif
