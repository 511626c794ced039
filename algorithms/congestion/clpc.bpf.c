/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CLPC: low priority like LEDBAT, but N times as fast while the queue is empty, and a loss without a queue costs
 * little.
 *
 * From Jiang, Jin, "Adaptive low-priority congestion control for high bandwidth-delay product and wireless networks",
 * Computer Communications, 2016. CLPC measures the queueing delay q of the path to the receiver and its moving average
 * q_a. Every 10 ms
 *
 *    alpha = min(q_a / target, 1)     N = N + 1 - alpha N
 *
 * For each segment acknowledged the window grows by N (target - q) / target / cwnd while q is zero. Otherwise it grows
 * by the same without N, and shrinks if q is above the target. A loss leaves eta1 of the window if at most beta
 * segments are queued (cwnd q / rtt of them), else eta2.
 *
 * Departures and choices (in brackets: the row of papers/clpc/choices.toml):
 *  - N counts while q is zero, as in the paper's algorithm. Its text counts N whatever q is: `n_always`, which only
 *    growth regards [C1];
 *  - q is zero up to `eps`, because a clock that ticks every millisecond does not know it better [C2]. An ACK of two
 *    segments also waits for the second, which takes longer than that on links below some 10 Mbit/s;
 *  - N has no bound in the paper. Here it stays below `n_max` and below the window, which so at most doubles in a round
 *    trip [C3];
 *  - the q that judges a loss is the latest, or the largest of the last round trip, `judge_by_largest` [C5];
 *  - CLPC measures q from the least delay of the connection. With `history` it forgets delays after one to two times
 *    that long [C6];
 *  - a window that shrinks takes the slow-start threshold with it (`change_window`). Otherwise slow start would restore
 *    at once what the delay has taken away;
 *  - the paper uses `slow_start` in some experiments only. After a timeout there always is one;
 *  - an ACK that the receiver held back does not count while more segments are on their way [C11];
 *  - an ECN mark counts as a loss that finds a queue. A timeout leaves eta2 of the window, N = 1 and q_a = 0; a pause
 *    sets only N and q_a;
 *  - without timestamps it is Reno.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf_tracing_net.h"
#include "control.h"
#include "fractional_growth.h"
#include "one_way_delay.h"
#include "slow_start.h"

PARAM(u32, target, 25000, 1000, 1000000, "us", "queueing delay that it aims at");
PARAM(u32, gamma, 256, 1, 1024, "/1024", "weight of a sample in the average queueing delay");
PARAM(u32, n_period, 10000, 1000, 1000000, "us", "N changes once in this time");
PARAM(u32, n_max, 1024, 1, 16384, "", "largest N");
PARAM(bool, n_always, false, 0, 1, "", "N counts up to the target, not only while there is no queue");
PARAM(u32, eps, 1000, 0, 1000000, "us", "a queueing delay up to this is none");
PARAM(u32, beta, 3, 0, 10000, "packets", "no more queued: the loss was random");
PARAM(u32, eta1, 80, 1, 100, "%", "window that a random loss leaves");
PARAM(u32, eta2, 50, 1, 100, "%", "window that congestion leaves");
PARAM(bool, judge_by_largest, false, 0, 1, "",
      "a loss is judged by the largest delay of the last round trip, not by the latest");
PARAM(u32, history, 0, 0, 3600000000, "us", "the least delay is that of this time and as long before it; 0 = for life");
PARAM(bool, slow_start, false, 0, 1, "", "begin in slow start");

#define ONE_BITS 10 /* N, alpha and gamma are in 1/1024 */
#define ONE (1U << ONE_BITS)
#define AVERAGE_BITS 8	/* q_a is in 1/256 us */
#define MOST_PERIODS 64 /* of N in one go: more than a round trip has */

/* Times in us, modulo 2^32 where they are points in time or delays. */
struct clpc {
	__s64 sum;	     /* of changes that have not become a segment, 1/1024 segment times the target */
	__u32 least_delay;   /* within the history */
	__u32 newer_least;   /* since the history was cut ... */
	__u32 history_cut;   /* ... which was then */
	__u32 queueing;	     /* q */
	__u32 round_largest; /* q of this round trip ... */
	__u32 last_largest;  /* ... and of the one before */
	__u32 round_end;     /* sequence number */
	__u32 average;	     /* q_a */
	__u32 n;
	__u32 n_changed;
	__u32 delivered_ce;
	__u8 has_delay;
	__u8 marked;  /* the latest ACK brought marks */
	__u8 singles; /* for was_held_back() */
};

/* Equation 1. */
static __always_inline __u32 clpc_alpha(__u32 average)
{
	return min(((__u64)average << ONE_BITS) / ((__u64)target << AVERAGE_BITS), (__u64)ONE);
}

/* Equation 2. */
static __always_inline __u32 clpc_average(__u32 average, __u32 queueing)
{
	return ((__u64)average * (ONE - gamma) + ((__u64)queueing << AVERAGE_BITS) * gamma) >> ONE_BITS;
}

/* Equation 3. */
static __always_inline __u32 clpc_next_n(__u32 n, __u32 alpha)
{
	return n + ONE - (__u32)((__u64)alpha * n >> ONE_BITS);
}

/* Equations 4, 6 and 7, with the smoothed RTT in 1/8 us: reports whether a loss finds at most beta segments queued. */
static __always_inline bool clpc_is_random(__u32 cwnd, __u32 queueing, __u32 srtt)
{
	return (__u64)cwnd * queueing * 8 <= (__u64)beta * srtt;
}

