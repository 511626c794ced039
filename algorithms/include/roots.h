/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Roots of 64-bit integers, rounded down: Newton's steps from a power of two above the root, until they no longer fall.
 * The functions have no branches, because the kernel's verifier follows each side of every branch. A root found bit by
 * bit would exceed its limit. The header needs nothing of a kernel.
 */
#ifndef UNBLOAT_ROOTS_H
#define UNBLOAT_ROOTS_H

#include "integers.h"

#define SQUARE_ROOT_STEPS 6 /* from twice the root down to it, for any 64-bit number */
#define CUBE_ROOT_STEPS 7   /* likewise */

/* All ones if x is negative, else zero: a choice without a branch. */
static __always_inline __u64 if_negative(__s64 x)
{
	return x >> 63;
}

/* Position of the highest bit set in a, from 0. */
static __always_inline __u32 highest_bit(__u64 a)
{
	__u32 position = 0;

	for (__u32 step = 32; step; step >>= 1) {
		__u32 move = step & if_negative(-(__s64)(a >> step));

		a >>= move;
		position += move;
	}
	return position;
}

/* The largest x whose square is at most a, for a > 0. */
static __always_inline __u32 square_root(__u64 a)
{
	__u64 x = 1ULL << (highest_bit(a) / 2 + 1);

	for (int step = 0; step < SQUARE_ROOT_STEPS; step++) {
		__u64 next = (x + a / x) / 2;

		x += (next - x) & if_negative(next - x);
	}
	return x;
}

/* The largest x whose cube is at most a, for a > 0. */
static __always_inline __u32 cube_root(__u64 a)
{
	__u64 x = 1ULL << (highest_bit(a) / 3 + 1);

	for (int step = 0; step < CUBE_ROOT_STEPS; step++) {
		__u64 next = (2 * x + a / (x * x)) / 3;

		x += (next - x) & if_negative(next - x);
	}
	return x;
}

#endif
