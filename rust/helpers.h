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
 * Calls @call with @data when the kernel oopses or panics, until ferroprobe_oops_end().  Only one
 * caller at a time.
 */
int ferroprobe_oops_begin(void (*call)(void *data, bool panics), void *data);
void ferroprobe_oops_end(void);
/*
 * Calls @call with @data on each CPU that comes online, until ferroprobe_arrivals_end().  The task
 * that brings the CPU online holds the lock of CPU hotplug.  Only one caller at a time.
 */
int ferroprobe_arrivals_begin(void (*call)(void *data), void *data);
void ferroprobe_arrivals_end(void);
/*
 * Calls @call with @data on @cpu, with interrupts disabled, and waits.  -ENXIO if @cpu is offline.
 */
int ferroprobe_call_on(unsigned int cpu, void (*call)(void *data), void *data);
enum {
	FERROPROBE_PARAMETER_DEFINE,
	FERROPROBE_PARAMETER_ENABLE,
	FERROPROBE_PARAMETER_FILTER,
	FERROPROBE_PARAMETER_TRIGGER,
};
/* Returns byte @at of parameter @which, one of FERROPROBE_PARAMETER_*, or -1 behind its end. */
int ferroprobe_parameter(unsigned int which, unsigned int at);
/* Returns byte @at of the kernel's release name, or -1 behind its end. */
int ferroprobe_release(unsigned int at);
void ferroprobe_init_waitqueue_head(struct wait_queue_head *queue);
void ferroprobe_init_delayed_work(struct delayed_work *work,
				  void (*func)(struct work_struct *));
/*
 * Adds @by to the number of files and directories in debugfs.  The kernel counts their dentries and
 * inodes as reclaimable memory, as it counts those of other file systems.
 */
void ferroprobe_count_files(long by);
/* Returns whether @size bytes can be allocated, in any number of pieces, without the OOM killer. */
bool ferroprobe_memory_suffices(size_t size);
/*
 * Return zeroed memory, the first as whole pages of vmalloc memory, or NULL if memory is
 * insufficient.  A request that is too large neither invokes the OOM killer nor logs a warning.
 */
void *ferroprobe_alloc_pages(size_t size);
void *ferroprobe_alloc_zeroed(size_t size);
/* Frees memory of both functions. */
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
 * Returns the scheduler's clock, which stops during system sleep: from when the other CPUs are
 * offline until the kernel has corrected its own clocks.
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

/* Returns whether all @size bytes were read.  Context of the three reads: any. */
bool ferroprobe_read_kernel(void *to, u64 from, size_t size);
/* Returns the length with the NUL, @room if the string is longer, or a negative errno. */
s64 ferroprobe_read_kernel_string(char *to, u64 from, size_t room);
/*
 * As above for user memory; -EAGAIN if this context does not allow it.  Behind the NUL, up
 * to @room, may be what follows the string.
 */
s64 ferroprobe_read_user_string(char *to, u64 from, size_t room);

/*
 * Copies a user string shorter than @room, perhaps with bytes behind its NUL.  Returns its length
 * with the NUL, plus FERROPROBE_ODD_TEXT if not all characters are printable ASCII.  Returns
 * -EFAULT if the string is longer, cannot be read, or may be too near to unmapped memory.  Context:
 * process.  Does not sleep, and faults in no pages.
 */
#define FERROPROBE_ODD_TEXT (1UL << 32)
s64 ferroprobe_copy_user_text(char *to, u64 from, size_t room);
/* As above, but does not check the characters. */
s64 ferroprobe_copy_user_string(char *to, u64 from, size_t room);
/*
 * Copies @room bytes of user memory or, if @is_text, a string up to its NUL.  Returns the number of
 * bytes copied, or -EFAULT if some cannot be read.  Reads pages of a mapped file that are not
 * mapped yet from the page cache.  Context: as above.
 */
s64 ferroprobe_copy_user(char *to, u64 from, size_t room, bool is_text);

/*
 * Copies @size bytes to the user address @to.  Returns whether all were copied.  Faults in no
 * pages.
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
 * A file or a directory, in debugfs and in the module's own file system.  A node has a reference to
 * its directory.
 */
