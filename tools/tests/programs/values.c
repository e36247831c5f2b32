// SPDX-License-Identifier: GPL-2.0
//
// Variables whose values are known.

#include "see.h"

struct inner {
	int8_t a;
	uint16_t b;
	int32_t c;
	int64_t d;
};

struct outer {
	uint32_t flag : 3;
	uint32_t kind : 7;
	int32_t level : 5;
	uint32_t rest : 17;
	uint64_t wide : 40;
	struct inner in;
	struct inner *next;
	union {
		uint32_t word;
		uint8_t byte[4];
	};
	int32_t table[6];
	int16_t grid[3][4];
	char text[16];
};

struct pair {
	int32_t left;
	int32_t right;
};

struct mixed {
	int64_t first;
	int16_t second;
	uint8_t third;
};

enum color { RED, GREEN = 5, BLUE = 1000 };
enum sign { MINUS = -3, ZERO = 0, PLUS = 3 };

static int64_t counter = 40;
int32_t global_table[4] = { 9, 8, 7, 6 };
struct outer global_outer;

NOINLINE void fill(int32_t *table, int count)
{
	for (int at = 0; at < count; at++)
		table[at] = at * at - 7;
}

static inline int clamp_it(int value, int low, int high)
{
	SEE(value, low, high) if (value < low)
		return low;
	SEE(value, high) if (value > high)
		return high;
	SEE(value) return value;
}

static inline uint64_t mix(uint64_t seed, uint32_t salt)
{
	SEE(salt) uint64_t mixed = seed ^ (uint64_t)salt << 7;
	SEE(salt, mixed) mixed *= 0x9e3779b97f4a7c15ull;
	SEE(mixed) mixed ^= mixed >> 29;
	SEE(mixed) use(mixed & 0xff);
	SEE(mixed) return mixed;
}

static inline int64_t sum_pair(struct pair both)
{
	SEE(both.left, both.right) int64_t total = both.left;
	SEE(total, both.right) total += both.right;
	SEE(total) use(total);
	SEE(total) return total * 2;
}

NOINLINE int arguments(int8_t a, uint8_t b, int16_t c, uint16_t d, int32_t e, uint32_t f,
		       int64_t g, uint64_t h)
{
	SEE(a, b, c, d, e, f, g, h) use(a);
	SEE(a, b, c, d, e, f, g, h) use(b + c);
	SEE(c, d, e, f, g, h) int64_t sum = (int64_t)c + d;
	SEE(d, sum, g, h) sum += e;
	SEE(sum, f, g, h) use(sum);
	SEE(sum, f, h) sum -= f;
	SEE(sum, g, h) return opaque(sum) + g + (int64_t)h;
}

NOINLINE int64_t loop(int count, int step)
{
	int64_t total = 0;

	for (int at = 0; at < count; at++) {
		SEE(at, total, step) int part = at * step + 3;
		SEE(at, total, part) use(part);
		SEE(at, part, step) if (part & 1) {
			SEE(at, part) int odd = part * 5;
			SEE(odd, total) use(odd);
			SEE(odd, at) total += odd;
		} else {
			SEE(part, total) total -= opaque(part);
		}
		SEE(at, total) use(total);
	}
	SEE(total, count) return total;
}

NOINLINE int64_t unrolled(void)
{
	int64_t total = 1;

	for (int at = 0; at < 4; at++) {
		SEE(at, total) total = total * 3 + at;
		SEE(at, total) use(at);
	}
	SEE(total) return total;
}

NOINLINE int64_t structures(struct outer *object, int index)
{
	SEE(object->flag, object->kind, object->rest, object->wide, index) use(object->flag);
	SEE(object->in.a, object->in.b, object->in.c, object->in.d) int64_t d = object->in.d;
	SEE(object->next->a, object->next->b, object->next->c, object->next->d, d) use(d);
	SEE(object->word, object->byte[1], object->byte[3], d) struct inner *next = object->next;
	SEE(next->c, next->d, index) next->c += index;
	SEE(next->c, object->next->c, d) use(next->c);
	SEE(object->table[0], object->table[5]) int32_t third = object->table[2];
	SEE(third, object->grid[1][2], object->grid[2][3]) use(third);
	SEE(third, d) object->wide += third;
	SEE(object->wide, third, next->b) return opaque(d) + third + next->b;
}

NOINLINE int64_t by_value(struct pair both, struct mixed more, struct outer large)
{
	SEE(both.left, both.right) use(both.left);
	SEE(both.left, both.right, more.first, more.second, more.third) use(more.first);
	SEE(both.right, more.second, more.third, large.in.c, large.word) use(both.right);
	SEE(more.second, more.third, large.kind, large.in.a) use(more.third);
	SEE(more.second, large.table[3]) return opaque(more.second) + large.table[3];
}

NOINLINE int64_t local_structures(int seed)
{
	struct pair both = { seed, seed * 2 };
	int32_t table[8];

	SEE(seed) fill(table, 8);
	SEE(table[0], table[3], table[7], seed) use(table[3]);
	SEE(both.left, both.right) both.left += table[2];
	SEE(both.left, both.right, table[2]) int64_t total = sum_pair(both);
	SEE(total, both.left, both.right) use(total);
	SEE(total, table[6], seed) table[6] = total;
	SEE(table[6], total) fill(table + 1, 5);
	SEE(table[1], table[5], table[6], total) use(table[6]);
	SEE(table[5], total) return total + opaque(table[5]);
}

