/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * TCP-LP: low priority. Reno that takes a one-way delay above the usual range as congestion, long before anything is
 * lost.
 *
 * From Kuzmanovic, Knightly, "TCP-LP: Low-Priority Service via End-Point Congestion Control", IEEE/ACM Transactions on
 * Networking 14(4), 2006. TCP-LP sees congestion when the moving average of the delay exceeds the least delay by more
 * than `delta` of the range up to the largest. It then halves the window and does not let it grow for `inference` round
 * trips. If it sees congestion again in that time, the window falls to one segment.
 *
 * Departures and choices:
 *  - only the distance of a delay from the least counts. Linux's module uses the absolute value, which the random
 *    offset of each connection's timestamps makes meaningless. Unless tcp_timestamps is 2, Linux's module is Reno;
 *  - for the same reason congestion does not reset the range to once and twice the average, as it does in Linux. The
 *    paper does not do so either;
 *  - the range is learnt up to the first loss and used after it, as in the paper, `learn_range`. Linux uses it from the
 *    start, so that the first burst counts as congestion;
 *  - congestion that shows within a round trip of the reaction answers what was sent before it, and counts once;
 *  - a delay of up to one tick above the threshold does not count as congestion. Clocks that tick every millisecond
 *    cannot measure less, and Linux counts whole milliseconds;
 *  - an ACK that the receiver held back can only lower the average. Otherwise a window of one segment would take each
 *    of its own ACKs as congestion, and stay at one;
 *  - a reduction sets the threshold of slow start, as in Reno. In the paper the window then grows by a segment a round
 *    trip. In Linux it slow-starts up to the old threshold;
 *  - with Linux, a single delay above all others counts as the largest only after another one confirms it. Slow start
 *    is Reno's, and without timestamps TCP-LP is Reno.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf_tracing_net.h"
#include "control.h"
#include "one_way_delay.h"

PARAM(u32, delta, 15, 1, 100, "%", "share of the delay's range that is not congestion yet");
PARAM(u32, inference, 3, 1, 100, "", "round trips in which it looks whether congestion lasts");
PARAM(bool, learn_range, true, 0, 1, "", "up to the first loss no delay is congestion");

#define EIGHTHS 8U /* the average is in 1/8 us, and a sample weighs an eighth in it */

/* Delays in us, but for the least above that one. */
struct tcp_lp {
	__u32 least;
	__u32 largest;
	__u32 unconfirmed; /* larger than that, seen once */
	__u32 average;
	__u32 rtt_us;	  /* latest */
	__u32 reduced_us; /* when the window was reduced last */
	__u8 has_delay;
	__u8 inferring; /* and not `inference` round trips have passed */
	__u8 singles;	/* for was_held_back() */
	__u8 has_lost;
};

static __always_inline void tcp_lp_new_least(struct tcp_lp *ca, __u32 delay)
{
	__u32 shift = ca->has_delay ? queueing_us(ca->least, delay) : 0;

	ca->largest = min(ca->largest + shift, LONGEST_QUEUEING);
	ca->unconfirmed = min(ca->unconfirmed + shift, LONGEST_QUEUEING);
	ca->average = min(ca->average + EIGHTHS * shift, EIGHTHS * LONGEST_QUEUEING);
	ca->least = delay;
	ca->has_delay = 1;
}

static __always_inline void tcp_lp_sample(struct tcp_lp *ca, __u32 delay)
{
	if (!ca->has_delay || before(delay, ca->least))
		tcp_lp_new_least(ca, delay);
	__u32 queueing = queueing_us(delay, ca->least);

	if (queueing > ca->unconfirmed) {
		ca->largest = ca->unconfirmed;
		ca->unconfirmed = queueing;
	} else if (queueing > ca->largest) {
		ca->largest = queueing;
	}
	ca->average += queueing - ca->average / EIGHTHS;
}

static __always_inline bool tcp_lp_is_below_average(const struct tcp_lp *ca, __u32 delay)
{
	return ca->has_delay && before(delay, ca->least + ca->average / EIGHTHS);
}

static __always_inline bool tcp_lp_is_congested(const struct tcp_lp *ca, __u32 tick_us)
{
	return ca->average / EIGHTHS >= (__u64)ca->largest * delta / 100 + tick_us;
}

static __always_inline void tcp_lp_reduce(struct tcp_sock *tp, struct tcp_lp *ca, __u32 now)
{
	if (ca->inferring) {
		tp->snd_cwnd = 1;
	} else {
		tp->snd_cwnd = max(tp->snd_cwnd / 2, 1U);
		tp->snd_ssthresh = max(tp->snd_cwnd, 2U);
	}
	ca->inferring = 1;
	ca->reduced_us = now;
}

SEC("struct_ops")
void BPF_PROG(init, struct sock *sk)
{
	*(struct tcp_lp *)inet_csk_ca(sk) = (struct tcp_lp){};
}

SEC("struct_ops")
void BPF_PROG(pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct tcp_lp *ca = inet_csk_ca(sk);
	__u32 now = clock_us(sk);

	if (sample->rtt_us >= 0)
		ca->rtt_us = sample->rtt_us;
	if (ca->inferring && now - ca->reduced_us >= (__u64)inference * ca->rtt_us)
		ca->inferring = 0;
	if (!has_one_way_delay(sk, sample))
		return;
	__u32 delay = one_way_delay_us(sk);

	if (was_held_back(&ca->singles, sample->pkts_acked)) {
		if (tcp_lp_is_below_average(ca, delay))
			tcp_lp_sample(ca, delay);
		return;
	}
	tcp_lp_sample(ca, delay);
	bool learns = learn_range && !ca->has_lost;
	bool answers_the_past = ca->inferring && now - ca->reduced_us < ca->rtt_us;

	if (!learns && !answers_the_past && tcp_lp_is_congested(ca, timestamp_tick_us(sk)))
		tcp_lp_reduce(tcp_sk(sk), ca, now);
}

SEC("struct_ops")
void BPF_PROG(cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	const struct tcp_lp *ca = inet_csk_ca(sk);

	if (!ca->inferring)
		tcp_reno_cong_avoid(sk, ack, acked);
}

SEC("struct_ops")
__u32 BPF_PROG(ssthresh, struct sock *sk)
{
	struct tcp_lp *ca = inet_csk_ca(sk);

	ca->has_lost = 1;
	return tcp_reno_ssthresh(sk);
}

SEC("struct_ops")
__u32 BPF_PROG(undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops tcp_lp = {
	.init = (void *)init,
	.pkts_acked = (void *)pkts_acked,
	.cong_avoid = (void *)cong_avoid,
	.ssthresh = (void *)ssthresh,
	.undo_cwnd = (void *)undo_cwnd,
	.name = "tcp_lp",
};

char _license[] SEC("license") = "Dual BSD/GPL";
