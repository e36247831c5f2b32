// SPDX-License-Identifier: GPL-2.0
/*
 * Reading in other ways than by read(2).  Commands, which print how many bytes were
 * read, or -errno:
 *
 *   readv FILE SIZE...    into pieces of memory of these sizes
 *   preadv FILE SIZE...   the same, from offset 0
 *   uring FILE SIZE       by io_uring
 *   faulty FILE SIZE      readv of one byte into memory that is not there, then of
 *                         SIZE into some that is
 */

#include "sys.h"

enum { PIECES = 8, PIECE = 1 << 16, ENTRIES = 4, OP_READ = 22, GETEVENTS = 1 };

static u8 memory[PIECES][PIECE];

struct piece {
	void *at;
	u64 size;
};

static void place(struct piece *piece, int n, u64 size)
{
	piece->at = memory[n];
	piece->size = size;
	if (size > PIECE)
		die("too large", size);
}

static s64 by_vector(s64 nr, s64 file, int count, char **sizes)
{
	struct piece pieces[PIECES];

	if (count > PIECES)
		die("too many", count);
	for (int n = 0; n < count; n++)
		place(&pieces[n], n, number(sizes[n]));
	return sys(nr, file, (s64)pieces, count, 0, 0);
}

static s64 after_fault(s64 file, char **sizes)
{
	struct piece nowhere = { (void *)4096, 1 };

	print_number(sys(NR_readv, file, (s64)&nowhere, 1, 0, 0));
	print(" ");
	return by_vector(NR_readv, file, 1, sizes);
}

struct offsets {
	unsigned int head, tail, mask, entries, flags, other[3];
	u64 address;
};

/* struct io_uring_params, io_uring_sqe, io_uring_cqe. */
static struct {
	unsigned int sq_entries, cq_entries, flags, cpu, idle, features, wq, reserved[3];
	struct offsets sq;
	struct {
		unsigned int head, tail, mask, entries, overflow, cqes, flags, reserved;
		u64 address;
	} cq;
} params;

struct request {
	u8 opcode, flags;
	unsigned short priority;
	int file;
	u64 offset, address;
	unsigned int length, read_flags;
	u64 user, rest[3];
};

struct result {
	u64 user;
	int value;
	unsigned int flags;
};

static u8 *ring_part(s64 ring, u64 offset)
{
	s64 at = mmap(ring, offset, 4096, PROT_READ | PROT_WRITE, MAP_SHARED);

	if (at < 0 && at > -4096)
		die("mmap of the ring", at);
	return (u8 *)at;
}

static s64 by_uring(s64 file, u64 size)
{
	s64 ring = sys(NR_io_uring_setup, ENTRIES, (s64)&params, 0, 0, 0), done;
	struct request *request;
	struct piece piece;
	u8 *sq, *cq;

	if (ring < 0)
		die("io_uring_setup", ring);
	sq = ring_part(ring, 0);
	cq = ring_part(ring, 0x8000000);
	request = (struct request *)ring_part(ring, 0x10000000);
	place(&piece, 0, size);
	memset(request, 0, sizeof(*request));
	request->opcode = OP_READ;
	request->file = file;
	request->address = (u64)piece.at;
	request->length = piece.size;
	request->offset = -1;
	*(volatile unsigned int *)(sq + params.sq.other[1]) = 0;
	__atomic_store_n((unsigned int *)(sq + params.sq.tail), 1, __ATOMIC_RELEASE);
	done = sys6(NR_io_uring_enter, ring, 1, 1, GETEVENTS, 0, 0);
	if (done < 0)
		die("io_uring_enter", done);
	return ((struct result *)(cq + params.cq.cqes))->value;
}

static int run(int count, char **args)
{
	const char *command = count > 3 ? args[1] : "";
	s64 file = count > 3 ? sys(NR_openat, AT_FDCWD, (s64)args[2], 0, 0, 0) : 0, done;

	if (file < 0)
		die(args[2], file);
	if (same(command, "readv"))
		done = by_vector(NR_readv, file, count - 3, args + 3);
	else if (same(command, "preadv"))
		done = by_vector(NR_preadv, file, count - 3, args + 3);
	else if (same(command, "uring") && count == 4)
		done = by_uring(file, number(args[3]));
	else if (same(command, "faulty") && count == 4)
		done = after_fault(file, args + 3);
	else
		die("usage: see the head of fpvec.c", count);
	print_number(done);
	print("\n");
	return 0;
}

/* The stack as the kernel leaves it: the count, then the arguments. */
__attribute__((used)) void begin(u64 *stack)
{
	exit(run(stack[0], (char **)(stack + 1)));
}
