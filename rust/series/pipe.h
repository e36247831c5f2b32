/* SPDX-License-Identifier: GPL-2.0 */
/* What differs between series for pipes. */

#ifndef FERROPROBE_SERIES_PIPE_H
#define FERROPROBE_SERIES_PIPE_H

#include <linux/pipe_fs_i.h>

#ifndef HAVE_pipe_buf_usage
static inline unsigned int pipe_buf_usage(const struct pipe_inode_info *pipe)
{
	return pipe_occupancy(pipe->head, pipe->tail);
}
#endif

#endif
