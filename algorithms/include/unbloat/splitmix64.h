/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* splitmix64: the generator of both targets. Every seed gives a full-period sequence. */
#ifndef UNBLOAT_SPLITMIX64_H
#define UNBLOAT_SPLITMIX64_H

#define UNBLOAT_SPLITMIX64_STEP 0x9e3779b97f4a7c15ull

/* The number drawn at a state: the upper half of the finalizer's result. */
static __always_inline __u32 unbloat_splitmix64(__u64 state)
{
	__u64 x = state;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return (x ^ (x >> 31)) >> 32;
}

#endif
