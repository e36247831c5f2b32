// SPDX-License-Identifier: GPL-2.0
/*
 * A terminal for a test:
 *
 *	fppty COLUMNS SCRIPT	run a script of the shell in a terminal of so many columns, and of 24
 *				lines; end with its status, or 128 and the signal that ended it
 *
 * What comes from standard input is typed; its end is not.  What the terminal shows is printed.
 * Whoever kills fppty takes the terminal away.
 */

#include "sys.h"

/* Numbers: x86-64, arm64. */
#if defined(__x86_64__)
#define NR(x86_64, arm64) (x86_64)
#else
#define NR(x86_64, arm64) (arm64)
#endif

enum {
	NR_execve = NR(59, 221), NR_setsid = NR(112, 157), NR_dup3 = NR(292, 24),
	NR_rt_sigaction = NR(13, 134), SIGINT = 2, SIGQUIT = 3,
	TIOCSCTTY = 0x540e, TIOCSWINSZ = 0x5414, TIOCSPTLCK = 0x40045431, TIOCGPTPEER = 0x5441,
	EINTR = 4,
};

static s64 need(const char *what, s64 result)
{
	if (result < 0)
		die(what, result);
	return result;
}

/* The child: the terminal is its standard input, output and error, and ends its session. */
static void run(s64 terminal, char *script, char **environment)
{
	char *words[] = { "sh", "-c", script, 0 };
	u64 by_default[4] = { 0 };
	s64 end;

	/* A shell ignores them for what it runs in the background. */
	sys(NR_rt_sigaction, SIGINT, (s64)by_default, 0, 8, 0);
	sys(NR_rt_sigaction, SIGQUIT, (s64)by_default, 0, 8, 0);
	need("setsid", sys(NR_setsid, 0, 0, 0, 0, 0));
	end = need("TIOCGPTPEER", sys(NR_ioctl, terminal, TIOCGPTPEER, O_RDWR, 0, 0));
	need("TIOCSCTTY", sys(NR_ioctl, end, TIOCSCTTY, 0, 0, 0));
	for (s64 file = 0; file < 3; file++)
		need("dup3", sys(NR_dup3, end, file, 0, 0, 0));
	sys(NR_close, end, 0, 0, 0, 0);
	sys(NR_close, terminal, 0, 0, 0, 0);
	need("/bin/sh", sys(NR_execve, (s64)"/bin/sh", (s64)words, (s64)environment, 0, 0));
}

/* All that there is at FROM goes to TO.  False at the end. */
static int copy(s64 from, s64 to)
{
	static char bytes[4096];
	s64 size = sys(NR_read, from, (s64)bytes, sizeof(bytes), 0, 0);

	if (size == -EINTR || size == -EAGAIN)
		return 1;
	for (s64 at = 0; at < size;)
		at += need("write", sys(NR_write, to, (s64)bytes + at, size - at, 0, 0));
	/* Once the last program has closed the terminal, reading it fails. */
	return size > 0;
}

int begin(u64 *stack)
{
	char **words = (char **)stack + 1, **environment = words + stack[0] + 1;
	struct {
		int file;
		short events, revents;
	} polled[2] = { { 0, POLLIN, 0 }, { 0, POLLIN, 0 } };
	unsigned short size[4] = { 24, 0, 0, 0 };
	int locked = 0, status = 0;
	s64 terminal, child;

	if (stack[0] != 3)
		die("usage: see the head of fppty.c", 0);
	size[1] = number(words[1]);
	terminal = need("/dev/ptmx", sys(NR_openat, AT_FDCWD, (s64)"/dev/ptmx", O_RDWR, 0, 0));
	need("TIOCSPTLCK", sys(NR_ioctl, terminal, TIOCSPTLCK, (s64)&locked, 0, 0));
	need("TIOCSWINSZ", sys(NR_ioctl, terminal, TIOCSWINSZ, (s64)size, 0, 0));
	child = need("clone", sys(NR_clone, SIGCHLD, 0, 0, 0, 0));
	if (!child)
		run(terminal, words[2], environment);

	polled[1].file = terminal;
	for (;;) {
		s64 ready = sys(NR_ppoll, (s64)polled, 2, 0, 0, 0);

		if (ready != -EINTR)
			need("poll", ready);
		if (polled[1].revents && !copy(terminal, 1))
			break;
		if (polled[0].revents && !copy(0, terminal))
			polled[0].file = -1;
	}
	need("wait4", sys(NR_wait4, child, (s64)&status, 0, 0, 0));
	exit(status & 0x7f ? 128 + (status & 0x7f) : status >> 8 & 0xff);
}
