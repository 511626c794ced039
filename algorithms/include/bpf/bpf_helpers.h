/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The helpers and declarations of BPF programs, for both targets: in the kernel they call it, natively they mean the
 * simulated clock, the run's seeded generator and the socket storage of include/unbloat/runtime.c.
 */
#ifndef __BPF_HELPERS__
#define __BPF_HELPERS__

#include "vmlinux.h"

#define __uint(name, val) int (*name)[val]
#define __type(name, val) typeof(val) *name
#define __array(name, val) typeof(val) *name[]
#define __ulong(name, val)          \
	enum {                      \
		name##__value = val \
	} name

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#ifndef __noinline
#define __noinline __attribute__((noinline))
#endif
#ifndef __weak
#define __weak __attribute__((weak))
#endif
#ifndef __hidden
#define __hidden __attribute__((visibility("hidden")))
#endif
#ifndef __maybe_unused
#define __maybe_unused __attribute__((unused))
#endif
#ifndef __arg_ctx
#define __arg_ctx
#define __arg_nonnull
#define __arg_nullable
#define __arg_trusted
#endif
#ifndef barrier
#define barrier() asm volatile("" ::: "memory")
#endif
#ifndef barrier_var
#define barrier_var(var) asm volatile("" : "+r"(var))
#endif
#ifndef likely
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#endif
#ifndef READ_ONCE
#define READ_ONCE(x) (*(const volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, val) (*(volatile typeof(x) *)&(x) = (val))
#endif

#ifdef __bpf__
#include "unbloat/helpers_kernel.h"
#else
#include "unbloat/helpers_native.h"
#endif

#endif
