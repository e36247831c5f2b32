/* SPDX-License-Identifier: GPL-2.0 */
/* Wrappers for inline functions and macros of the kernel, which Rust cannot call. */
#ifndef FERROPROBE_HELPERS_H
#define FERROPROBE_HELPERS_H

#include <linux/types.h>

struct delayed_work;
struct dentry;
struct file;
struct ferroprobe_user_dir;
struct file_operations;
struct fprobe;
struct ftrace_ops;
struct ftrace_regs;
struct inode;
struct irq_work;
struct module;
struct notifier_block;
struct page;
struct pipe_inode_info;
struct pt_regs;
struct tracepoint;
struct wait_queue_head;
struct work_struct;

/* @cpu may be any number.  The offset is 0 if no CPU can have that number. */
bool ferroprobe_cpu_possible(unsigned int cpu);
bool ferroprobe_cpu_online(unsigned int cpu);
bool ferroprobe_cpu_present(unsigned int cpu);
/* The instance of @cpu of a per-CPU allocation; NULL if the CPU is not possible. */
void *ferroprobe_per_cpu_instance(void *base, unsigned int cpu);
unsigned long ferroprobe_per_cpu_offset(unsigned int cpu);
void ferroprobe_init_hard_irq_work(struct irq_work *work,
				   void (*func)(struct irq_work *));
/*
 * Calls @call with @data when the kernel oopses, and when it panics, until the end.  Once for the
 * module.
 */
int ferroprobe_oops_begin(void (*call)(void *data, bool panics), void *data);
void ferroprobe_oops_end(void);
/*
 * Calls @call with @data on each CPU that comes online, with the lock of CPU hotplug held by who
 * waits for that, until the end.  Once for the module.
 */
int ferroprobe_arrivals_begin(void (*call)(void *data), void *data);
void ferroprobe_arrivals_end(void);
/* Calls @call with @data on @cpu, with interrupts disabled, and waits.  -ENXIO if it is offline. */
int ferroprobe_call_on(unsigned int cpu, void (*call)(void *data), void *data);
/* Byte @at of the parameter of the module, or -1 if it has no such byte. */
int ferroprobe_define(unsigned int at);
/* Byte @at of the name of the kernel's release, or -1 if it has no such byte. */
int ferroprobe_release(unsigned int at);
void ferroprobe_init_waitqueue_head(struct wait_queue_head *queue);
void ferroprobe_init_delayed_work(struct delayed_work *work,
				  void (*func)(struct work_struct *));
/*
 * Counts files and directories in debugfs, @by more of them: the kernel takes their memory for
 * available, as it takes that of other file systems that it can forget.
 */
void ferroprobe_count_files(long by);
/*
 * Returns whether so many bytes can be allocated, in one piece or many, without invoking the OOM
 * killer.
 */
bool ferroprobe_memory_suffices(size_t size);
/*
 * Return zeroed memory, the first whole pages of vmalloc, or NULL if memory is insufficient.  A
 * request that is too large neither invokes the OOM killer nor logs a warning.
 */
void *ferroprobe_alloc_pages(size_t size);
void *ferroprobe_alloc_zeroed(size_t size);
/* Frees the memory of either. */
void ferroprobe_free(void *memory);
int ferroprobe_kprobes_locked_down(void);
int ferroprobe_debugfs_locked_down(void);
/*
 * Writes the path of @file in its file system to @buffer, without a NUL.  Returns its length,
 * or 0 if it does not fit.
 */
size_t ferroprobe_file_path(const struct file *file, char *buffer, size_t size);
bool ferroprobe_fatal_signal_pending(void);
void ferroprobe_cond_resched(void);
void ferroprobe_preempt_disable(void);
void ferroprobe_preempt_enable(void);
void ferroprobe_preempt_enable_notrace(void);
/* Waits for all CPUs that are going offline or coming online at the time of the call. */
void ferroprobe_wait_for_hotplug(void);
unsigned long ferroprobe_task_size(void);
/*
 * Returns the scheduler's clock.  It stops during system sleep: from when the other CPUs
 * are offline until the kernel has corrected its own clocks.
 */
u64 ferroprobe_local_clock(void);
/*
 * While there is a watcher, ferroprobe_local_clock() stops during system sleep, and
 * ferroprobe_sleeps() counts.
 */
void ferroprobe_watch_sleep(void);
void ferroprobe_unwatch_sleep(void);
u64 ferroprobe_sleeps(void);
u64 ferroprobe_uptime(void);
/* Returns the frequency of the processor's counter; 0 if it is not usable as a clock. */
u64 ferroprobe_counter_hertz(void);

