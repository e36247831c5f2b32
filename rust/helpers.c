// SPDX-License-Identifier: GPL-2.0
/* Wrappers for inline functions and macros of the kernel, which Rust cannot call. */

#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/fs.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/kallsyms.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/mount.h>
#include <linux/mutex.h>
#include <linux/namei.h>
#include <linux/percpu.h>
#include <linux/pipe_fs_i.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>
#include <linux/security.h>
#include <linux/splice.h>
#include <linux/suspend.h>
#include <linux/syscore_ops.h>
#include <linux/vmalloc.h>
#include <linux/vmstat.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#ifdef CONFIG_X86_64
#include <asm/tsc.h>
#endif
#ifdef CONFIG_ARM64
#include <clocksource/arm_arch_timer.h>
#include <asm/arch_timer.h>
#include <asm/virt.h>
#endif

#include "helpers.h"

bool ferroprobe_cpu_possible(unsigned int cpu)
{
	return cpu < nr_cpu_ids && cpu_possible(cpu);
}

bool ferroprobe_cpu_online(unsigned int cpu)
{
	return cpu < nr_cpu_ids && cpu_online(cpu);
}

void *ferroprobe_per_cpu_instance(void *base, unsigned int cpu)
{
	if (cpu >= nr_cpu_ids || !cpu_possible(cpu))
		return NULL;
	return base + per_cpu_offset(cpu);
}

unsigned long ferroprobe_per_cpu_offset(unsigned int cpu)
{
	return cpu < nr_cpu_ids ? per_cpu_offset(cpu) : 0;
}

void ferroprobe_init_hard_irq_work(struct irq_work *work,
				   void (*func)(struct irq_work *))
{
	/*
	 * Without PREEMPT_RT, plain irq_work runs in the interrupt too, and lockdep checks
	 * its locks.
	 */
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		*work = IRQ_WORK_INIT_HARD(func);
	else
		init_irq_work(work, func);
}

void ferroprobe_init_waitqueue_head(struct wait_queue_head *queue)
{
	init_waitqueue_head(queue);
}

void ferroprobe_init_delayed_work(struct delayed_work *work,
				  void (*func)(struct work_struct *))
{
	INIT_DELAYED_WORK(work, func);
}

