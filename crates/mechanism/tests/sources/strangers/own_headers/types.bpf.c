// SPDX-License-Identifier: GPL-2.0
#include <linux/bpf.h>
#include "types_of_5_10.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

char _license[] SEC("license") = "GPL";

struct mine {
	u32 least_rtt;
	u32 rounds;
};

static struct mine *mine_of(struct sock *sk)
{
	return (struct mine *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

SEC("struct_ops/types_init")
void BPF_PROG(types_init, struct sock *sk)
{
	mine_of(sk)->least_rtt = ~0U;
	sk->sk_pacing_status = SK_PACING_NEEDED;
}

SEC("struct_ops/types_pkts_acked")
void BPF_PROG(types_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct mine *mine = mine_of(sk);

	if (sample->rtt_us > 0 && sample->rtt_us < mine->least_rtt)
		mine->least_rtt = sample->rtt_us;
}

SEC("struct_ops/types_ssthresh")
u32 BPF_PROG(types_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	return tp->snd_cwnd > 3 ? tp->snd_cwnd / 2 : 2;
}

SEC("struct_ops/types_cong_avoid")
void BPF_PROG(types_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	if (BPF_CORE_READ_BITFIELD((struct inet_connection_sock *)sk, icsk_ca_state) == TCP_CA_Open)
		tp->snd_cwnd += mine_of(sk)->least_rtt != ~0U;
}

SEC("struct_ops/types_undo_cwnd")
u32 BPF_PROG(types_undo_cwnd, struct sock *sk)
{
	return ((struct tcp_sock *)sk)->snd_cwnd;
}

SEC(".struct_ops")
struct tcp_congestion_ops types = {
	.init = (void *)types_init,
	.pkts_acked = (void *)types_pkts_acked,
	.ssthresh = (void *)types_ssthresh,
	.cong_avoid = (void *)types_cong_avoid,
	.undo_cwnd = (void *)types_undo_cwnd,
	.name = "types",
};
