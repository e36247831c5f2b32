// SPDX-License-Identifier: GPL-2.0

#include <linux/mm.h>
#include <linux/vmalloc.h>

unsigned long ferroprobe_task_size(void)
{
	return TASK_SIZE_MAX;
}

void *ferroprobe_page_address(const struct page *page)
{
	return page_address(page);
}

bool ferroprobe_pages_unshared(const void *memory, size_t size)
{
	size_t done;

	/* Each further user, such as a pipe, has a reference. */
	for (done = 0; done < size; done += PAGE_SIZE)
		if (page_count(vmalloc_to_page(memory + done)) != 1)
			return false;
	/* Reads by these users are ordered before later stores. */
	smp_mb();
	return true;
}
