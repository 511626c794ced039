/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Native target: the kernel functions of its CUBIC, by the algorithm of congestion/cubic.bpf.c with its default
 * parameters.
 */
#define FIXED_PARAMS
#define CUBIC_AS_BASE
#include "../../congestion/cubic.bpf.c"
#include "unbloat/runtime.h"

KERNEL_FUNCTION void cubictcp_init(struct sock *sk)
{
	cubic_init(sk);
}

KERNEL_FUNCTION void cubictcp_cong_avoid(struct sock *sk, __u32 ack, __u32 acked)
{
	cubic_cong_avoid(sk, ack, acked);
}

KERNEL_FUNCTION __u32 cubictcp_recalc_ssthresh(struct sock *sk)
{
	return cubic_ssthresh(sk);
}

KERNEL_FUNCTION void cubictcp_state(struct sock *sk, __u8 new_state)
{
	cubic_set_state(sk, new_state);
}

KERNEL_FUNCTION void cubictcp_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	cubic_cwnd_event(sk, event);
}

KERNEL_FUNCTION void cubictcp_acked(struct sock *sk, const struct ack_sample *sample)
{
	cubic_pkts_acked(sk, sample);
}
