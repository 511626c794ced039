// SPDX-License-Identifier: GPL-2.0
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char _license[] SEC("license") = "GPL";

u64 rounds[4];

static long once(u32 index, void *context)
{
	*(u64 *)context += index;
	return 0;
}

SEC("struct_ops")
void BPF_PROG(loops_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	u64 sum = 0;
	int i;

	bpf_for(i, 0, 4)
		rounds[i]++;
	bpf_repeat(3)
		sum++;
	bpf_loop(4, once, &sum, 0);
#pragma unroll
	for (i = 0; i < 4; i++)
		sum += rounds[i] > 0;
	if (sum == 3 + 6 + 4)
		tp->snd_cwnd += acked;
}

SEC("struct_ops")
u32 BPF_PROG(loops_ssthresh, struct sock *sk)
{
	return 2;
}

SEC("struct_ops")
u32 BPF_PROG(loops_undo_cwnd, struct sock *sk)
{
	return ((struct tcp_sock *)sk)->snd_cwnd;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops loops = {
	.cong_avoid = (void *)loops_cong_avoid,
	.ssthresh = (void *)loops_ssthresh,
	.undo_cwnd = (void *)loops_undo_cwnd,
	.name = "loops",
};
