/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * As congestion controls were written for Linux 5.6: types and names apart, and a program with the name of a kernel
 * function.
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include "bpf_tcp_helpers.h"

char _license[] SEC("license") = "GPL";

static unsigned int added = 3;

BPF_TCP_OPS_1(plain_ssthresh, __u32, struct sock *, sk)
{
	return max(tcp_sk(sk)->snd_cwnd >> 1U, 2U);
}

BPF_TCP_OPS_3(tcp_reno_cong_avoid, void, struct sock *, sk, __u32, ack, __u32, acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (tcp_is_cwnd_limited(sk) && !before(ack, 1))
		tp->snd_cwnd += min(acked, added);
}

BPF_TCP_OPS_1(plain_undo, __u32, struct sock *, sk)
{
	return min_not_zero(tcp_sk(sk)->snd_cwnd, tcp_sk(sk)->prior_cwnd);
}

SEC(".struct_ops")
struct tcp_congestion_ops plain = {
	.ssthresh = (void *)plain_ssthresh,
	.cong_avoid = (void *)tcp_reno_cong_avoid,
	.undo_cwnd = (void *)plain_undo,
	.name = "test_5_6",
};