struct ferroprobe_node;
/*
 * Make a node in @parent, or the root if @parent is NULL; an ERR_PTR on failure.  Nobody finds the
 * node before ferroprobe_node_show().  The name is copied.  In debugfs a file has the permissions
 * @mode.
 */
struct ferroprobe_node *ferroprobe_node_dir(const char *name, struct ferroprobe_node *parent);
struct ferroprobe_node *ferroprobe_node_file(const char *name, struct ferroprobe_node *parent,
					     umode_t mode,
					     const struct file_operations *operations, void *data);
/* Shows a node.  Returns 0 or an errno. */
int ferroprobe_node_show(struct ferroprobe_node *node);
/*
 * Removes a node without entries, whether it was shown or not, and waits until no open() of it
 * runs.  The node must not be used afterwards.
 */
void ferroprobe_node_remove(struct ferroprobe_node *node);
/*
 * Lets mkdir(2) and rmdir(2) in @dir in the module's own file system call @user, with the inode of
 * the directory locked.  Must be called before the file system can be mounted.
 */
void ferroprobe_node_user_dir(struct ferroprobe_node *dir, struct ferroprobe_user_dir *user);
/* Returns the data of the file whose inode, in either file system, is @inode. */
void *ferroprobe_node_data(const struct inode *inode);

/*
 * Returns whether loading the module has succeeded.  Before, references to the module do not keep
 * it: if its init function fails, the kernel frees the code.
 */
bool ferroprobe_is_loaded(void);
/*
 * Returns whether @file, which has operations of the module and is being opened, may be opened:
 * only after the module has been loaded.  If not, @file has lost these operations, and open() must
 * fail.
 */
bool ferroprobe_may_open(struct file *file);

/* Lets users mount the module's own file system, with the root @root.  Returns 0 or an errno. */
int ferroprobe_fs_begin(struct ferroprobe_node *root);
/* Undoes ferroprobe_fs_begin().  Only while the module is being unloaded: a mount prevents that. */
void ferroprobe_fs_end(void);

/* Makes the files of a directory when a task first enters it. */
struct ferroprobe_late_dir {
	/* Returns 0, or an errno for the task that enters.  May sleep. */
	int (*fill)(struct ferroprobe_late_dir *late);
};

/*
 * Lets @late make the files of @dir when a task next enters it, also if it has made files before.
 * NULL ends this; @late is not used afterwards.  The first call must precede that of
 * ferroprobe_node_show().
 */
void ferroprobe_late_dir_set(struct ferroprobe_node *dir, struct ferroprobe_late_dir *late);
/*
 * Waits until all tasks have left the functions that enter directories with late files.  All these
 * directories must have been removed.
 */
void ferroprobe_late_dirs_end(void);

/* Makes and removes directories in a directory, for users. */
struct ferroprobe_user_dir {
	/* Return 0, or an errno for the user. */
	int (*make)(struct ferroprobe_user_dir *dir, const char *name);
	int (*remove)(struct ferroprobe_user_dir *dir, const char *name);
};

/*
 * Lets mkdir(2) and rmdir(2) in @dir in debugfs, too, call what ferroprobe_node_user_dir() has set:
 * several at a time, with a reference to the module and without locks.
 */
void ferroprobe_user_dir_begin(struct ferroprobe_node *dir);
/* Undoes ferroprobe_user_dir_begin().  Only while the module is being unloaded. */
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
 * Write at most @room addresses of the frames of a stack to @to, the innermost first.  @to need not
 * be aligned.  Return the number of addresses, with FERROPROBE_STACK_CUT if the stack has more.
 * Context: any, on the CPU and in the context that was probed.
 */
#define FERROPROBE_STACK_CUT 0x80000000u
/* For the probe at @ip in @function of @size bytes, with the registers at the probe. */
u32 ferroprobe_stack_of_probe(void *to, u32 room, const struct pt_regs *regs, u64 ip,
			      u64 function, u64 size);
