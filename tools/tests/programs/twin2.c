// SPDX-License-Identifier: GPL-2.0
//
// A function whose name another file uses too.

volatile int sink2;

static __attribute__((noinline)) int twin(int value)
{
	sink2 = value;
	return value + 2;
}

int twin2(int value)
{
	return twin(value) + sink2;
}
