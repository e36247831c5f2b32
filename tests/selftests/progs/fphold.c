// SPDX-License-Identifier: GPL-2.0
/*
 * A user without privileges keeps a page fault of a system call from ending:
 *
 *	fphold userfaultfd	nobody answers the fault
 *	fphold fuse		the page is of a file in a file system of its own, mounted in a
 *				namespace of its own, which answers no read
 *
 * It calls openat() with a pointer into that page, and waits until it is killed.  It ends with
 * status 4 if the kernel does not offer that.
 *
 *	fphold poll|write FILE	by userfaultfd, of a read from FILE or a write to it, which root has
 *				opened; prints whether a task that shares the opening and polls it, or
 *				writes to it, "waits" meanwhile, or "goes on"
 */

#include "sys.h"

/* Numbers: x86-64, arm64. */
#if defined(__x86_64__)
#define NR(x86_64, arm64) (x86_64)
#else
#define NR(x86_64, arm64) (arm64)
#endif

enum {
	NR_setgid = NR(106, 144), NR_setuid = NR(105, 146),
	NR_userfaultfd = NR(323, 282), PR_SET_DUMPABLE = 4, USER = 1000, PAGE = 65536,
	NR_kill = NR(62, 129), SIGKILL = 9,
	NEW_USER_AND_MOUNT_NAMESPACES = 0x10020000,
};

/* <linux/userfaultfd.h> */
#define UFFDIO_API 0xc018aa3f
#define UFFDIO_REGISTER 0xc020aa00

/* <linux/fuse.h> */
enum { LOOKUP = 1, FORGET, GETATTR, OPEN = 14, READ, INIT = 26, };

struct request {
	unsigned length, opcode;
	u64 unique, node;
	unsigned uid, gid, pid, more;
	u8 rest[PAGE];
};

struct attributes {
	u64 inode, size, blocks, times[3];
	unsigned nanoseconds[3], mode, links, uid, gid, device, block_size, flags;
};

struct reply {
	unsigned length;
	int error;
	u64 unique;
	union {
		struct { unsigned major, minor, rest[14]; } init;
		struct { u64 node, generation, valid[2]; unsigned more[2];
			 struct attributes of; } entry;
		struct { u64 valid; unsigned more[2]; struct attributes of; } attr;
		struct { u64 handle; unsigned flags, more; } open;
	};
};

static s64 need(const char *what, s64 result)
{
	if (result < 0) {
		print("fphold: ");
		print(what);
		print(": ");
		print_number(result);
		print("\n");
		exit(4);
	}
	return result;
}

static s64 open(const char *path)
{
	return need(path, sys(NR_openat, AT_FDCWD, (s64)path, O_RDWR, 0, 0));
}

static void put(const char *path, const char *text)
{
	s64 file = need(path, sys(NR_openat, AT_FDCWD, (s64)path, O_WRONLY, 0, 0));

	need(path, sys(NR_write, file, (s64)text, length(text), 0, 0));
	sys(NR_close, file, 0, 0, 0, 0);
}

/* The call that waits. */
static void hold(s64 page)
{
	sys(NR_openat, AT_FDCWD, page + 16, 0, 0, 0);
}

static s64 unanswered_page(void)
{
	u64 api[3] = { 0xaa, 0, 0 }, range[4] = { 0, PAGE, 1, 0 };
	s64 fault = need("userfaultfd", sys(NR_userfaultfd, 0, 0, 0, 0, 0));

	need("UFFDIO_API", sys(NR_ioctl, fault, UFFDIO_API, (s64)api, 0, 0));
	range[0] = need("mmap", mmap(-1, 0, PAGE, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS));
	need("UFFDIO_REGISTER", sys(NR_ioctl, fault, UFFDIO_REGISTER, (s64)range, 0, 0));
	return range[0];
}

static s64 fork(void)
{
	return need("clone", sys(NR_clone, SIGCHLD, 0, 0, 0, 0));
}

static void rest(u64 ms)
{
	s64 time[2] = { ms / 1000, ms % 1000 * 1000000 };

	sys(NR_ppoll, 0, 0, (s64)time, 0, 0);
}

