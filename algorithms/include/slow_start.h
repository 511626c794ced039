/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef UNBLOAT_SLOW_START_H
#define UNBLOAT_SLOW_START_H

#include "bpf_tracing_net.h"

/*
 * Reno's first half of an ACK: a window that is not in use does not grow, and slow start takes the acknowledged
 * segments that it needs. Returns false if none are left for congestion avoidance.
 */
static __always_inline bool reaches_congestion_avoidance(struct sock *sk, __u32 *acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return false;
	if (!tcp_in_slow_start(tp))
		return true;
	*acked = tcp_slow_start(tp, *acked);
	return *acked;
}

#endif