/* Context of the three reads: any.  Returns whether all @size bytes were read. */
bool ferroprobe_read_kernel(void *to, u64 from, size_t size);
/* Returns the length with the NUL, @room if the string is longer, or a negative errno. */
s64 ferroprobe_read_kernel_string(char *to, u64 from, size_t room);
/*
 * As above for user memory; -EAGAIN if this context does not allow it.  Behind the NUL, up
 * to @room, may be what follows the string.
 */
s64 ferroprobe_read_user_string(char *to, u64 from, size_t room);

/*
 * Copies a user string shorter than @room, with bytes behind its NUL, and returns its length with
 * the NUL, and FERROPROBE_ODD_TEXT if it has other than printable characters of ASCII.  Returns
 * -EFAULT if the string is longer or cannot be read, or is perhaps too near to where nothing can.
 * Context: process.  It does not sleep, and brings in no memory.
 */
#define FERROPROBE_ODD_TEXT (1UL << 32)
s64 ferroprobe_copy_user_text(char *to, u64 from, size_t room);
/* As above, without a look at the characters. */
s64 ferroprobe_copy_user_string(char *to, u64 from, size_t room);
/*
 * Copies @room bytes of user memory or, if @is_text, a string until its NUL.  Returns the number
 * of bytes that were copied, or -EFAULT if some cannot be read.  Context: as above; but where
 * nothing is mapped yet it looks into the page cache.
 */
s64 ferroprobe_copy_user(char *to, u64 from, size_t room, bool is_text);

/*
 * Copies @size bytes to the user address @to.  Returns whether all were copied; does not
 * bring in memory that is not there.
 */
bool ferroprobe_copy_at_once(void *to, const void *from, size_t size);

/* Returns the code address of @pointer, without its authentication code. */
u64 ferroprobe_strip_code(u64 pointer);

/* Opens @path, relative to the root of sysfs, for reading; an ERR_PTR on failure. */
struct file *ferroprobe_open_sysfs(const char *path);

/*
 * Returns whether the current task finds debugfs at /sys/kernel/debug.  Context: process, may
 * sleep.
 */
bool ferroprobe_debugfs_is_mounted(void);

/* Returns the memory of @page, which is not high memory. */
void *ferroprobe_page_address(const struct page *page);

/*
 * A file or a directory, in debugfs and in the module's own file system.  It refers to the
 * directory that it is in.
 */
struct ferroprobe_node;
/*
 * Make one, which nobody finds before it is shown, in @parent, or the root, whose parent is NULL;
 * an ERR_PTR on failure.  The name is copied.  A file has the permissions @mode in debugfs.
 */
struct ferroprobe_node *ferroprobe_node_dir(const char *name, struct ferroprobe_node *parent);
struct ferroprobe_node *ferroprobe_node_file(const char *name, struct ferroprobe_node *parent,
					     umode_t mode,
					     const struct file_operations *operations, void *data);
/* Shows one.  Returns 0 or an errno. */
int ferroprobe_node_show(struct ferroprobe_node *node);
/*
 * Removes one, which has no entries, shown or not, and waits until no open() of it runs.  It must
 * not be used afterwards.
 */
void ferroprobe_node_remove(struct ferroprobe_node *node);
/*
 * Lets mkdir(2) and rmdir(2) in the own file system call @user in @dir, with the directory's inode
 * locked.  Only before the file system can be mounted.
 */
void ferroprobe_node_user_dir(struct ferroprobe_node *dir, struct ferroprobe_user_dir *user);
/* Returns the data of the file whose inode, in either file system, is @inode. */
void *ferroprobe_node_data(const struct inode *inode);

/*
 * Returns whether loading the module has succeeded.  Until then the kernel gives out references to
 * the module, too, but does not look at them when loading fails: it frees the code.
 */
bool ferroprobe_is_loaded(void);
/*
 * Returns whether @file, which has operations of the module and is being opened, may be opened: not
 * before the module is loaded.  If not, the operations are no longer its, and open() must fail.
 */
bool ferroprobe_may_open(struct file *file);

/* Lets the own file system, with the root @root, be mounted.  Returns 0 or an errno. */
int ferroprobe_fs_begin(struct ferroprobe_node *root);
/* Ends that.  Only while the module is being unloaded, which no mount lets happen. */
void ferroprobe_fs_end(void);

/* What makes the files of a directory when somebody first enters it. */
struct ferroprobe_late_dir {
	/* Returns 0, or an errno that is returned to who enters.  May sleep. */
	int (*fill)(struct ferroprobe_late_dir *late);
};

/*
 * Tells that @late makes the files of @dir, or makes them once more, when somebody enters it next;
 * with NULL, that it does no more, and is not used any longer.  First before @dir is shown.
 */
void ferroprobe_late_dir_set(struct ferroprobe_node *dir, struct ferroprobe_late_dir *late);
/*
 * Waits until all tasks have left the functions that enter such directories, which have all
 * been removed.
 */
void ferroprobe_late_dirs_end(void);