static void share(s64 file, int writes)
{
	struct {
		int file;
		short events, revents;
	} poll = { (int)file, POLLIN, 0 };
	s64 time[2] = { 0, 1000 }, holder, other, ended = 0;
	int ends[2];
	char byte;

	need("pipe", sys(NR_pipe2, (s64)ends, 0, 0, 0, 0));
	holder = fork();
	if (!holder) {
		s64 page = unanswered_page();

		sys(NR_write, ends[1], (s64)"x", 1, 0, 0);
		sys(writes ? NR_write : NR_read, file, page + 16, 100, 0, 0);
		exit(0);
	}
	sys(NR_close, ends[1], 0, 0, 0, 0);
	if (sys(NR_read, ends[0], (s64)&byte, 1, 0, 0) != 1)
		exit(4);
	rest(500);
	other = fork();
	if (!other) {
		if (writes)
			sys(NR_write, file, (s64)"x", 1, 0, 0);
		else
			sys(NR_ppoll, (s64)&poll, 1, (s64)time, 0, 0);
		exit(0);
	}
	for (int n = 0; n < 100 && !ended; n++) {
		rest(50);
		ended = sys(NR_wait4, other, 0, WNOHANG, 0, 0);
	}
	if (sys(NR_wait4, holder, 0, WNOHANG, 0, 0))
		die("it was not held", 0);
	print(ended ? "goes on\n" : "waits\n");
	sys(NR_kill, holder, SIGKILL, 0, 0, 0);
}

static void answer(struct reply *reply, const struct request *request)
{
	static const struct attributes dir = { .inode = 1, .mode = 040755, .links = 2 };
	static const struct attributes file = {
		.inode = 2, .size = PAGE, .mode = 0100644, .links = 1,
	};
	unsigned size = 0;

	memset(reply, 0, sizeof(*reply));
	reply->unique = request->unique;
	switch (request->opcode) {
	case INIT:
		reply->init.major = 7;
		reply->init.minor = 31;
		size = sizeof(reply->init);
		break;
	case LOOKUP:
		reply->entry.node = 2;
		reply->entry.of = file;
		size = sizeof(reply->entry);
		break;
	case GETATTR:
		reply->attr.of = request->node == 1 ? dir : file;
		size = sizeof(reply->attr);
		break;
	case OPEN:
		size = sizeof(reply->open);
		break;
	default:
		reply->error = -38; /* ENOSYS */
	}
	reply->length = 16 + size;
}

static void by_fuse(void)
{
	static char options[64] = "rootmode=40000,user_id=0,group_id=0,fd=?";
	static struct request request;
	struct reply reply;
	s64 server, file;

	need("unshare", sys(NR_unshare, NEW_USER_AND_MOUNT_NAMESPACES, 0, 0, 0, 0));
	put("/proc/self/setgroups", "deny");
	put("/proc/self/uid_map", "0 1000 1");
	put("/proc/self/gid_map", "0 1000 1");
	server = open("/dev/fuse");
	options[length(options) - 1] = '0' + server;
	need("mount", sys(NR_mount, (s64)"fphold", (s64)"/tmp", (s64)"fuse", 0, (s64)options));
	if (!need("clone", sys(NR_clone, SIGCHLD, 0, 0, 0, 0))) {
		/* With the end of the server nothing holds the file system any more. */
		sys(NR_close, server, 0, 0, 0, 0);
		file = need("file", sys(NR_openat, AT_FDCWD, (s64)"/tmp/file", 0, 0, 0));
		hold(need("mmap", mmap(file, 0, PAGE, PROT_READ, MAP_PRIVATE)));
		exit(0);
	}
	for (;;) {
		need("read", sys(NR_read, server, (s64)&request, sizeof(request), 0, 0));
		if (request.opcode == READ || request.opcode == FORGET)
			continue;
		answer(&reply, &request);
		need("write", sys(NR_write, server, (s64)&reply, reply.length, 0, 0));
	}
}

int begin(u64 *stack)
{
	const char *how = stack[0] >= 2 ? (const char *)stack[2] : "";
	const char *name = stack[0] == 3 ? (const char *)stack[3] : (const char *)0;
	int writes = same(how, "write");
	s64 file = -1;

	if (name)
		file = need(name, sys(NR_openat, AT_FDCWD, (s64)name, writes ? O_WRONLY : 0, 0, 0));
	need("setgid", sys(NR_setgid, USER, 0, 0, 0, 0));
	need("setuid", sys(NR_setuid, USER, 0, 0, 0, 0));
	/* Its files in /proc are its own. */
	need("prctl", sys(NR_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0));
	if (same(how, "userfaultfd"))
		hold(unanswered_page());
	else if (name && (writes || same(how, "poll")))
		share(file, writes);
	else if (same(how, "fuse"))
		by_fuse();
	else
		die("usage: see the head of fphold.c", 0);
	exit(0);
}
