// SPDX-License-Identifier: GPL-2.0

#include <linux/mm.h>
#include <linux/pipe_fs_i.h>
#include <linux/splice.h>
#include <linux/vmalloc.h>
#include "../series/pipe.h"

unsigned int ferroprobe_pipe_room(const struct pipe_inode_info *pipe)
{
	unsigned int used = pipe_buf_usage(pipe);

	return pipe->max_usage - min(used, pipe->max_usage);
}

ssize_t ferroprobe_add_to_pipe(struct pipe_inode_info *pipe, struct page *page,
			       unsigned int length)
{
	struct pipe_buffer buffer = {
		.page = page,
		.len = length,
		.ops = &nosteal_pipe_buf_ops,
	};

	return add_to_pipe(pipe, &buffer);
}

int ferroprobe_lend_to_pipe(struct pipe_inode_info *pipe, const void *memory, size_t size)
{
	size_t done;

	for (done = 0; done < size; done += PAGE_SIZE) {
		struct page *page = vmalloc_to_page(memory + done);
		ssize_t added;

		get_page(page);
		added = ferroprobe_add_to_pipe(pipe, page, PAGE_SIZE);
		/* The pipe has no readers or no room.  This can only happen at the first page. */
		if (added < 0)
			return added;
	}
	return 0;
}
