/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Native target: the kernel functions (kfuncs) that every congestion control may call, behaving as the kernel's.
 */
#include "unbloat/runtime.h"

/* Doubles each round trip, up to ssthresh; returns the acknowledged segments left over for congestion avoidance. */
KERNEL_FUNCTION __u32 tcp_slow_start(struct tcp_sock *tp, __u32 acked)
{
	__u32 cwnd = min(tp->snd_cwnd + acked, tp->snd_ssthresh);

	acked -= cwnd - tp->snd_cwnd;
	tp->snd_cwnd = min(cwnd, tp->snd_cwnd_clamp);
	return acked;
}

/* One segment for every `w` acknowledged. A count that a larger `w` left behind is cashed in first. */
KERNEL_FUNCTION void tcp_cong_avoid_ai(struct tcp_sock *tp, __u32 w, __u32 acked)
{
	if (tp->snd_cwnd_cnt >= w) {
		tp->snd_cwnd_cnt = 0;
		tp->snd_cwnd++;
	}
	tp->snd_cwnd_cnt += acked;
	if (tp->snd_cwnd_cnt >= w) {
		__u32 segments = tp->snd_cwnd_cnt / w;

		tp->snd_cwnd_cnt -= segments * w;
		tp->snd_cwnd += segments;
	}
	tp->snd_cwnd = min(tp->snd_cwnd, tp->snd_cwnd_clamp);
}

#define RENO_AS_BASE
#include "../../congestion/reno.bpf.c"

KERNEL_FUNCTION void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked)
{
	reno_cong_avoid(sk, ack, acked);
}

KERNEL_FUNCTION __u32 tcp_reno_ssthresh(struct sock *sk)
{
	return reno_ssthresh(sk);
}

KERNEL_FUNCTION __u32 tcp_reno_undo_cwnd(struct sock *sk)
{
	return reno_undo_cwnd(sk);
}
