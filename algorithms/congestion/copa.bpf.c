/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Copa: steers towards the rate 1 / (delta queueing delay), so that flows together keep a few packets in the queue.
 *
 * From Arun, Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet", NSDI 2018. The queueing
 * delay d is the least RTT of the last half round trip (RTT_standing) less the least of ten seconds. An ACK widens the
 * window by v / (delta cwnd) if
 *
 *    cwnd / RTT_standing <= 1 / (delta d)
 *
 * and narrows it by as much otherwise. Packets are paced at twice cwnd / RTT_standing. The velocity v doubles each
 * round trip in which the window moved as before, from the third on, and is 1 after the window has turned. Slow start
 * doubles the window each round trip until the rate first exceeds the target.
 *
 * Copa flows alone empty the queue at least every five round trips: d falls to a tenth of the range of the RTTs of the
 * last four. If it does not, another flow fills the queue, and Copa competes with it. Then 1 / delta, otherwise 2,
 * grows by one each round trip. It halves in a round trip with a loss.
 *
 * Departures and choices, held against the sender of the paper's authors (github.com/venkatarun95/genericCC):
 *  - the window of a round trip ago, by which Copa knows the direction, is the one when the round began. The authors'
 *    sender takes the direction of more than two thirds of a round's ACKs, and doubles from the second round on;
 *  - v / delta is at most the window, which so at most doubles in a round trip;
 *  - a window that is not in use does not grow, as in all of Linux;
 *  - the paper says nothing of timeouts: here one leaves the stack's one segment, and slow start begins again. Other
 *    losses do not change the window, and in the default mode nothing else either;
 *  - filters of RTTs are those of Linux (lib/minmax.c), exact to a quarter of their length.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf_tracing_net.h"
#include "control.h"
#include "control_programs.h"
#include "delivery_rate.h"
#include "fractional_growth.h"

PARAM(u32, inverse_delta, 2, 1, 1000, "packets", "1 / delta: packets that a flow keeps in the queue");
PARAM(bool, competes, true, 0, 1, "", "compete with flows that fill the queue");
PARAM(u32, min_rtt_window, 10000000, 1000, 1000000000, "us", "time that the least RTT is taken over");
PARAM(u32, empty_rounds, 5, 1, 1000, "", "round trips within which the queue has to be nearly empty");
PARAM(bool, paces, true, 0, 1, "", "pace without the qdisc fq too");

#define STEADY_ROUNDS 3U /* in one direction, before the velocity doubles */
#define RANGE_ROUNDS 4U	 /* that the largest RTT is taken over */
#define NEARLY_EMPTY 10U /* the queue counts as empty below a tenth of the RTTs' range */
#define MOST_VELOCITY (1U << 15)
#define MOST_INVERSE 65535U

enum copa_direction {
	COPA_NONE,
	COPA_UP,
	COPA_DOWN,
};

/* Filters keep the largest, so those for the least RTTs hold the complement. */
struct copa {
	__s64 sum; /* of changes that have not become a segment */
	struct windowed_max standing;
	struct windowed_max least;
	struct windowed_max most;
	__u32 emptied_us;  /* when the queue was nearly empty last */
	__u32 round_end;   /* packets sent after this many were delivered belong to the next round */
	__u32 cwnd_before; /* when this round began */
	__u16 velocity;
	__u16 inverse; /* 1 / delta */
	__u8 direction : 2;
	__u8 steady : 2; /* rounds in this direction, at most STEADY_ROUNDS */
	__u8 slow_start : 1;
	__u8 lost : 1; /* in this round */
	__u8 has_rtt : 1;
};

_Static_assert(sizeof(struct copa) <= sizeof(((struct inet_connection_sock *)0)->icsk_ca_priv),
	       "the state must fit the socket");

static __always_inline __u32 copa_standing_us(const struct copa *ca)
{
	return ~ca->standing.best[0].value;
}

static __always_inline __u32 copa_least_us(const struct copa *ca)
{
	return ~ca->least.best[0].value;
}

static __always_inline __u32 copa_queueing_us(const struct copa *ca)
{
	__u32 standing = copa_standing_us(ca), least = copa_least_us(ca);

	return standing > least ? standing - least : 0;
}

static __always_inline void copa_sample(struct tcp_sock *tp, struct copa *ca, __u32 rtt_us)
{
	__u32 now = tp->tcp_mstamp, smoothed_us = max(tp->srtt_us >> 3, 1U);

	if (!ca->has_rtt)
		ca->emptied_us = now;
	ca->has_rtt = 1;
	windowed_max_update(&ca->standing, smoothed_us / 2, now, ~rtt_us);
	windowed_max_update(&ca->least, min_rtt_window, now, ~rtt_us);
	windowed_max_update(&ca->most, RANGE_ROUNDS * smoothed_us, now, rtt_us);
	__u32 range = ca->most.best[0].value - min(ca->most.best[0].value, copa_least_us(ca));

	/* Equal RTTs come from an empty queue. */
	if (NEARLY_EMPTY * (__u64)copa_queueing_us(ca) <= range)
		ca->emptied_us = now;
}

