/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * As congestion controls were written for Linux 6.9 and 6.10: the full vmlinux.h with bpf_tracing_net.h, small
 * functions and macros of the file's own, cong_control() with two arguments and with four, several controls in one
 * file.
 */
#include "vmlinux.h"
#include "bpf_tracing_net.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char _license[] SEC("license") = "Dual BSD/GPL";

#define USEC_PER_SEC 1000000UL
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define after(seq2, seq1) before(seq1, seq2)

static bool before(__u32 seq1, __u32 seq2)
{
	return (__s32)(seq1 - seq2) < 0;
}

static inline struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

SEC("struct_ops")
void BPF_PROG(two_arguments, struct sock *sk, const struct rate_sample *rs)
{
	tcp_sk(sk)->snd_cwnd += rs->acked_sacked;
	sk->sk_pacing_rate = min(2 * sk->sk_max_pacing_rate, 1000UL);
}

SEC("struct_ops")
void BPF_PROG(four_arguments, struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (flag & FLAG_DATA_ACKED && after(ack, tp->high_seq))
		tp->snd_cwnd += max(rs->acked_sacked, 2U);
	sk->sk_pacing_status = SK_PACING_NEEDED;
}

SEC("struct_ops")
__u32 BPF_PROG(keep_ssthresh, struct sock *sk)
{
	return tcp_sk(sk)->snd_ssthresh;
}

SEC("struct_ops")
__u32 BPF_PROG(keep_cwnd, struct sock *sk)
{
	return tcp_sk(sk)->snd_cwnd;
}

SEC("struct_ops")
__u32 BPF_PROG(expand, struct sock *sk)
{
	return 3;
}

SEC("struct_ops")
__u32 BPF_PROG(burst, struct sock *sk)
{
	return 4;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops four = {
	.cong_control = (void *)four_arguments,
	.ssthresh = (void *)keep_ssthresh,
	.undo_cwnd = (void *)keep_cwnd,
	.sndbuf_expand = (void *)expand,
	.min_tso_segs = (void *)burst,
	.name = "test_four",
};

SEC(".struct_ops")
struct tcp_congestion_ops two = {
	.cong_control = (void *)two_arguments,
	.ssthresh = (void *)keep_ssthresh,
	.undo_cwnd = (void *)keep_cwnd,
	.name = "test_two",
};
