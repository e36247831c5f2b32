// SPDX-License-Identifier: GPL-2.0
/* The buffers of a pipe in use are counted by a function: in 7.2, not in 6.12. */
#include <linux/fs.h>
#include <linux/mutex.h>
#include <linux/wait.h>
#include <linux/pipe_fs_i.h>

unsigned int used(const struct pipe_inode_info *pipe)
{
	return pipe_buf_usage(pipe);
}
