/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The helpers and declarations of BPF programs, for both targets: for a kernel libbpf's own, natively they mean the
 * simulated clock, the run's seeded generator and the socket storage of include/unbloat/runtime.c.
 */
#ifndef UNBLOAT_BPF_HELPERS_H
#define UNBLOAT_BPF_HELPERS_H

#include "vmlinux.h"

#ifdef __bpf__
#include "unbloat/helpers_kernel.h"
#else
#include "unbloat/helpers_native.h"
#endif

#ifndef READ_ONCE
#define READ_ONCE(x) (*(const volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, val) (*(volatile typeof(x) *)&(x) = (val))
#endif

#endif
