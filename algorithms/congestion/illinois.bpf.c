/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Illinois: losses say when to change the window's direction, and the queueing delay says how fast it moves.
 *
 * From Liu, Basar, Srikant, "TCP-Illinois: A loss and delay-based congestion control algorithm for high-speed
 * networks", VALUETOOLS 2006 and Performance Evaluation 65(6-7), 2008, in the form that Linux gives it.
 *
 * The window grows by alpha segments a round trip, and a loss takes the share beta of it. Both follow from d and D once
 * a round trip. d is the mean RTT of the round less the least RTT; D is the largest RTT less the least. If d is at most
 * D / 100, alpha is 10. Above that
 *
 *    alpha = 10 / (1 + d' / D' (10 - 0.3) / 0.3)
 *
 * falls to 0.3, where d' and D' are d and D less D / 100. beta is 1/8 up to d = D / 10, and 1/2 from d = 8 D / 10 on.
 * Between them it rises evenly.
 *
 * Once alpha has left 10, it returns there only after five rounds with so short a delay. Illinois is Reno (1, 1/2)
 * while the window is below 15 segments. It is Reno after a timeout too, until the round ends.
 *
 * Departures from the paper, all of them Linux's:
 *  - the window below which it is Reno is 15 segments, in the paper 10;
 *  - five rounds with a short delay count also if others are between them. A timeout starts the count again;
 *  - alpha and beta are in 1/128 and 1/64;
 *  - RTTs above 3.36 s count as that, so that products fit 32 bits.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf_tracing_net.h"
#include "control.h"

PARAM(u32, window, 15, 0, 1000000, "packets", "below this window it is Reno");
PARAM(u32, rounds, 5, 1, 255, "", "rounds with a short delay before alpha is largest again");

#define ALPHA_BITS 7
#define ALPHA_ONE (1U << ALPHA_BITS)
#define ALPHA_LEAST (3 * ALPHA_ONE / 10)
#define ALPHA_MOST (10 * ALPHA_ONE)
#define BETA_BITS 6
#define BETA_LEAST (1U << (BETA_BITS - 3))
#define BETA_MOST (1U << (BETA_BITS - 1))
#define LONGEST_RTT (~0U / ALPHA_MOST) /* us */
#define NO_RTT 0x7fffffff

struct illinois {
	__u64 rtt_sum; /* of this round, us */
	__u32 rtt_min_us;
	__u32 rtt_max_us;
	__u32 round_end; /* sequence number */
	__u32 alpha;	 /* segments a round trip, 1/128 */
	__u32 beta;	 /* share that a loss takes, 1/64 */
	__u16 rtts;	 /* of this round */
	__u16 acked;	 /* segments, with the last ACK */
	__u8 has_queued; /* the delay has been longer than D / 100 */
	__u8 short_rounds;
};

static __always_inline void illinois_begin_round(struct sock *sk)
{
	struct illinois *ca = inet_csk_ca(sk);

	ca->round_end = tcp_sk(sk)->snd_nxt;
	ca->rtts = 0;
	ca->rtt_sum = 0;
}

static __always_inline void illinois_be_reno(struct illinois *ca)
{
	ca->alpha = ALPHA_ONE;
	ca->beta = BETA_MOST;
}

/* Delays of a round and the largest, us. */
static __always_inline __u32 illinois_alpha(struct illinois *ca, __u32 delay, __u32 most)
{
	__u32 short_delay = most / 100;

	if (delay <= short_delay) {
		if (!ca->has_queued)
			return ALPHA_MOST;
		if (++ca->short_rounds < rounds)
			return ca->alpha;
		ca->short_rounds = 0;
		ca->has_queued = 0;
		return ALPHA_MOST;
	}
	ca->has_queued = 1;
	delay -= short_delay;
	most -= short_delay;
	return most * ALPHA_MOST / (most + delay * (ALPHA_MOST - ALPHA_LEAST) / ALPHA_LEAST);
}

static __always_inline __u32 illinois_beta(__u32 delay, __u32 most)
{
	__u32 low = most / 10;
	__u32 high = 8 * most / 10;

	if (delay <= low)
		return BETA_LEAST;
	if (delay >= high || high <= low)
		return BETA_MOST;
	return BETA_LEAST + (BETA_MOST - BETA_LEAST) * (delay - low) / (high - low);
}

static __always_inline void illinois_end_round(struct sock *sk, struct illinois *ca)
{
	if (tcp_sk(sk)->snd_cwnd < window) {
		illinois_be_reno(ca);
	} else if (ca->rtts) {
		__u32 delay = (__u32)(ca->rtt_sum / ca->rtts) - ca->rtt_min_us;
		__u32 most = ca->rtt_max_us - ca->rtt_min_us;

		ca->alpha = illinois_alpha(ca, delay, most);
		ca->beta = illinois_beta(delay, most);
	}
	illinois_begin_round(sk);
}

SEC("struct_ops")
void BPF_PROG(init, struct sock *sk)
{
	*(struct illinois *)inet_csk_ca(sk) = (struct illinois){
		.alpha = ALPHA_MOST,
		.beta = BETA_MOST,
		.rtt_min_us = NO_RTT,
	};
	illinois_begin_round(sk);
}

SEC("struct_ops")
void BPF_PROG(pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct illinois *ca = inet_csk_ca(sk);

	ca->acked = sample->pkts_acked;
	if (sample->rtt_us < 0)
		return;
	__u32 rtt_us = min((__u32)sample->rtt_us, LONGEST_RTT);

	ca->rtt_min_us = min(ca->rtt_min_us, rtt_us);
	ca->rtt_max_us = max(ca->rtt_max_us, rtt_us);
	ca->rtts++;
	ca->rtt_sum += rtt_us;
}

SEC("struct_ops")
void BPF_PROG(cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct illinois *ca = inet_csk_ca(sk);

	if (after(ack, ca->round_end))
		illinois_end_round(sk, ca);
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		tcp_slow_start(tp, acked);
		return;
	}
	tp->snd_cwnd_cnt += ca->acked;
	ca->acked = 1;
	__u32 grown = (tp->snd_cwnd_cnt * ca->alpha) >> ALPHA_BITS;

	if (grown >= tp->snd_cwnd) {
		tp->snd_cwnd = min(tp->snd_cwnd + grown / tp->snd_cwnd, tp->snd_cwnd_clamp);
		tp->snd_cwnd_cnt = 0;
	}
}

SEC("struct_ops")
__u32 BPF_PROG(ssthresh, struct sock *sk)
{
	const struct illinois *ca = inet_csk_ca(sk);
	__u32 cwnd = tcp_sk(sk)->snd_cwnd;

	return max(cwnd - ((cwnd * ca->beta) >> BETA_BITS), 2U);
}

SEC("struct_ops")
void BPF_PROG(set_state, struct sock *sk, __u8 new_state)
{
	struct illinois *ca = inet_csk_ca(sk);

	if (new_state != TCP_CA_Loss)
		return;
	illinois_be_reno(ca);
	ca->short_rounds = 0;
	ca->has_queued = 0;
	illinois_begin_round(sk);
}

SEC("struct_ops")
__u32 BPF_PROG(undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops illinois = {
	.init = (void *)init,
	.pkts_acked = (void *)pkts_acked,
	.cong_avoid = (void *)cong_avoid,
	.ssthresh = (void *)ssthresh,
	.set_state = (void *)set_state,
	.undo_cwnd = (void *)undo_cwnd,
	.name = CONTROL_NAME("illinois"),
};

char _license[] SEC("license") = "Dual BSD/GPL";
