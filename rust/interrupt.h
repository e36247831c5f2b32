/* SPDX-License-Identifier: GPL-2.0 */
/* What timers and watchpoints have in common. */
#ifndef FERROPROBE_INTERRUPT_H
#define FERROPROBE_INTERRUPT_H

#include <linux/types.h>

#include "helpers.h"

struct ferroprobe_interrupts_type {
	/* Arm or disarm all.  Only one call at a time. */
	int (*set_armed)(struct ferroprobe_interrupts *interrupts, bool armed);
	/*
	 * Called on @cpu, when it comes online or the interrupts are added; and when it goes offline
	 * or they are removed.  Context: process, may sleep.
	 */
	int (*start)(struct ferroprobe_interrupts *interrupts, unsigned int cpu);
	void (*stop)(struct ferroprobe_interrupts *interrupts, unsigned int cpu);
	void (*release)(struct ferroprobe_interrupts *interrupts);
	/* Returns the number of hits that could not be reported; may be NULL. */
	u64 (*missed)(struct ferroprobe_interrupts *interrupts);
};

struct ferroprobe_interrupts {
	const struct ferroprobe_interrupts_type *type;
	ferroprobe_interrupt_fn hit;
	void *data;
	struct hlist_node node;
	bool is_added;
};

/*
 * Calls start() on each online CPU, and on those that come online; the first error undoes it, and
 * is returned.
 */
int ferroprobe_interrupts_add(struct ferroprobe_interrupts *interrupts);
/* Undoes ferroprobe_interrupts_add(), if there was one that succeeded. */
void ferroprobe_interrupts_remove(struct ferroprobe_interrupts *interrupts);

#endif