/* What makes and removes the directories in a directory. */
struct ferroprobe_user_dir {
	/* Return 0, or an error, which the user gets. */
	int (*make)(struct ferroprobe_user_dir *dir, const char *name);
	int (*remove)(struct ferroprobe_user_dir *dir, const char *name);
};

/*
 * From now on mkdir(2) and rmdir(2) in @dir in debugfs, too, call what they call in the own file
 * system, several at a time, with a reference to the module held and without locks.
 */
void ferroprobe_user_dir_begin(struct ferroprobe_node *dir);
/* Ends that.  Only while the module is being unloaded. */
void ferroprobe_user_dir_end(struct ferroprobe_node *dir);

/* Returns how many pages can be added to the pipe.  Called with the pipe locked. */
unsigned int ferroprobe_pipe_room(const struct pipe_inode_info *pipe);
/* Adds the first @length bytes of @page, and takes over the caller's reference. */
/* Returns whether the vmalloc memory of whole pages is used by its owner alone. */
bool ferroprobe_pages_unshared(const void *memory, size_t size);
/*
 * Adds the vmalloc memory of whole pages to a locked pipe that has room for them.  Returns 0,
 * or an errno if nothing was added.
 */
int ferroprobe_lend_to_pipe(struct pipe_inode_info *pipe, const void *memory, size_t size);
ssize_t ferroprobe_add_to_pipe(struct pipe_inode_info *pipe, struct page *page,
			       unsigned int length);

/*
 * Write the addresses of the frames of a stack to @to, which need not be aligned: at
 * most @room of them, the innermost first.  Return how many were written, with
 * FERROPROBE_STACK_CUT if there are more.  Context: any, on the CPU and in the context that was
 * probed.
 */
#define FERROPROBE_STACK_CUT 0x80000000u
/* With the address @ip of the probe, which is in @function of @size bytes, and its registers. */
u32 ferroprobe_stack_of_probe(void *to, u32 room, const struct pt_regs *regs, u64 ip,
			      u64 function, u64 size);
/* With the registers that a kretprobe gets: from where the function returns to. */
u32 ferroprobe_stack_of_return(void *to, u32 room, const struct pt_regs *regs);
/* With the registers that ftrace saves when @function begins. */
u32 ferroprobe_stack_of_entry(void *to, u32 room, const void *entry, u64 function);
/* With the registers that ftrace saves when a function returns: from where it returns to. */
u32 ferroprobe_stack_of_exit(void *to, u32 room, const void *exit);
/* From what calls this module, or calls the function @skip, of @skip_size bytes, that does. */
u32 ferroprobe_stack_here(void *to, u32 room, u64 skip, u64 skip_size);
/* The frames of the task in user space, by frame pointers; 0 if it has none there.  Never marked. */
u32 ferroprobe_stack_of_user(void *to, u32 room);
/* Tells where functions return to while a kretprobe follows them. */
void ferroprobe_stack_learn(u64 trampoline);

/*
 * Returns 0, -ENOENT without tracepoints, or -EOPNOTSUPP if CFI forbids the probes and there is no
 * ftrace to report the functions that have their types.
 */
int ferroprobe_tracepoints_supported(void);
/*
 * Visits the tracepoints of @module, which must not go away meanwhile, or of the kernel.
 * @stub is the address of the function that has the type of the probes, @iterator the address
 * of the function that calls them where there are several.
 */
void ferroprobe_each_tracepoint(struct module *module,
				void (*visit)(struct tracepoint *point, const char *name,
					      u64 stub, u64 iterator, void *data),
				void *data);
int ferroprobe_tracepoint_register(struct tracepoint *point, void *probe, void *data);
/* @probe may still run until ferroprobe_tracepoints_synchronize() returns. */
void ferroprobe_tracepoint_unregister(struct tracepoint *point, void *probe, void *data);
/*
 * Waits for the probes of all tracepoints, or of those that are not faultable.  Probes of
 * faultable ones, the system calls', may sleep.  Ours do not, but others do, and so a user can
 * make the wait for these as long as he likes.
 */
void ferroprobe_tracepoints_synchronize(bool faultable);
bool ferroprobe_tracepoint_is_faultable(const struct tracepoint *point);
/*
 * Waits for the probes of faultable tracepoints, half a second at most.  Returns whether they
 * have all ended.
 */
bool ferroprobe_wait_for_faultable_probes(void);
/* Notifies of the modules with tracepoints that are loaded, coming and going. */
int ferroprobe_watch_tracepoints(struct notifier_block *block);
void ferroprobe_unwatch_tracepoints(struct notifier_block *block);
struct module *ferroprobe_tracepoints_module(void *notification);

/*
 * The ops that ftrace knows: those of function entries, and with CFI those of the functions that
 * have the types of tracepoints.  The functions below take the index of one.
 */
