/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a congestion control of this collection says about itself: its name and its parameters. */
#ifndef UNBLOAT_CONTROL_H
#define UNBLOAT_CONTROL_H

#include "bpf/bpf_helpers.h"

/* A running kernel may hold its own control of that name, so there ours is called otherwise. At most 15 characters each. */
#ifdef __bpf__
#define CONTROL_NAME(name) "ub_" name
#else
#define CONTROL_NAME(name) name
#endif

/*
 * PARAM(type, name, default, lowest, highest, unit, meaning): a global that is set before loading and constant afterwards. `type` is u32 or
 * bool; the bounds are literals; units: "us" (a duration), "%" or "/1024" (a share), "packets", or "" (a plain number).
 * Natively the description goes into the shared object, where `unbloat list` and error messages find it.
 */
#ifdef __bpf__
#define PARAM(type, name, initial, lowest, highest, unit, meaning) const volatile type name = initial
#else
#define PARAM(type, name, initial, lowest, highest, unit, meaning)                                    \
	const volatile type name = initial;                                                           \
	static const char unbloat_param_##name[] __attribute__((section(".unbloat.params"), used)) =  \
		#name "|" #type "|" #lowest "|" #highest "|" unit "|" meaning
#endif

#endif
