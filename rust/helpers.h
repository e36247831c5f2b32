/* SPDX-License-Identifier: GPL-2.0 */
/* Inlines and macros of the kernel that Rust cannot call, as functions. */
#ifndef FERROPROBE_HELPERS_H
#define FERROPROBE_HELPERS_H

#include <linux/types.h>

struct delayed_work;
struct iov_iter;
struct irq_work;
struct wait_queue_head;
struct work_struct;

/* Of any number; the offset is 0 where no CPU can have it. */
bool ferroprobe_cpu_possible(unsigned int cpu);
bool ferroprobe_cpu_online(unsigned int cpu);
unsigned long ferroprobe_per_cpu_offset(unsigned int cpu);
void ferroprobe_init_irq_work(struct irq_work *work,
			      void (*func)(struct irq_work *));
void ferroprobe_init_waitqueue_head(struct wait_queue_head *queue);
void ferroprobe_init_delayed_work(struct delayed_work *work,
				  void (*func)(struct work_struct *));
/*
 * Zeroed memory in pages; NULL where there is not as much.  Asking for too much
 * neither ends a task nor is reported.
 */
void *ferroprobe_alloc_pages(size_t size);
void ferroprobe_free_pages(void *pages);
int ferroprobe_kprobes_locked_down(void);
void ferroprobe_preempt_disable(void);
void ferroprobe_preempt_enable(void);
unsigned long ferroprobe_task_size(void);
u64 ferroprobe_local_clock(void);
u64 ferroprobe_uptime(void);
/* Of the processor's counter, where that is good as a clock; otherwise 0. */
u64 ferroprobe_counter_hertz(void);

/* Contexts: any. */
bool ferroprobe_read_kernel(void *to, u64 from, size_t size);
/* Bytes with the NUL, @room where the string is longer, or a negative errno. */
s64 ferroprobe_read_kernel_string(char *to, u64 from, size_t room);
/* The same; -EAGAIN where it cannot be done in this context. */
s64 ferroprobe_read_user_string(char *to, u64 from, size_t room);

size_t ferroprobe_iov_iter_count(const struct iov_iter *iter);

#endif
