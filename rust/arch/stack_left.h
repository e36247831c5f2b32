/* SPDX-License-Identifier: GPL-2.0 */
/* How much of a stack is left, where that takes more than a look at its pointer. */
#ifndef FERROPROBE_STACK_LEFT_H
#define FERROPROBE_STACK_LEFT_H

#include <linux/types.h>

#ifdef CONFIG_X86_64
/*
 * The bytes from the bottom of a stack of this CPU, other than the task's, to @here; 0 if @here is
 * on none that is known.  Context: any, on the CPU.
 */
size_t ferroprobe_stack_left(size_t here);
/* Tells at which address the kernel has the per-CPU variable hardirq_stack_ptr; 0 if nowhere. */
void ferroprobe_stack_learn_irqs(u64 variable);
#endif

#endif
