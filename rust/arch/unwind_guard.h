/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's unwinder is used once in each context of a CPU. */
#ifndef FERROPROBE_UNWIND_GUARD_H
#define FERROPROBE_UNWIND_GUARD_H

#include <linux/bits.h>
#include <linux/irqflags.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/types.h>

/* The contexts in which this CPU uses the kernel's unwinder, as bits. */
DECLARE_PER_CPU(u8, ferroprobe_unwinding);

/*
 * Returns the bit of this context.  The entry and the exit of an interrupt count as what it has
 * interrupted, but have interrupts disabled, unlike that.
 */
static __always_inline u8 unwinding_context(void)
{
	return BIT(2 * interrupt_context_level() + irqs_disabled());
}

/* Whether this context uses the kernel's unwinder. */
static __always_inline bool is_unwinding(void)
{
	return this_cpu_read(ferroprobe_unwinding) & unwinding_context();
}

/*
 * Begins to use the kernel's unwinder.  Returns 0 if this context uses it already: its functions
 * may be probed, and would otherwise call themselves by the stacks of their hits.
 */
static __always_inline u8 begin_unwinding(void)
{
	u8 context = unwinding_context();

	if (unlikely(is_unwinding()))
		return 0;
	this_cpu_or(ferroprobe_unwinding, context);
	return context;
}

/* Ends what begin_unwinding() has begun, and returned @context for. */
static __always_inline void end_unwinding(u8 context)
{
	this_cpu_and(ferroprobe_unwinding, (u8)~context);
}

#endif
