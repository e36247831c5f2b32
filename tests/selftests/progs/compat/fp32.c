// SPDX-License-Identifier: GPL-2.0
/*
 * fp32 [PROGRAM]: a program for a 32-bit processor that makes some system calls, and then runs
 * another program.
 */

typedef unsigned char u8;
typedef unsigned int u32;

enum { AT_FDCWD = -100, EXIT_STATUS = 3 };

/* Numbers: x86, arm. */
#if defined(__i386__)
#define NR(x86, arm) (x86)

__asm__(".globl _start\n_start:\n"
	"	mov %esp, %eax\n	and $-16, %esp\n	push %eax\n	call begin\n"
	"call6:\n"
	"	push %ebp\n	push %ebx\n	push %esi\n	push %edi\n"
	"	mov 20(%esp), %eax\n	mov 24(%esp), %ebx\n	mov 28(%esp), %ecx\n"
	"	mov 32(%esp), %edx\n	mov 36(%esp), %esi\n	mov 40(%esp), %edi\n"
	"	mov 44(%esp), %ebp\n	int $0x80\n"
	"	pop %edi\n	pop %esi\n	pop %ebx\n	pop %ebp\n	ret\n");
#else
#define NR(x86, arm) (arm)

__asm__(".globl _start\n_start:\n	mov r0, sp\n	bl begin\n"
	"call6:\n"
	"	push {r4, r5, r6, r7, lr}\n"
	"	mov r7, r0\n	mov r0, r1\n	mov r1, r2\n	mov r2, r3\n"
	"	ldr r3, [sp, #20]\n	ldr r4, [sp, #24]\n	ldr r5, [sp, #28]\n"
	"	svc #0\n	pop {r4, r5, r6, r7, pc}\n");
#endif

int call6(int number, int a, int b, int c, int d, int e, int f);

#define CALL(number, a, b, c) call6(number, (int)(a), (int)(b), (int)(c), 0, 0, 0)

static const u8 address[16] = { 2, 0, 0, 80, 127, 0, 0, 1 };
static const char *arguments[] = { "one", "two", (char *)8, 0 };

__attribute__((used)) void begin(u32 *stack)
{
	char **args = (char **)stack + 1;

	CALL(NR(295, 322), AT_FDCWD, "/no/fp32", 0);		/* openat */
	CALL(NR(64, 64), 0, 0, 0);				/* getppid */
	CALL(NR(362, 283), -1, address, sizeof(address));	/* connect */
	CALL(NR(19, 19), -1, -5, 1);				/* lseek */
	CALL(NR(11, 11), "/no/fp32", arguments, 0);		/* execve */
	CALL(NR(11, 11), 8, 8, 0);
	CALL(NR(4, 4), 1, "32\n", 3);				/* write */
	CALL(NR(45, 45), 0, 0, 0);				/* brk */
	CALL(NR(192, 192), 0, 0, 0);				/* mmap2 */
	CALL(NR(0x7fff, 0x7fff), 0, 0, 0);
	CALL(-2, 0, 0, 0);
	if (args[1])
		CALL(NR(11, 11), args[1], args + 1, 0);
	for (;;)
		CALL(NR(252, 248), EXIT_STATUS, 0, 0);		/* exit_group */
}
