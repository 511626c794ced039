/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Native target: the kernel functions of its DCTCP, by the algorithm of congestion/dctcp.bpf.c with its default
 * parameters.
 */
#define FIXED_PARAMS
#define DCTCP_AS_BASE
#include "../../congestion/dctcp.bpf.c"
#include "unbloat/runtime.h"

KERNEL_FUNCTION void dctcp_init(struct sock *sk)
{
	dctcp_start(sk);
}

KERNEL_FUNCTION void dctcp_update_alpha(struct sock *sk, __u32 flags)
{
	dctcp_average(sk);
}

KERNEL_FUNCTION __u32 dctcp_ssthresh(struct sock *sk)
{
	return dctcp_threshold(sk);
}

KERNEL_FUNCTION void dctcp_state(struct sock *sk, __u8 new_state)
{
	dctcp_enter(sk, new_state);
}

KERNEL_FUNCTION void dctcp_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	dctcp_event(sk, event);
}

KERNEL_FUNCTION __u32 dctcp_cwnd_undo(struct sock *sk)
{
	return dctcp_undo(sk);
}
