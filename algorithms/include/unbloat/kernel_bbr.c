/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Native target: the kernel functions of its BBR, by the algorithm of congestion/bbr.bpf.c with its default parameters.
 */
#define FIXED_PARAMS
#define BBR_AS_BASE
#include "../../congestion/bbr.bpf.c"
#include "unbloat/runtime.h"

KERNEL_FUNCTION void bbr_init(struct sock *sk)
{
	bbr_start(sk);
}

KERNEL_FUNCTION void bbr_main(struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs)
{
	bbr_control(sk, rs);
}

KERNEL_FUNCTION __u32 bbr_sndbuf_expand(struct sock *sk)
{
	return BBR_SEND_BUFFER;
}

KERNEL_FUNCTION __u32 bbr_undo_cwnd(struct sock *sk)
{
	return bbr_undo(sk);
}

KERNEL_FUNCTION void bbr_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	bbr_event(sk, event);
}

KERNEL_FUNCTION __u32 bbr_ssthresh(struct sock *sk)
{
	return bbr_threshold(sk);
}

KERNEL_FUNCTION __u32 bbr_min_tso_segs(struct sock *sk)
{
	return bbr_least_burst(sk);
}

KERNEL_FUNCTION void bbr_set_state(struct sock *sk, __u8 new_state)
{
	bbr_enter(sk, new_state);
}
