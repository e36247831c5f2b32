/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a program needs that is linked with no C library: its entry, the system
 * calls, and a little text.  So one compiler builds it for every architecture.
 */

typedef unsigned char u8;
typedef unsigned long u64;
typedef long s64;

enum {
	EPERM = 1,
	EAGAIN = 11,
	EACCES = 13,
	ENODEV = 19,
	EINVAL = 22,
	ENOTTY = 25,
	O_WRONLY = 01,
	O_RDWR = 02,
	O_APPEND = 02000,
	O_TRUNC = 01000,
	O_NONBLOCK = 04000,
	O_PATH = 010000000,
	AT_FDCWD = -100,
	AT_NO_AUTOMOUNT = 0x800,
	RESOLVE_NO_XDEV = 1,
	NR_openat2 = 437,
	NR_fsopen = 430,
	NR_pidfd_open = 434,
	SIGCHLD = 17,
	PR_SET_NAME = 15,
	POLLIN = 1,
	POLLPRI = 2,
	POLLERR = 8,
	CLOCK_MONOTONIC = 1,
	CLOCK_THREAD_CPUTIME_ID = 3,
	SPLICE_F_NONBLOCK = 2,
	NR_io_uring_setup = 425,
	NR_io_uring_enter = 426,
	PROT_READ = 1,
	PROT_WRITE = 2,
	PROT_EXEC = 4,
	MAP_SHARED = 1,
	MAP_PRIVATE = 2,
	MAP_ANONYMOUS = 0x20,
	WNOHANG = 1,
	TRACE_MMAP_IOCTL_GET_READER = 'R' << 8 | 0x20,
};

#if defined(__x86_64__)
enum {
	NR_read = 0, NR_write = 1, NR_close = 3, NR_clone = 56, NR_exit = 60,
	NR_wait4 = 61, NR_setpriority = 141, NR_memfd_create = 319, NR_prctl = 157, NR_openat = 257,
	NR_sched_setaffinity = 203, NR_ppoll = 271, NR_getpid = 39,
	NR_getppid = 110, NR_sched_setscheduler = 144, NR_clock_gettime = 228,
	NR_chroot = 161, NR_mount = 165,
	NR_mmap = 9, NR_mprotect = 10, NR_munmap = 11, NR_ioctl = 16, NR_splice = 275, NR_pipe2 = 293,
	NR_readv = 19, NR_preadv = 295, NR_sendfile = 40, NR_statx = 332,
	NR_fstat = 5, NR_fcntl = 72, NR_readlinkat = 267, NR_socketpair = 53, NR_eventfd2 = 290,
	NR_chdir = 80, NR_mkdirat = 258, NR_unlinkat = 263, NR_umount2 = 166,
	NR_unshare = 272, NR_lseek = 8, NR_pwrite64 = 18,
};

static inline s64 sys6(s64 nr, s64 a, s64 b, s64 c, s64 d, s64 e, s64 f)
{
	register s64 r10 __asm__("r10") = d;
	register s64 r8 __asm__("r8") = e;
	register s64 r9 __asm__("r9") = f;
	s64 value;

	__asm__ volatile("syscall"
			 : "=a"(value)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return value;
}

__asm__(".globl _start\n_start:\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall begin\n");

#elif defined(__aarch64__)
enum {
	NR_openat = 56, NR_close = 57, NR_read = 63, NR_write = 64,
	NR_ppoll = 73, NR_exit = 93, NR_sched_setaffinity = 122,
	NR_setpriority = 140, NR_memfd_create = 279, NR_prctl = 167, NR_getpid = 172, NR_clone = 220,
	NR_wait4 = 260, NR_getppid = 173, NR_sched_setscheduler = 119, NR_clock_gettime = 113,
	NR_chroot = 51, NR_mount = 40,
	NR_ioctl = 29, NR_pipe2 = 59, NR_splice = 76, NR_munmap = 215, NR_mmap = 222,
	NR_mprotect = 226, NR_readv = 65, NR_preadv = 69, NR_sendfile = 71, NR_statx = 291,
	NR_fstat = 80, NR_fcntl = 25, NR_readlinkat = 78, NR_socketpair = 199, NR_eventfd2 = 19,
	NR_chdir = 49, NR_mkdirat = 34, NR_unlinkat = 35, NR_umount2 = 39,
	NR_unshare = 97, NR_lseek = 62, NR_pwrite64 = 68,
};

static inline s64 sys6(s64 nr, s64 a, s64 b, s64 c, s64 d, s64 e, s64 f)
{
	register s64 x8 __asm__("x8") = nr;
	register s64 x0 __asm__("x0") = a;
	register s64 x1 __asm__("x1") = b;
	register s64 x2 __asm__("x2") = c;
	register s64 x3 __asm__("x3") = d;
	register s64 x4 __asm__("x4") = e;
	register s64 x5 __asm__("x5") = f;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}

__asm__(".globl _start\n_start:\n\tmov x0, sp\n\tbl begin\n");
#endif

static inline s64 sys(s64 nr, s64 a, s64 b, s64 c, s64 d, s64 e)
{
	return sys6(nr, a, b, c, d, e, 0);
}

static inline s64 splice(s64 from, s64 to, u64 size, u64 flags)
{
	return sys6(NR_splice, from, 0, to, 0, size, flags);
}

static inline s64 mmap(s64 file, u64 offset, u64 size, u64 protection, u64 flags)
{
	return sys6(NR_mmap, 0, size, protection, flags, file, offset);
}

/* Compilers call these by themselves. */
void *memset(void *to, int value, u64 count)
{
	for (u8 *at = to; count; count--)
		*(volatile u8 *)at++ = value;
	return to;
}

void *memcpy(void *to, const void *from, u64 count)
{
	u8 *at = to;

	for (const u8 *source = from; count; count--)
		*(volatile u8 *)at++ = *source++;
	return to;
}

static inline u64 length(const char *text)
{
	u64 n = 0;

	while (text[n])
		n++;
	return n;
}

static inline int same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

static inline int same_start(const char *text, const char *start)
{
	while (*start && *text == *start)
		text++, start++;
	return !*start;
}

static inline void print(const char *text)
{
	sys(NR_write, 1, (s64)text, length(text), 0, 0);
}

static inline void print_number(s64 value)
{
	char text[24];
	int at = sizeof(text) - 1;
	u64 rest = value < 0 ? -(u64)value : (u64)value;

	text[at] = 0;
	do {
		text[--at] = '0' + rest % 10;
		rest /= 10;
	} while (rest);
	if (value < 0)
		text[--at] = '-';
	print(text + at);
}

static inline void exit(int status) __attribute__((noreturn));
static inline void exit(int status)
{
	for (;;)
		sys(NR_exit, status, 0, 0, 0, 0);
}

static inline void die(const char *what, s64 value) __attribute__((noreturn));
static inline void die(const char *what, s64 value)
{
	print(what);
	print(": ");
	print_number(value);
	print("\n");
	exit(1);
}

/* A number in decimal or, behind 0x, in hexadecimal. */
static inline u64 number(const char *text)
{
	int negative = *text == '-', base = 10;
	u64 value = 0;

	text += negative;
	if (text[0] == '0' && text[1] == 'x') {
		base = 16;
		text += 2;
	}
	for (; *text; text++) {
		int digit = *text <= '9' ? *text - '0' : (*text | 32) - 'a' + 10;

		if (digit < 0 || digit >= base)
			die("not a number", 0);
		value = value * base + digit;
	}
	return negative ? -value : value;
}
