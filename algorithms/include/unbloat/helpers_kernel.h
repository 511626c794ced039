/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Kernel target of bpf/bpf_helpers.h: libbpf's own, except for the random numbers of a run. */
#ifndef UNBLOAT_HELPERS_KERNEL_H
#define UNBLOAT_HELPERS_KERNEL_H

#include "libbpf/bpf_helpers.h"
#include "unbloat/splitmix64.h"

/*
 * A run over emulated links draws the simulator's numbers for the same seed (splitmix64, as in runtime.c). A program
 * that `unbloat load` loads has the kernel's own generator. The loader sets both constants, and the verifier drops the
 * branch that is not taken.
 */
static const volatile bool unbloat_is_seeded = false;
static const volatile __u64 unbloat_seed = 0;
static __u64 unbloat_draws;

static __always_inline __u32 unbloat_prandom_u32(void)
{
	if (!unbloat_is_seeded)
		return bpf_get_prandom_u32();
	return unbloat_splitmix64(unbloat_seed + ++unbloat_draws * UNBLOAT_SPLITMIX64_STEP);
}
#define bpf_get_prandom_u32() unbloat_prandom_u32()

#endif