/* Reports whether some other flow keeps the queue from emptying. */
static __always_inline bool copa_has_rival(const struct tcp_sock *tp, const struct copa *ca)
{
	__u32 now = tp->tcp_mstamp;

	return competes && now - ca->emptied_us > (__u64)empty_rounds * (tp->srtt_us >> 3);
}

static __always_inline void copa_set_delta(const struct tcp_sock *tp, struct copa *ca)
{
	if (!copa_has_rival(tp, ca))
		ca->inverse = inverse_delta;
	else if (ca->lost)
		ca->inverse = max(ca->inverse / 2U, inverse_delta);
	else
		ca->inverse = min(ca->inverse + 1U, MOST_INVERSE);
	ca->lost = 0;
}

static __always_inline void copa_set_velocity(const struct tcp_sock *tp, struct copa *ca)
{
	__u8 direction = tp->snd_cwnd > ca->cwnd_before ? COPA_UP : COPA_DOWN;

	if (direction != ca->direction) {
		ca->velocity = 1;
		ca->steady = 1;
	} else if (ca->steady < STEADY_ROUNDS) {
		ca->steady++;
	}
	if (ca->steady >= STEADY_ROUNDS)
		ca->velocity = min(ca->velocity * 2U, MOST_VELOCITY);
	ca->direction = direction;
	ca->cwnd_before = tp->snd_cwnd;
}

static __always_inline bool copa_is_below_target(const struct tcp_sock *tp, const struct copa *ca)
{
	return (__u64)tp->snd_cwnd * copa_queueing_us(ca) <= (__u64)ca->inverse * copa_standing_us(ca);
}

static __always_inline void copa_steer(struct sock *sk, struct tcp_sock *tp, struct copa *ca, __u32 acked)
{
	bool below = copa_is_below_target(tp, ca);
	__u32 step = min((__u32)ca->velocity * ca->inverse, tp->snd_cwnd);

	if (!below)
		ca->slow_start = 0;
	if (below && !tcp_is_cwnd_limited(sk))
		return;
	if (ca->slow_start) {
		tp->snd_cwnd = min(tp->snd_cwnd + acked, tp->snd_cwnd_clamp);
		return;
	}
	if (below)
		ca->sum += (__u64)step * acked;
	else
		ca->sum -= (__u64)step * acked;
	change_window(tp, &ca->sum, 1);
}

static __always_inline void copa_pace(struct sock *sk, const struct copa *ca)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	__u64 rate = 2 * (__u64)tp->snd_cwnd * tp->mss_cache * USEC_PER_SEC / max(copa_standing_us(ca), 1U);

	sk->sk_pacing_rate = min(rate, (__u64)sk->sk_max_pacing_rate);
}

static __always_inline void copa_begin(struct tcp_sock *tp, struct copa *ca)
{
	ca->sum = 0;
	ca->velocity = 1;
	ca->direction = COPA_NONE;
	ca->steady = 0;
	ca->slow_start = 1;
	ca->cwnd_before = tp->snd_cwnd;
}

static __always_inline void copa_start(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct copa *ca = inet_csk_ca(sk);

	*ca = (struct copa){.inverse = inverse_delta, .round_end = tp->delivered};
	copa_begin(tp, ca);
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	if (paces && sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

static __always_inline void copa_control(struct sock *sk, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct copa *ca = inet_csk_ca(sk);

	if (rs->rtt_us > 0)
		copa_sample(tp, ca, rs->rtt_us);
	if (rs->losses > 0)
		ca->lost = 1;
	if (!rs->acked_sacked || !ca->has_rtt)
		return;
	if (!before(rs->prior_delivered, ca->round_end)) {
		ca->round_end = tp->delivered;
		copa_set_delta(tp, ca);
		copa_set_velocity(tp, ca);
	}
	copa_steer(sk, tp, ca, rs->acked_sacked);
	copa_pace(sk, ca);
}

static __always_inline void copa_set_state(struct sock *sk, __u8 new_state)
{
	if (new_state == TCP_CA_Loss)
		copa_begin(tcp_sk(sk), inet_csk_ca(sk));
}

/* No loss sets a threshold. */
static __always_inline __u32 copa_ssthresh(struct sock *sk)
{
	return tcp_sk(sk)->snd_ssthresh;
}

INIT_PROGRAM(copa_start)

SEC("struct_ops")
void BPF_PROG(cong_control, struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs)
{
	copa_control(sk, rs);
}

SSTHRESH_PROGRAM(copa_ssthresh)
SET_STATE_PROGRAM(copa_set_state)
UNDO_CWND_PROGRAM(tcp_reno_undo_cwnd)

SEC(".struct_ops.link")
struct tcp_congestion_ops copa = {
	.init = (void *)init,
	.cong_control = (void *)cong_control,
	.ssthresh = (void *)ssthresh,
	.set_state = (void *)set_state,
	.undo_cwnd = (void *)undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "copa",
};

char _license[] SEC("license") = "Dual BSD/GPL";
