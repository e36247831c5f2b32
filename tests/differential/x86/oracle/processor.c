// SPDX-License-Identifier: GPL-2.0
/*
 * How many bytes of an instruction this machine's processor fetches.
 *
 * The bytes are put, one more at a time, before a page that cannot be fetched
 * from. As long as the processor faults on that page with the instruction
 * pointer at the first byte, it wants more of them. The instruction itself is
 * executed, so only harmless ones may be asked about.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define PAGE 4096

static sigjmp_buf back;
static volatile uintptr_t fault_ip, fault_address;
static volatile int fault_signal;

static void on_signal(int signal, siginfo_t *info, void *context)
{
	ucontext_t *user = context;

	fault_signal = signal;
	fault_ip = user->uc_mcontext.gregs[REG_RIP];
	fault_address = (uintptr_t)info->si_addr;
	siglongjmp(back, 1);
}

/*
 * The number of bytes fetched before the instruction ran or was rejected; 0 if
 * fifteen did not do. *@rejected is set if it raised #UD.
 */
int processor_length(const uint8_t *bytes, int *rejected)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE };
	static uint8_t stack[65536];
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction action = { .sa_sigaction = on_signal,
				    .sa_flags = SA_SIGINFO | SA_ONSTACK };
	uint8_t *page;
	volatile int length;

	page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED || mprotect(page + PAGE, PAGE, PROT_NONE))
		return -1;
	sigaltstack(&alternate, NULL);
	for (unsigned int i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &action, NULL);
	for (length = 1; length <= 15; length++) {
		uint8_t *start = page + PAGE - length;

		memcpy(start, bytes, length);
		if (!sigsetjmp(back, 1)) {
			/* Everything the instruction may change is declared. */
			asm volatile("call *%0" : : "r"(start)
				     : "rax", "rcx", "rdx", "rsi", "rdi", "r8",
				       "r9", "r10", "r11", "memory", "cc",
				       "xmm0", "xmm1");
		}
		if (fault_signal != SIGSEGV || fault_ip != (uintptr_t)start ||
		    fault_address != (uintptr_t)page + PAGE)
			break;
	}
	*rejected = fault_signal == SIGILL;
	munmap(page, 2 * PAGE);
	return length > 15 ? 0 : length;
}
