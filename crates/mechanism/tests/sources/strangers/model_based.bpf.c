// SPDX-License-Identifier: GPL-2.0
/* The kernel's own tcp_bbr.c is the model of such files: its macros come along. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#define min_t(type, a, b) ((type)(a) < (type)(b) ? (type)(a) : (type)(b))
#define max_t(type, a, b) ((type)(a) > (type)(b) ? (type)(a) : (type)(b))
#define clamp(x, low, high) min_t(u64, max_t(u64, x, low), high)
#define do_div(n, base) ({ u32 rest = (n) % (base); (n) = (n) / (base); rest; })
#define USEC_PER_SEC 1000000UL
#define BW_SCALE 24
#define BW_UNIT (1 << BW_SCALE)
#define cmpxchg(p, old, new) __sync_val_compare_and_swap((p), (old), (new))

char _license[] SEC("license") = "GPL";

/* Of the same name as the kernel's, and another. */
struct bbr {
	u32 min_rtt_us;
	u32 rounds : 30, started : 1, unused : 1;
	u64 bw;
};

static inline struct bbr *inet_csk_ca(const struct sock *sk)
{
	return (void *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static inline struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static __always_inline u64 div64_u64(u64 a, u64 b)
{
	return b ? a / b : 0;
}

static u32 tcp_min_rtt(const struct tcp_sock *tp)
{
	return tp->rtt_min.s[0].v;
}

SEC("struct_ops")
void BPF_PROG(model_init, struct sock *sk)
{
	struct bbr *bbr = inet_csk_ca(sk);

	bbr->min_rtt_us = tcp_min_rtt(tcp_sk(sk));
	bbr->started = 1;
	bbr->bw = 0;
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

SEC("struct_ops")
void BPF_PROG(model_cong_control, struct sock *sk, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct bbr *bbr = inet_csk_ca(sk);
	u64 bw = div64_u64((u64)max_t(int, rs->delivered, 0) * BW_UNIT, max_t(long, rs->interval_us, 1));
	u64 rate;

	bbr->bw = max_t(u64, bbr->bw, bw);
	if (rs->rtt_us > 0)
		bbr->min_rtt_us = min_t(u32, bbr->min_rtt_us, rs->rtt_us);
	bbr->rounds++;
	rate = bbr->bw * tp->mss_cache;
	rate *= USEC_PER_SEC;
	rate >>= BW_SCALE;
	sk->sk_pacing_rate = clamp(rate, 10000, sk->sk_max_pacing_rate);
	rate = bbr->bw * bbr->min_rtt_us >> BW_SCALE;
	do_div(rate, 1);
	tp->snd_cwnd = clamp(2 * rate, 4, tp->snd_cwnd_clamp);
}

SEC("struct_ops")
u32 BPF_PROG(model_ssthresh, struct sock *sk)
{
	return tcp_sk(sk)->snd_ssthresh;
}

SEC("struct_ops")
u32 BPF_PROG(model_undo_cwnd, struct sock *sk)
{
	return tcp_sk(sk)->snd_cwnd;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops model_based = {
	.init = (void *)model_init,
	.cong_control = (void *)model_cong_control,
	.ssthresh = (void *)model_ssthresh,
	.undo_cwnd = (void *)model_undo_cwnd,
	.name = "model_based",
};