void *ferroprobe_alloc_pages(size_t size)
{
	/* Free CMA pages are not available to the kernel's own allocations. */
	long for_movable = global_zone_page_state(NR_FREE_CMA_PAGES);
	size_t available = max(si_mem_available() - for_movable, 0L);

	/*
	 * The available memory is an estimate.  Allocating the last of it invokes the OOM
	 * killer whatever the flags, so leave an eighth of it.
	 */
	if (size / PAGE_SIZE >= available - available / 8)
		return NULL;
	return __vmalloc(size, GFP_KERNEL | __GFP_ZERO | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
}

void ferroprobe_free_pages(void *pages)
{
	vfree(pages);
}

int ferroprobe_kprobes_locked_down(void)
{
	return security_locked_down(LOCKDOWN_KPROBES);
}

void ferroprobe_cond_resched(void)
{
	cond_resched();
}

bool ferroprobe_fatal_signal_pending(void)
{
	return fatal_signal_pending(current);
}

void ferroprobe_preempt_disable(void)
{
	preempt_disable();
}

void ferroprobe_preempt_enable(void)
{
	preempt_enable();
}

void ferroprobe_preempt_enable_notrace(void)
{
	preempt_enable_notrace();
}

void ferroprobe_wait_for_hotplug(void)
{
	cpus_read_lock();
	cpus_read_unlock();
}

unsigned long ferroprobe_task_size(void)
{
	return TASK_SIZE_MAX;
}

/* The local_clock() at which the system went to sleep; 0 while it is awake. */
static u64 asleep_since;

u64 ferroprobe_local_clock(void)
{
	u64 since = READ_ONCE(asleep_since);

	return unlikely(since) ? since : local_clock();
}

static int fall_asleep(void *data)
{
	WRITE_ONCE(asleep_since, local_clock());
	return 0;
}

static void awake(void *data)
{
	WRITE_ONCE(asleep_since, 0);
}

/*
 * Registered after the kernel's own syscore_ops, and therefore suspended before them and
 * resumed after them.  Called on one CPU with interrupts disabled.
 */
static const struct syscore_ops sleep_ops = {
	.suspend = fall_asleep,
	.resume = awake,
};

static struct syscore sleep = {
	.ops = &sleep_ops,
};

static u64 sleeps;

static int after_sleep(struct notifier_block *block, unsigned long action, void *data)
{
	if (action == PM_POST_SUSPEND || action == PM_POST_HIBERNATION ||
	    action == PM_POST_RESTORE)
		WRITE_ONCE(sleeps, sleeps + 1);
	return NOTIFY_DONE;
}

static struct notifier_block sleep_block = {
	.notifier_call = after_sleep,
};

/* The number of watchers; what they share is registered while there is one. */
static unsigned int sleep_watchers;
static DEFINE_MUTEX(sleep_lock);

void ferroprobe_watch_sleep(void)
{
	mutex_lock(&sleep_lock);
	if (sleep_watchers++ == 0) {
		/* Fails only if the block is already registered. */
		register_pm_notifier(&sleep_block);
		register_syscore(&sleep);
	}
	mutex_unlock(&sleep_lock);
}

void ferroprobe_unwatch_sleep(void)
{
	mutex_lock(&sleep_lock);
	if (--sleep_watchers == 0) {
		unregister_syscore(&sleep);
		unregister_pm_notifier(&sleep_block);
	}
	mutex_unlock(&sleep_lock);
}

u64 ferroprobe_sleeps(void)
{
	return READ_ONCE(sleeps);
}

u64 ferroprobe_uptime(void)
{
	return jiffies_64_to_clock_t(get_jiffies_64() - INITIAL_JIFFIES);
}

u64 ferroprobe_counter_hertz(void)
{
#if defined(CONFIG_X86_64)
	return check_tsc_unstable() ? 0 : tsc_khz * 1000ull;
#elif defined(CONFIG_ARM64)
	char name[KSYM_SYMBOL_LEN];

	/* The kernel uses another function if the plain read may return wrong values. */
	sprint_symbol_no_offset(name, (unsigned long)arch_timer_read_counter);
	if (!strcmp(name, "arch_counter_get_cntvct"))
		return arch_timer_get_cntfrq();
	/*
	 * A KVM host uses the physical counter.  The virtual counter equals it if the
	 * kernel runs at EL2; at EL1 it has the offset of the virtual machine that the
	 * CPU runs, or was about to run.
	 */
	if (!strcmp(name, "arch_counter_get_cntpct") && is_kernel_in_hyp_mode())
		return arch_timer_get_cntfrq();
	return 0;
#else
	return 0;
#endif
}

u64 ferroprobe_strip_code(u64 pointer)
{
#ifdef CONFIG_ARM64
	return ptrauth_strip_kernel_insn_pac(pointer);
#else
	return pointer;
#endif
}

struct file *ferroprobe_open_sysfs(const char *path)
{
	/* sysfs is built in: there is no module reference to put. */
	struct file_system_type *sysfs = get_fs_type("sysfs");
	struct path root;
	struct file *file;

	if (!sysfs)
		return ERR_PTR(-ENODEV);
	/* The mount is in no namespace, so nothing can be mounted over its files. */
	root.mnt = vfs_kern_mount(sysfs, SB_KERNMOUNT, "sysfs", NULL);
	if (IS_ERR(root.mnt))
		return ERR_CAST(root.mnt);
	root.dentry = root.mnt->mnt_root;
	file = file_open_root(&root, path, O_RDONLY, 0);
	/* The file holds a reference to the mount. */
	mntput(root.mnt);
	return file;
}

bool ferroprobe_debugfs_is_mounted(void)
{
	struct path path;
	bool is_mounted;

	if (kern_path("/sys/kernel/debug", LOOKUP_FOLLOW, &path))
		return false;
	is_mounted = path.dentry->d_sb->s_magic == DEBUGFS_MAGIC;
	path_put(&path);
	return is_mounted;
}

size_t ferroprobe_file_path(const struct file *file, char *buffer, size_t size)
{
	/* It ends at the end of the buffer, with a NUL. */
	char *path = dentry_path_raw(file->f_path.dentry, buffer, min(size, PATH_MAX));
	size_t length;

	if (IS_ERR(path))
		return 0;
	length = strlen(path);
	memmove(buffer, path, length);
	return length;
}

void *ferroprobe_page_address(const struct page *page)
{
	return page_address(page);
}

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

bool ferroprobe_pages_unshared(const void *memory, size_t size)
{
	size_t done;

	/* Each further user, such as a pipe, has a reference. */
	for (done = 0; done < size; done += PAGE_SIZE)
		if (page_count(vmalloc_to_page(memory + done)) != 1)
			return false;
	/* What these users have read comes before what is stored next. */
	smp_mb();
	return true;
}

int ferroprobe_lend_to_pipe(struct pipe_inode_info *pipe, const void *memory, size_t size)
{
	size_t done;

	for (done = 0; done < size; done += PAGE_SIZE) {
		struct page *page = vmalloc_to_page(memory + done);
		ssize_t added;

		get_page(page);
		added = ferroprobe_add_to_pipe(pipe, page, PAGE_SIZE);
		/* Without readers, or without room: at the first page. */
		if (added < 0)
			return added;
	}
	return 0;
}
