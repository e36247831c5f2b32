/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Input for bindgen, which generates the bindings of the own crate `kernel`; bindgen_parameters
 * selects the items.  The module's own bindings come from rust/bindings_helper.h.
 */

#include <linux/cgroup.h>
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/irq_work.h>
#include <linux/kallsyms.h>
#include <linux/kernfs.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/percpu.h>
#include <linux/pid.h>
#include <linux/pipe_fs_i.h>
#include <linux/poll.h>
#include <linux/printk.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/tracepoint-defs.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

static const u32 FERROPROBE_PAGE_SHIFT = PAGE_SHIFT;
static const u32 FERROPROBE_GFP_KERNEL = (__force u32)GFP_KERNEL;
static const u32 FERROPROBE_GFP_ZERO = (__force u32)__GFP_ZERO;
static const u64 FERROPROBE_VM_WRITE = VM_WRITE;
static const u64 FERROPROBE_VM_EXEC = VM_EXEC;
static const u64 FERROPROBE_VM_MAYWRITE = VM_MAYWRITE;
static const u64 FERROPROBE_VM_DONTCOPY = VM_DONTCOPY;
static const u64 FERROPROBE_VM_DONTEXPAND = VM_DONTEXPAND;
static const u64 FERROPROBE_VM_DONTDUMP = VM_DONTDUMP;

extern struct module __this_module;

void ferroprobe_bug(void) __noreturn;
void ferroprobe_warn_refcount(void);
void *ferroprobe_krealloc(void *old, size_t size, gfp_t flags);
void ferroprobe_kfree(void *memory);
void *ferroprobe_kvrealloc(void *old, size_t size, gfp_t flags);
void ferroprobe_kvfree(void *memory);
struct page *ferroprobe_alloc_page(gfp_t flags);
void ferroprobe_free_page(struct page *page);
unsigned long ferroprobe_jiffies_of(unsigned int milliseconds);
bool ferroprobe_signal_pending(void);
unsigned long ferroprobe_copy_from_user(void *to, const void __user *from, unsigned long count);
unsigned long ferroprobe_copy_to_user(void __user *to, const void *from, unsigned long count);
void ferroprobe_rcu_read_lock(void);
void ferroprobe_rcu_read_unlock(void);
void ferroprobe_mutex_init(struct mutex *lock, const char *name, struct lock_class_key *key);
void ferroprobe_mutex_lock(struct mutex *lock);
bool ferroprobe_mutex_trylock(struct mutex *lock);
void ferroprobe_mutex_unlock(struct mutex *lock);
unsigned long ferroprobe_vma_flags(const struct vm_area_struct *area);
void ferroprobe_vma_change(struct vm_area_struct *area, unsigned long set, unsigned long clear);
unsigned long ferroprobe_vma_start(const struct vm_area_struct *area);
unsigned long ferroprobe_vma_end(const struct vm_area_struct *area);
void ferroprobe_poll_wait(struct file *file, wait_queue_head_t *queue, poll_table *table);
