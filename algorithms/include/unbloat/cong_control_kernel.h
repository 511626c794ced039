/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Arguments that the running kernel passes to cong_control(): socket, ACK, flags and rate sample, or before Linux 6.10
 * socket and rate sample. The loader sets the constant by the kernel's types, and the verifier drops the other branch
 * before it looks at it. A program that reads the flags needs a newer kernel: in an older one the verifier finds no
 * third argument.
 */
#ifndef UNBLOAT_CONG_CONTROL_KERNEL_H
#define UNBLOAT_CONG_CONTROL_KERNEL_H

#include "bpf/bpf_helpers.h"

static const volatile bool unbloat_cong_control_has_ack = true;

/* The ACK's number; a kernel that does not pass it has just taken it into the socket. */
static __always_inline __u64 unbloat_ack(const unsigned long long *ctx)
{
	return unbloat_cong_control_has_ack ? ctx[1] : ((const struct tcp_sock *)ctx[0])->snd_una;
}

/*
 * The rate sample, the last argument. The empty assembly keeps the compiler from making one load at a computed place of
 * the two.
 */
static __always_inline __u64 unbloat_last(const unsigned long long *ctx)
{
	__u64 sample;

	if (unbloat_cong_control_has_ack) {
		sample = ctx[3];
		asm volatile("" : "+r"(sample));
	} else {
		sample = ctx[1];
		asm volatile("" : "+r"(sample));
	}
	return sample;
}

/* The second argument of a program that was declared with two: a rate sample is cong_control()'s. */
#define unbloat_second(body) (unbloat_takes_sample(body) ? unbloat_last(ctx) : ctx[1])
#define unbloat_takes_sample(body)                 \
	__builtin_types_compatible_p(typeof(body), \
				     void(unsigned long long *, struct sock *, const struct rate_sample *))

#endif
