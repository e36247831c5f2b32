// SPDX-License-Identifier: GPL-2.0
/*
 * What the own crate `kernel` calls, and the kernel has as macros or inline functions.
 */

#include "helpers.h"
#include <linux/bug.h>
#include <linux/gfp.h>
#include <linux/jiffies.h>
#include <linux/sched/signal.h>

void ferroprobe_bug(void)
{
	BUG();
}

void ferroprobe_warn_refcount(void)
{
	WARN_ONCE(1, "ferroprobe: a reference count overflowed, or was too low\n");
}

void *ferroprobe_krealloc(void *old, size_t size, gfp_t flags)
{
	return krealloc(old, size, flags);
}

void ferroprobe_kfree(void *memory)
{
	kfree(memory);
}

void *ferroprobe_kvrealloc(void *old, size_t size, gfp_t flags)
{
	return kvrealloc(old, size, flags);
}

void ferroprobe_kvfree(void *memory)
{
	kvfree(memory);
}

struct page *ferroprobe_alloc_page(gfp_t flags)
{
	return alloc_page(flags);
}

void ferroprobe_free_page(struct page *page)
{
	__free_page(page);
}

unsigned long ferroprobe_jiffies_of(unsigned int milliseconds)
{
	return msecs_to_jiffies(milliseconds);
}

bool ferroprobe_signal_pending(void)
{
	return signal_pending(current);
}

unsigned long ferroprobe_copy_from_user(void *to, const void __user *from, unsigned long count)
{
	return copy_from_user(to, from, count);
}

unsigned long ferroprobe_copy_to_user(void __user *to, const void *from, unsigned long count)
{
	return copy_to_user(to, from, count);
}

void ferroprobe_rcu_read_lock(void)
{
	rcu_read_lock();
}

void ferroprobe_rcu_read_unlock(void)
{
	rcu_read_unlock();
}

void ferroprobe_mutex_init(struct mutex *lock, const char *name, struct lock_class_key *key)
{
	__mutex_init(lock, name, key);
}

void ferroprobe_mutex_lock(struct mutex *lock)
{
	mutex_lock(lock);
}

bool ferroprobe_mutex_trylock(struct mutex *lock)
{
	return mutex_trylock(lock);
}

void ferroprobe_mutex_unlock(struct mutex *lock)
{
	mutex_unlock(lock);
}

unsigned long ferroprobe_vma_flags(const struct vm_area_struct *area)
{
	return area->vm_flags;
}

/* Called in mmap, where nothing else uses the area. */
void ferroprobe_vma_change(struct vm_area_struct *area, unsigned long set, unsigned long clear)
{
	vm_flags_mod(area, set, clear);
}

unsigned long ferroprobe_vma_start(const struct vm_area_struct *area)
{
	return area->vm_start;
}

unsigned long ferroprobe_vma_end(const struct vm_area_struct *area)
{
	return area->vm_end;
}

void ferroprobe_poll_wait(struct file *file, wait_queue_head_t *queue, poll_table *table)
{
	poll_wait(file, queue, table);
}
