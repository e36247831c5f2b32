// SPDX-License-Identifier: GPL-2.0
//
// A function whose name another file uses too.

volatile int sink1;

static __attribute__((noinline)) int twin(int value)
{
	sink1 = value;
	return value + 1;
}

int twin1(int value)
{
	return twin(value) + sink1;
}
