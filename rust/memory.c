// SPDX-License-Identifier: GPL-2.0
/*
 * Memory whose size a user chooses.  The kernel may answer a request for too much by killing a
 * task, so the module asks only if that much is available, with some to spare.
 */

#include <linux/atomic.h>
#include <linux/dcache.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <linux/vmstat.h>

#include "helpers.h"

/* Returns how many pages to leave to others: 1/16 of memory, at most 64 MiB. */
static unsigned long spare_pages(void)
{
	return min(totalram_pages() / 16, SZ_64M / PAGE_SIZE);
}

/* Files and directories of this module in debugfs. */
static atomic_long_t files = ATOMIC_LONG_INIT(0);

void ferroprobe_count_files(long by)
{
	atomic_long_add(by, &files);
}

/* Returns how many pages of debugfs files the kernel counts as available though they are in use. */
static long pages_of_files(void)
{
	/* An inode of debugfs is an inode and a pointer. */
	long bytes = sizeof(struct dentry) + sizeof(struct inode) + sizeof(void *);

	return atomic_long_read(&files) * bytes / PAGE_SIZE;
}

bool ferroprobe_memory_suffices(size_t size)
{
	/* Free CMA pages are not available to the kernel's own allocations. */
	long available = si_mem_available() - (long)global_zone_page_state(NR_FREE_CMA_PAGES);
	unsigned long left;

	available -= pages_of_files();
	if (available <= 0)
		return false;
	/*
	 * The available memory is an estimate.  Allocating the last of it invokes the OOM
	 * killer whatever the flags.
	 */
	left = max((unsigned long)available / 8, spare_pages());
	return DIV_ROUND_UP(size, PAGE_SIZE) + left <= (unsigned long)available;
}

void *ferroprobe_alloc_pages(size_t size)
{
	if (!ferroprobe_memory_suffices(size))
		return NULL;
	return __vmalloc(size, GFP_KERNEL | __GFP_ZERO | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
}

void *ferroprobe_alloc_zeroed(size_t size)
{
	gfp_t flags = GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN;
	void *memory = NULL;

	if (!ferroprobe_memory_suffices(size))
		return NULL;
	if (size <= PAGE_SIZE)
		return kmalloc(size, flags | __GFP_RETRY_MAYFAIL);
	/* Small memory is contiguous if such memory is free. */
	if (size <= KMALLOC_MAX_SIZE)
		memory = kmalloc(size, flags & ~__GFP_DIRECT_RECLAIM);
	return memory ?: __vmalloc(size, flags | __GFP_RETRY_MAYFAIL);
}

void ferroprobe_free(void *memory)
{
	kvfree(memory);
}