/* With the registers of a kretprobe, from the address to which the function returns. */
u32 ferroprobe_stack_of_return(void *to, u32 room, const struct pt_regs *regs);
/* With the registers that ftrace saves at the entry of @function. */
u32 ferroprobe_stack_of_entry(void *to, u32 room, const void *entry, u64 function);
/*
 * With the registers that ftrace saves at a return, from the address to which the function returns.
 */
u32 ferroprobe_stack_of_exit(void *to, u32 room, const void *exit);
/* From the caller of this module, or from the caller of the function @skip of @skip_size bytes. */
u32 ferroprobe_stack_here(void *to, u32 room, u64 skip, u64 skip_size);
/*
 * For the current task in user space, by frame pointers; 0 if it has no user space.  Never marked.
 */
u32 ferroprobe_stack_of_user(void *to, u32 room);
/* Addresses of symbols that walking a stack needs; 0 where the kernel has none. */
struct ferroprobe_stack_symbols {
	/* Where functions return to while a kretprobe or the function graph tracer follows them. */
	u64 trampoline;
	u64 graph_return;
	/* The kernel's code, and the code of its start. */
	u64 text;
	u64 text_end;
	u64 start;
	u64 start_end;
	/* The list of modules. */
	u64 modules;
};
/* To be called before stacks are walked; once more does no harm. */
void ferroprobe_stack_learn(struct ferroprobe_stack_symbols symbols);
/* Forgets what was learned about the code of modules: one comes or goes. */
void ferroprobe_stack_forget(void);

/*
 * Returns 0, -ENOENT if the kernel has no tracepoints, or -EOPNOTSUPP if CFI forbids our probes and
 * ftrace cannot report the empty functions of the tracepoints instead.
 */
int ferroprobe_tracepoints_supported(void);
/*
 * Visits the tracepoints of @module, which must stay loaded, or of the kernel.  @stub is the
 * address of the empty function with the type of the probes, @iterator that of the function that
 * calls several probes.
 */
void ferroprobe_each_tracepoint(struct module *module,
				void (*visit)(struct tracepoint *point, const char *name,
					      u64 stub, u64 iterator, void *data),
				void *data);
int ferroprobe_tracepoint_register(struct tracepoint *point, void *probe, void *data);
/* @probe may still run until ferroprobe_tracepoints_synchronize() returns. */
void ferroprobe_tracepoint_unregister(struct tracepoint *point, void *probe, void *data);
/*
 * Waits for the probes of all tracepoints, or only for those of tracepoints that are not faultable.
 * Probes of faultable tracepoints, which are those of system calls, may sleep.  Ours do not, but
 * others do, so a user can prolong the wait for them at will.
 */
void ferroprobe_tracepoints_synchronize(bool faultable);
bool ferroprobe_tracepoint_is_faultable(const struct tracepoint *point);
/*
 * Waits at most half a second for the probes of faultable tracepoints.  Returns whether all ended.
 */
bool ferroprobe_wait_for_faultable_probes(void);
/* Calls @block when a module with tracepoints has been loaded, and before it goes. */
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
/* To be called last by a module that is unloaded: does not return if ftrace may still call it. */
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

bool ferroprobe_in_init(struct module *module, unsigned long address);

/* Memory of a module, freed after its init function if @is_init; none if @size is 0. */
struct ferroprobe_module_memory {
	unsigned long start;
	unsigned long size;
	bool is_init;
};

/* Fills @memory with the @nth memory of @module; returns false if @module has fewer. */
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
 * Copies at most @room names of loaded modules to @names.  @modules is the address of the kernel's
 * list of modules.  Returns the number of loaded modules, or -ENOENT if @modules is another address
 * or the kernel has no symbols of modules.
 */
long ferroprobe_module_names(unsigned long modules, struct ferroprobe_module_name *names,
			     unsigned long room);

/*
 * Calls @each with @data and each function of the module @name, from symbol @from on, for at most
 * @count symbols, until @each returns false.  @each must not sleep.  Returns 1 if there are more
 * symbols, 0 at the end or if the module is not loaded, 2 if @each has returned false, or -ENOENT
 * as ferroprobe_module_names() does.
 */
int ferroprobe_each_module_function(unsigned long modules, const char *name, unsigned int from,
		unsigned int count, void *data,
		bool (*each)(void *data, const struct ferroprobe_module_function *function));