NOINLINE int64_t constants(int which)
{
	int32_t fixed = 77;
	const int64_t far = -123456789012;
	enum color color = GREEN;
	enum sign sign = MINUS;
	bool yes = true;

	SEE(fixed, far, color, sign, yes, which) use(fixed + which);
	SEE(fixed, far, which) if (which > 2)
		color = BLUE;
	SEE(color, sign) use(color);
	SEE(sign, yes) sign = which > 2 ? PLUS : ZERO;
	SEE(color, sign, yes) yes = which & 1;
	SEE(yes, sign, which) use(sign);
	SEE(yes, color) return opaque(color) + yes;
}

NOINLINE int64_t inlined(int start, unsigned salt)
{
	SEE(start, salt) int low = clamp_it(start, -10, 10);
	SEE(low, start) use(low);
	SEE(low, salt) uint64_t seed = mix(start, salt);
	SEE(seed, low) int high = clamp_it(start * 3, 0, 100);
	SEE(high, seed) seed = mix(seed, high);
	SEE(seed, high, low) struct pair both = { low, high };
	SEE(seed, both.left, both.right) int64_t sum = sum_pair(both);
	SEE(sum, seed) return sum + opaque(seed >> 40);
}

NOINLINE int64_t shadows(int value)
{
	int64_t result = opaque(value);

	SEE(value, result) if (value > 1) {
		SEE(result) int value = result * 7;
		SEE(value, result) use(value);
		SEE(value) if (value > 20) {
			SEE(result) int64_t value = result - 100;
			SEE(value) use(value);
			SEE(value) result += value;
		}
		SEE(value, result) use(value + 1);
	}
	SEE(value, result) use(value + 2);
	SEE(value, result) return result + value;
}

NOINLINE int64_t statics(int add)
{
	static int32_t calls = 11;

	SEE(calls, counter, add) calls += add;
	SEE(calls, counter) counter -= calls;
	SEE(counter, global_table[2], global_outer.in.c) use(counter);
	SEE(global_outer.kind, global_outer.table[4]) global_table[2] += add;
	SEE(global_table[2], calls) return opaque(calls);
}

NOINLINE uint64_t narrow(uint64_t wide)
{
	SEE(wide) uint8_t byte = wide;
	SEE(byte) uint16_t half = wide >> 8;
	SEE(byte, half) int32_t word = wide >> 16;
	SEE(byte, half, word) int8_t tiny = byte + 100;
	SEE(tiny, word, half) use(tiny);
	SEE(tiny, byte) uint64_t back = (uint32_t)word;
	SEE(back, half, tiny) use(back);
	SEE(back, tiny, byte) return back + opaque(tiny) + half;
}

NOINLINE int64_t search(const int32_t *table, int count, int32_t wanted)
{
	int low = 0, high = count;

	while (low < high) {
		SEE(low, high, wanted) int middle = low + (high - low) / 2;
		SEE(low, high, middle) int32_t found = table[middle];
		SEE(found, middle, wanted) use(found);
		SEE(found, low, high) if (found < wanted) {
			SEE(middle) low = middle + 1;
		} else {
			SEE(middle) high = middle;
		}
	}
	SEE(low, count) return opaque(low);
}

NOINLINE int64_t pressure(int64_t a, int64_t b, int64_t c, int64_t d)
{
	int64_t e = opaque(a + 1), f = opaque(b + 2), g = opaque(c + 3), h = opaque(d + 4);
	int64_t i = opaque(e ^ f), j = opaque(f ^ g), k = opaque(g ^ h), l = opaque(h ^ e);

	SEE(a, b, c, d, e, f, g, h) use(a + e);
	SEE(i, j, k, l) use(i * j);
	SEE(a, c, e, g, i, k) int64_t m = opaque(k - l) + a;
	SEE(b, d, f, h, j, l, m) use(m);
	SEE(a, b, c, d, m) a += b;
	SEE(a, i, j, k, l, m) use(a);
	SEE(a, e, f, g, h) return opaque(a + b + c + d + e + f + g + h) + i + j + k + l + m;
}

NOINLINE int64_t chain(struct outer *first, int depth)
{
	if (depth <= 0)
		return first->in.b;
	SEE(depth, first->in.b) first->in.b += depth;
	SEE(depth, first->in.b) int64_t below = chain(first, depth - 1);
	SEE(depth, below, first->in.b) use(below);
	SEE(depth, below) return opaque(below) + depth;
}

int MAIN(void)
{
	static struct inner next = { -7, 700, -70000, 7000000000 };
	struct outer object = { 5, 99, -9, 0x1abcd, 0x123456789a, { -1, 2, -3, 4 }, &next };

	begin();
	object.word = 0x89abcdef;
	fill(object.table, 6);
	for (int at = 0; at < 12; at++)
		object.grid[at / 4][at % 4] = 100 - 17 * at;
	strcpy(object.text, "known");
	global_outer = object;
	global_outer.in.c = 4242;
	arguments(-1, 200, -3000, 60000, -5, 4000000000u, -1ll << 40, 0xfedcba9876543210ull);
	arguments(1, 2, 3, 4, 5, 6, 7, 8);
	loop(6, 4);
	loop(3, -5);
	unrolled();
	structures(&object, 3);
	structures(&object, -8);
	by_value((struct pair){ -12, 34 }, (struct mixed){ 1ll << 50, -99, 250 }, object);
	local_structures(21);
	for (int which = 1; which < 5; which++)
		constants(which);
	inlined(-50, 3);
	inlined(7, 0xf0000001);
	shadows(1);
	shadows(2);
	shadows(9);
	statics(2);
	statics(-5);
	narrow(0x8899aabbccddeeff);
	narrow(300);
	search(object.table, 6, 2);
	search(object.table, 6, 18);
	pressure(1000, -2000, 3000, -4000);
	chain(&object, 4);
	return 0;
}
