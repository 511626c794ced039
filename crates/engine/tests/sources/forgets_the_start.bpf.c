/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reno with a fault: it grows only after the sequence number that it noted last, and begins with 0, as if connections
 * did. One that starts at 2^31 or more waits until its numbers have wrapped.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf_tracing_net.h"
#include "control.h"

struct state {
	__u32 round_end;
};

SEC("struct_ops")
void BPF_PROG(forgets_init, struct sock *sk)
{
	*(struct state *)inet_csk_ca(sk) = (struct state){0};
}

SEC("struct_ops")
void BPF_PROG(forgets_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct state *ca = inet_csk_ca(sk);

	if (before(ack, ca->round_end))
		return;
	ca->round_end = tcp_sk(sk)->snd_nxt;
	tcp_sk(sk)->snd_cwnd++;
}

SEC("struct_ops")
__u32 BPF_PROG(forgets_ssthresh, struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd / 2, 2U);
}

SEC("struct_ops")
__u32 BPF_PROG(forgets_undo_cwnd, struct sock *sk)
{
	return tcp_sk(sk)->snd_cwnd;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops forgets_the_start = {
	.init = (void *)forgets_init,
	.cong_avoid = (void *)forgets_cong_avoid,
	.ssthresh = (void *)forgets_ssthresh,
	.undo_cwnd = (void *)forgets_undo_cwnd,
	.name = CONTROL_NAME("forgets_start"),
};

char _license[] SEC("license") = "Dual BSD/GPL";