/*
 * A system call as the kernel's trace events describe it.  Addresses are of strings and of arrays.
 */
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
 * Reads entry @number of the kernel's table of system calls, which is at the address @table.
 * Returns 0, -ENOENT if that is no system call, or -EFAULT.
 */
int ferroprobe_syscall(u64 table, unsigned int number, struct ferroprobe_syscall *call);

/* A program or a library: a regular file that a path leads to. */
struct ferroprobe_program;
/*
 * Finds the file at @path and opens it.  Returns an ERR_PTR on failure: -EISDIR if it is no regular
 * file, otherwise the errno of the search.  Context: process, may sleep, as for all of them.
 */
struct ferroprobe_program *ferroprobe_program_open(const char *path);
void ferroprobe_program_close(struct ferroprobe_program *program);
/* Reads up to @size bytes.  Returns their number or a negative errno. */
s64 ferroprobe_program_read(struct ferroprobe_program *program, u64 offset, void *to, size_t size);
u64 ferroprobe_program_size(const struct ferroprobe_program *program);

/* A uprobe. */
struct ferroprobe_uprobe;
/*
 * Makes a disarmed uprobe at @offset of the file @program, which may be closed afterwards, or NULL
 * without memory.  The kernel counts at @counter of the file, if that is not 0, how many trace the
 * location.  While it is armed, a hit calls @serve in process context, with the registers of the
 * program and the address of the location; with @returns that is the function's, and the function
 * returns.
 */
struct ferroprobe_uprobe *ferroprobe_uprobe_new(const struct ferroprobe_program *program,
						u64 offset, u64 counter, bool returns,
						void (*serve)(void *data, struct pt_regs *regs,
							      u64 function),
						void *data);
/* Returns 0 or an errno. */
int ferroprobe_uprobe_arm(struct ferroprobe_uprobe *uprobe);
/* Returns whether @serve may still run, or be called, until ferroprobe_uprobes_wait(). */
bool ferroprobe_uprobe_disarm(struct ferroprobe_uprobe *uprobe);
/* Waits until no disarmed uprobe is served. */
void ferroprobe_uprobes_wait(void);
/* Frees a uprobe that is disarmed, and was waited for. */
void ferroprobe_uprobe_free(struct ferroprobe_uprobe *uprobe);
/*
 * Interrupts on each CPU, which report what they interrupt: timers or watchpoints.  Disarmed when
 * they are made.
 */
struct ferroprobe_interrupts;
/*
 * What is called with @regs, the registers of what was interrupted, in kernel or user space, and with
 * two values of the interrupts.  Context: interrupts disabled.
 */
typedef void (*ferroprobe_interrupt_fn)(void *data, struct pt_regs *regs, u64 first, u64 second);
/*
 * Returns a timer on each CPU with @period in nanoseconds, or NULL without memory.  The values are
 * whether user space was interrupted, and whether the idle task.
 */
struct ferroprobe_interrupts *ferroprobe_ticks(u64 period, ferroprobe_interrupt_fn hit, void *data);
/*
 * Returns a watchpoint on @length bytes at the kernel address @address, or NULL with the errno in
 * @error: -ENOSPC if all are taken, -EOPNOTSUPP if there are none here.  The values are the address,
 * and what is there after the access.
 */
#define FERROPROBE_WATCH_BOTH 0
#define FERROPROBE_WATCH_WRITE 1
#define FERROPROBE_WATCH_EXECUTE 2
struct ferroprobe_interrupts *ferroprobe_watch(u64 address, u32 length, u32 access,
					       ferroprobe_interrupt_fn hit, void *data, int *error);
/*
 * Arms or disarms them; only one call at a time.  Waits, after disarming, until none is reported.
 * Returns 0 or an errno.
 */
int ferroprobe_interrupts_arm(struct ferroprobe_interrupts *interrupts, bool armed);
/* Disarms them, and frees them. */
void ferroprobe_interrupts_free(struct ferroprobe_interrupts *interrupts);
/* Returns how many could not be reported. */
u64 ferroprobe_interrupts_missed(struct ferroprobe_interrupts *interrupts);

#endif
