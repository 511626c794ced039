// SPDX-License-Identifier: GPL-2.0
/* Members that moved between kernels, by flavours of their types. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

char _license[] SEC("license") = "GPL";

struct tcp_sock___older {
	u32 snd_cwnd_used;
	u64 retrans_stamp;
} __attribute__((preserve_access_index));

struct inet_connection_sock___any {
	u32 icsk_rto;
} __attribute__((preserve_access_index));

SEC("struct_ops")
void BPF_PROG(flavours_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = (void *)sk;
	struct tcp_sock___older *older = (void *)sk;
	struct inet_connection_sock___any *icsk = (void *)sk;
	u32 used = 0;

	if (bpf_core_field_exists(older->snd_cwnd_used))
		used = BPF_CORE_READ(older, snd_cwnd_used);
	if (bpf_core_field_exists(struct tcp_sock, rcv_ooopack) && icsk->icsk_rto + 1 && !used)
		tp->snd_cwnd += acked;
	if (bpf_core_type_exists(struct tcp_plb_state) && bpf_core_field_size(struct tcp_sock, snd_cwnd) == 4)
		tp->snd_cwnd_cnt = bpf_core_enum_value(enum tcp_ca_state, TCP_CA_Loss);
}

SEC("struct_ops")
u32 BPF_PROG(flavours_ssthresh, struct sock *sk)
{
	return 2;
}

SEC("struct_ops")
u32 BPF_PROG(flavours_undo_cwnd, struct sock *sk)
{
	return ((struct tcp_sock *)sk)->snd_cwnd;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops flavours = {
	.cong_avoid = (void *)flavours_cong_avoid,
	.ssthresh = (void *)flavours_ssthresh,
	.undo_cwnd = (void *)flavours_undo_cwnd,
	.name = "flavours",
};
