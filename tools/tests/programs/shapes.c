// SPDX-License-Identifier: GPL-2.0
//
// Structures of all shapes, and functions that are inlined.

typedef unsigned char u8;
typedef unsigned short u16;

struct secret;

struct shape {
	u8 a;
	int c;
	unsigned skipped : 2;
	unsigned bits : 3;
	unsigned wide : 9;
	int signed_bits : 4;
	union {
		unsigned unnamed;
		float real;
	};
	long d;
	char text[16];
	struct shape *next;
	u16 table[4];
	u8 grid[2][3];
	struct secret *opaque;
	void *nothing;
	__int128 big;
};

volatile long sink;

int entry(int number, struct shape *pointer, _Bool flag)
{
	sink = number;
	sink = pointer->d;
	return flag + pointer->c;
}

static inline __attribute__((always_inline)) int always(int value)
{
	sink = value;
	sink = value * 3;
	return value + 1;
}

int first(int value)
{
	return always(value + 10);
}

int second(int value)
{
	sink = 1;
	return always(value) + 5;
}

int third(int value)
{
	if (value > 3)
		return always(value);
	return 0;
}

#ifdef MAIN
int twin1(int value);
int twin2(int value);

int main(void)
{
	return twin1(1) + twin2(2);
}
#endif