/* Makes the changes of N that the paper's clock would have made since the last ACK. */
static __always_inline void clpc_change_n(struct clpc *ca, __u32 cwnd, __u32 now)
{
	__u32 alpha = clpc_alpha(ca->average);
	__u32 periods = (now - ca->n_changed) / n_period;
	__u32 n = ca->n;

	ca->n_changed += periods * n_period;
	for (__u32 i = 0; i < MOST_PERIODS && i < periods; i++)
		n = clpc_next_n(n, alpha);
	ca->n = min(n, max(min(n_max, cwnd), 1U) << ONE_BITS);
}

static __always_inline void clpc_restart(struct sock *sk)
{
	struct clpc *ca = inet_csk_ca(sk);

	ca->n = ONE;
	ca->n_changed = clock_us(sk);
	ca->average = 0;
}

static __always_inline void clpc_find_least(struct clpc *ca, __u32 delay, __u32 now)
{
	if (!ca->has_delay) {
		ca->least_delay = ca->newer_least = delay;
		ca->history_cut = now;
	} else if (history && now - ca->history_cut >= history) {
		ca->least_delay = ca->newer_least;
		ca->newer_least = delay;
		ca->history_cut = now;
	}
	ca->has_delay = 1;
	ca->least_delay = before(delay, ca->least_delay) ? delay : ca->least_delay;
	ca->newer_least = before(delay, ca->newer_least) ? delay : ca->newer_least;
}

static __always_inline void clpc_sample(const struct tcp_sock *tp, struct clpc *ca, __u32 delay)
{
	clpc_find_least(ca, delay, tp->tcp_mstamp);
	ca->queueing = queueing_us(delay, ca->least_delay);
	ca->average = clpc_average(ca->average, ca->queueing);
	if (after(tp->snd_una, ca->round_end)) {
		ca->round_end = tp->snd_nxt;
		ca->last_largest = ca->round_largest;
		ca->round_largest = 0;
	}
	ca->round_largest = max(ca->round_largest, ca->queueing);
}

/* Algorithm 1, lines 5 to 10. */
static __always_inline void clpc_change_window(struct tcp_sock *tp, struct clpc *ca, __u32 acked)
{
	bool n_counts = ca->queueing <= (n_always ? target : eps);
	__u64 factor = (__u64)acked * (n_counts ? ca->n : ONE);

	if (ca->queueing <= target)
		ca->sum += factor * (target - ca->queueing);
	else
		ca->sum -= factor * (ca->queueing - target);
	change_window(tp, &ca->sum, (__u64)target << ONE_BITS);
}

static __always_inline __u32 clpc_share(__u32 cwnd, __u32 percent)
{
	return max((__u32)((__u64)cwnd * percent / 100), LEAST_WINDOW);
}

SEC("struct_ops")
void BPF_PROG(init, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	*(struct clpc *)inet_csk_ca(sk) = (struct clpc){.round_end = tp->snd_nxt, .delivered_ce = tp->delivered_ce};
	clpc_restart(sk);
	if (has_timestamps(sk) && !slow_start)
		tp->snd_ssthresh = tp->snd_cwnd;
}

SEC("struct_ops")
void BPF_PROG(pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct clpc *ca = inet_csk_ca(sk);

	ca->marked = tp->delivered_ce != ca->delivered_ce;
	ca->delivered_ce = tp->delivered_ce;
	clpc_change_n(ca, tp->snd_cwnd, clock_us(sk));
	if (has_one_way_delay(sk, sample) && !(was_held_back(&ca->singles, sample->pkts_acked) && tp->packets_out))
		clpc_sample(tp, ca, one_way_delay_us(sk));
}

/* A window that is not in use may shrink. */
SEC("struct_ops")
void BPF_PROG(cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct clpc *ca = inet_csk_ca(sk);
	bool grows = tcp_in_slow_start(tp) || ca->queueing < target;

	if (!ca->has_delay)
		tcp_reno_cong_avoid(sk, ack, acked);
	else if (!grows || reaches_congestion_avoidance(sk, &acked))
		clpc_change_window(tp, ca, acked);
}

/* Algorithm 1, lines 13 to 17. */
SEC("struct_ops")
__u32 BPF_PROG(ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct clpc *ca = inet_csk_ca(sk);
	__u32 queueing = judge_by_largest ? max(ca->last_largest, ca->round_largest) : ca->queueing;

	ca->sum = 0;
	if (!ca->has_delay)
		return tcp_reno_ssthresh(sk);
	return clpc_share(tp->snd_cwnd,
			  !ca->marked && clpc_is_random(tp->snd_cwnd, queueing, tp->srtt_us) ? eta1 : eta2);
}

SEC("struct_ops")
void BPF_PROG(cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct clpc *ca = inet_csk_ca(sk);

	if (event == CA_EVENT_LOSS && ca->has_delay)
		tp->snd_ssthresh = clpc_share(tp->snd_cwnd, eta2); /* ssthresh() did not know that it is a timeout */
	if (event == CA_EVENT_LOSS || event == CA_EVENT_CWND_RESTART)
		clpc_restart(sk);
}

SEC("struct_ops")
__u32 BPF_PROG(undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops clpc = {
	.init = (void *)init,
	.pkts_acked = (void *)pkts_acked,
	.cong_avoid = (void *)cong_avoid,
	.ssthresh = (void *)ssthresh,
	.cwnd_event = (void *)cwnd_event,
	.undo_cwnd = (void *)undo_cwnd,
	.name = "clpc",
};

char _license[] SEC("license") = "Dual BSD/GPL";
