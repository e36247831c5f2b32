// SPDX-License-Identifier: GPL-2.0
/*
 * Uprobes, and the files in which they are.
 *
 * A file is held by its path, as the kernel's own events do: the inode alone would outlive its
 * mount.  A program that is replaced by another file of the same name is not probed any more.
 */

#include <linux/dcache.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mutex.h>
#include <linux/namei.h>
#include <linux/path.h>
#include <linux/slab.h>
#include <linux/uprobes.h>

#include "helpers.h"
#include "series/uprobe.h"

struct ferroprobe_program {
	struct path path;
	/* NULL if the file cannot be read. */
	struct file *file;
};

struct ferroprobe_uprobe {
	struct uprobe_consumer consumer;
	struct path path;
	loff_t offset, counter;
	/* NULL if disarmed. */
	struct uprobe *uprobe;
	/* Whether the kernel may still call the consumer, although it is disarmed. */
	bool may_run;
	void (*serve)(void *data, struct pt_regs *regs, u64 function);
	void *data;
};

/* Held while a uprobe is armed or disarmed.  Behind it are the kernel's locks of uprobes. */
static DEFINE_MUTEX(arming);

struct ferroprobe_program *ferroprobe_program_open(const char *path)
{
	struct ferroprobe_program *program = kzalloc(sizeof(*program), GFP_KERNEL);
	struct file *file;
	int error;

	if (!program)
		return ERR_PTR(-ENOMEM);
	error = kern_path(path, LOOKUP_FOLLOW, &program->path);
	if (error) {
		kfree(program);
		return ERR_PTR(error);
	}
	if (!d_is_reg(program->path.dentry)) {
		path_put(&program->path);
		kfree(program);
		return ERR_PTR(-EISDIR);
	}
	file = dentry_open(&program->path, O_RDONLY | O_LARGEFILE, current_cred());
	program->file = IS_ERR(file) ? NULL : file;
	return program;
}

void ferroprobe_program_close(struct ferroprobe_program *program)
{
	if (program->file)
		fput(program->file);
	path_put(&program->path);
	kfree(program);
}

s64 ferroprobe_program_read(struct ferroprobe_program *program, u64 offset, void *to, size_t size)
{
	loff_t at = offset;

	if (!program->file)
		return -EACCES;
	return kernel_read(program->file, to, size, &at);
}

u64 ferroprobe_program_size(const struct ferroprobe_program *program)
{
	return i_size_read(d_real_inode(program->path.dentry));
}

static int entered(struct uprobe_consumer *self, struct pt_regs *regs FERROPROBE_UPROBE_DATA)
{
	struct ferroprobe_uprobe *uprobe = container_of(self, struct ferroprobe_uprobe, consumer);

	uprobe->serve(uprobe->data, regs, instruction_pointer(regs));
	return 0;
}

static int returned(struct uprobe_consumer *self, unsigned long function,
		    struct pt_regs *regs FERROPROBE_UPROBE_DATA)
{
	struct ferroprobe_uprobe *uprobe = container_of(self, struct ferroprobe_uprobe, consumer);

	uprobe->serve(uprobe->data, regs, function);
	return 0;
}

struct ferroprobe_uprobe *ferroprobe_uprobe_new(const struct ferroprobe_program *program,
						u64 offset, u64 counter, bool returns,
						void (*serve)(void *data, struct pt_regs *regs,
							      u64 function),
						void *data)
{
	struct ferroprobe_uprobe *uprobe = kzalloc(sizeof(*uprobe), GFP_KERNEL);

	if (!uprobe)
		return NULL;
	if (returns)
		uprobe->consumer.ret_handler = returned;
	else
		uprobe->consumer.handler = entered;
	uprobe->path = program->path;
	path_get(&uprobe->path);
	uprobe->offset = offset;
	uprobe->counter = counter;
	uprobe->serve = serve;
	uprobe->data = data;
	return uprobe;
}

static void wait_locked(struct ferroprobe_uprobe *uprobe)
{
	if (uprobe->may_run)
		uprobe_unregister_sync();
	uprobe->may_run = false;
}

int ferroprobe_uprobe_arm(struct ferroprobe_uprobe *uprobe)
{
	struct uprobe *registered;
	int error = 0;

	mutex_lock(&arming);
	if (!uprobe->uprobe) {
		/* A list of consumers that is being walked must not lead to another list. */
		wait_locked(uprobe);
		registered = uprobe_register(d_real_inode(uprobe->path.dentry), uprobe->offset,
					     uprobe->counter, &uprobe->consumer);
		if (IS_ERR(registered))
			error = PTR_ERR(registered);
		else
			uprobe->uprobe = registered;
	}
	mutex_unlock(&arming);
	return error;
}

bool ferroprobe_uprobe_disarm(struct ferroprobe_uprobe *uprobe)
{
	bool may_run;

	mutex_lock(&arming);
	if (uprobe->uprobe) {
		uprobe_unregister_nosync(uprobe->uprobe, &uprobe->consumer);
		uprobe->uprobe = NULL;
		uprobe->may_run = true;
	}
	may_run = uprobe->may_run;
	mutex_unlock(&arming);
	return may_run;
}

void ferroprobe_uprobes_wait(void)
{
	uprobe_unregister_sync();
}

void ferroprobe_uprobe_free(struct ferroprobe_uprobe *uprobe)
{
	path_put(&uprobe->path);
	kfree(uprobe);
}