#define FERROPROBE_FUNCTIONS_OPS 2

/* With CFI the kernel checks the types of the functions that it calls by a pointer. */
typedef void (*ferroprobe_function_callback)(unsigned long site, unsigned long caller,
					     struct ftrace_ops *ops, struct ftrace_regs *regs);
typedef int (*ferroprobe_return_entry)(struct fprobe *fprobe, unsigned long site,
				       unsigned long caller, struct ftrace_regs *regs, void *data);
typedef void (*ferroprobe_return_exit)(struct fprobe *fprobe, unsigned long site,
				       unsigned long caller, struct ftrace_regs *regs, void *data);

/* Returns 0, or -ENOENT without ftrace. */
int ferroprobe_functions_supported(void);
/*
 * Lets ftrace call @callback, with the ops, whose private data is @data, at the sites of the
 * filter, which must not be empty.
 */
int ferroprobe_functions_register(u32 which, ferroprobe_function_callback callback, void *data);
/*
 * Waits until the callback does not run, and empties the filter.  Returns 0, or an errno if ftrace
 * itself has failed: the callback may then run for good, and the module cannot be unloaded.
 */
int ferroprobe_functions_unregister(u32 which);
/* The last that an unloaded module calls: does not return while ftrace may call it. */
void ferroprobe_functions_end(void);
/* Empties the filter of ops that are not registered. */
void ferroprobe_functions_forget(u32 which);
/* Adds sites to the filter, or removes them: all or none. */
int ferroprobe_functions_filter(u32 which, unsigned long *sites, u32 count, bool remove);
/* Returns 0 if ftrace patches the instructions at all @sites. */
int ferroprobe_functions_know(unsigned long *sites, u32 count);

/* Whether the kernel has fprobes. */
bool ferroprobe_returns_supported(void);
/*
 * Registers @fprobe, of FERROPROBE_FPROBE_SIZE zeroed bytes, which calls @entry, unless that is
 * NULL, and @exit at the @count sites.  A call keeps @words words of data, at most
 * FERROPROBE_FPROBE_WORDS.
 */
int ferroprobe_returns_register(struct fprobe *fprobe, ferroprobe_return_entry entry,
				ferroprobe_return_exit exit, size_t words, unsigned long *sites,
				u32 count);
/* Waits until @fprobe, which is registered, calls nothing. */
void ferroprobe_returns_unregister(void *fprobe);
unsigned long ferroprobe_returns_missed(const void *fprobe);

/* Returns whether @address is in the init code of @module. */
bool ferroprobe_in_init(struct module *module, unsigned long address);

/* Memory of a module, which is there until it runs if @is_init; none if @size is 0. */
struct ferroprobe_module_memory {
	unsigned long start;
	unsigned long size;
	bool is_init;
};

/* Fills @memory with the @nth memory of @module; returns false if there are not so many. */
bool ferroprobe_module_memory(const struct module *module, unsigned int nth,
			      struct ferroprobe_module_memory *memory);

/* A function of a loaded module. */
struct ferroprobe_module_function {
	const char *module;
	const char *name;
	unsigned long address;
	bool is_init;
};

/* The name of a module, with its NUL. */
struct ferroprobe_module_name {
	char text[64];
};

/*
 * Copies the names of the loaded modules to @names, as far as @room goes.  @modules is the address
 * of the kernel's list of modules.  Returns their number, or -ENOENT if it is not, or if the kernel
 * has no symbols of modules.
 */
long ferroprobe_module_names(unsigned long modules, struct ferroprobe_module_name *names,
			     unsigned long room);

/*
 * Calls @each, which must not sleep, with @data and each function of the module @name, until it
 * returns false, among the @count symbols from number @from on.  Returns 1 if there are more symbols,
 * 0 if there are none, or no such module, 2 if @each has returned false; -ENOENT as
 * ferroprobe_module_names().
 */
int ferroprobe_each_module_function(unsigned long modules, const char *name, unsigned int from,
		unsigned int count, void *data,
		bool (*each)(void *data, const struct ferroprobe_module_function *function));

/* What the kernel knows of a system call.  Addresses are of strings and arrays of them. */
struct ferroprobe_syscall {
	u64 name;
	u64 types;
	u64 arguments;
	int number;
	u32 count;
	/* A bit for each argument that points to memory which its events show. */
	u32 copied;
	/* The argument with the size of that memory; negative if there is none. */
	int size;
	bool is_text;
};

/* Returns the number of system calls; 0 if the kernel has no events for them. */
unsigned int ferroprobe_syscalls(void);
/*
 * Reads what the kernel's table of system calls, at the address @table, has for @number.
 * Returns 0, -ENOENT if that is no system call, or -EFAULT.
 */
int ferroprobe_syscall(u64 table, unsigned int number, struct ferroprobe_syscall *call);

#endif
