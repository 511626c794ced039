/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * BPF_PROG(name, typed arguments...): a program of the kernel's calling convention, one pointer to an array of 64-bit
 * arguments, around a function with typed ones. The return type stands before it.
 */
#ifndef UNBLOAT_BPF_TRACING_H
#define UNBLOAT_BPF_TRACING_H

#include "bpf/bpf_helpers.h"
#ifdef __bpf__
#include "libbpf/bpf_tracing.h"
#else
#define __BPF_TRACING_H__ /* libbpf's, which may lie beside a file, stays out */
#endif

#ifndef UNBLOAT_NO_TYPES
#undef BPF_PROG

#define unbloat_cat(a, b) a##b
#define unbloat_cat_late(a, b) unbloat_cat(a, b)
#define unbloat_nth(_, a1, a2, a3, a4, a5, a6, count, ...) count
#define unbloat_count(args...) unbloat_nth(_, ##args, 6, 5, 4, 3, 2, 1, 0)

/* An argument is taken from 64 bits to whatever its type is, which may be a pointer. */
#define unbloat_take_0(body) ctx
#define unbloat_take_1(body) ctx, ctx[0]
#define unbloat_take_2(body) unbloat_take_1(body), unbloat_second(body)
#define unbloat_take_3(body) unbloat_take_1(body), ctx[1], ctx[2]
#define unbloat_take_4(body) unbloat_take_1(body), unbloat_ack(ctx), ctx[2], unbloat_last(ctx)
#define unbloat_take(body, args...) unbloat_cat_late(unbloat_take_, unbloat_count(args))(body)

/*
 * cong_control() alone has four arguments since Linux 6.10 and had two before: socket and rate sample. Either way of
 * writing loads on both.
 */
#ifdef __bpf__
#include "unbloat/cong_control_kernel.h"
#define unbloat_record_count(name, count)
#else
#define unbloat_cong_control_has_ack true
#define unbloat_second(body) ctx[1]
#define unbloat_ack(ctx) ctx[1]
#define unbloat_last(ctx) ctx[3]
/* How many arguments a program takes, and where it stands: the symbol table leads there. */
#define unbloat_record_count(name, count)     \
	;                                     \
	const struct {                        \
		unsigned int arguments, line; \
		char file[sizeof(__FILE__)];  \
	} unbloat_program_##name __attribute__((used)) = {count, __LINE__, __FILE__}
#endif

#if defined(__bpf__) && defined(UNBLOAT_RECORD)
#include "unbloat/record.h"
#define unbloat_run(name, body, args...) unbloat_recorded(name, body, ##args)
#else
#define unbloat_run(name, body, args...) return body(unbloat_take(body, ##args))
#endif

/* clang-format off */
#define BPF_PROG(name, args...)                                                                      \
	name(unsigned long long *ctx) unbloat_record_count(name, unbloat_count(args));               \
	static __always_inline typeof(name(0)) unbloat_body_##name(unsigned long long *ctx, ##args); \
	typeof(name(0)) name(unsigned long long *ctx)                                                \
	{                                                                                            \
		_Pragma("GCC diagnostic push")                                                       \
		_Pragma("GCC diagnostic ignored \"-Wint-conversion\"")                               \
		unbloat_run(name, unbloat_body_##name, args);                                        \
		_Pragma("GCC diagnostic pop")                                                        \
	}                                                                                            \
	static __always_inline typeof(name(0)) unbloat_body_##name(unsigned long long *ctx, ##args)
/* clang-format on */

#endif /* UNBLOAT_NO_TYPES */

#endif
