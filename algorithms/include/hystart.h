/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * HyStart, which ends slow start before it loses: an ACK train that fills the path, or a delay that has risen. From Ha,
 * Rhee, "Taming the elephants: New TCP slow start", Computer Networks 55(9), 2011, as Linux's CUBIC has it.
 */
#ifndef UNBLOAT_HYSTART_H
#define UNBLOAT_HYSTART_H

#include "control.h"

PARAM(bool, hystart, true, 0, 1, "", "leave slow start before it loses");
PARAM(bool, hystart_train, true, 0, 1, "", "HyStart watches the length of ACK trains");
PARAM(bool, hystart_delay, true, 0, 1, "", "HyStart watches the delay");
PARAM(u32, hystart_low_window, 16, 2, 1000000, "packets", "HyStart acts from this window on");
PARAM(u32, hystart_ack_delta, 2000, 0, 1000000, "us", "ACKs at most this far apart form a train");

#define HYSTART_SAMPLES 8
#define HYSTART_DELAY_MIN 4000U	 /* us */
#define HYSTART_DELAY_MAX 16000U /* us */

struct hystart {
	__u16 unused;
	__u8 samples; /* RTT samples in this round */
	__u8 found;   /* it has found the exit */
	__u32 round_start_us;
	__u32 round_end; /* sequence number */
	__u32 last_ack_us;
	__u32 round_min_rtt_us;
};

/* Looks for the exit again. */
static __always_inline void hystart_begin(struct hystart *hy)
{
	hy->found = 0;
}

static __always_inline void hystart_new_round(struct sock *sk, struct hystart *hy)
{
	hy->round_start_us = hy->last_ack_us = clock_us(sk);
	hy->round_end = tcp_sk(sk)->snd_nxt;
	hy->round_min_rtt_us = ~0U;
	hy->samples = 0;
}

/* Time for which one burst of the sender keeps ACKs together: four of the largest at the pacing rate, at most 1 ms. */
static __always_inline __u32 hystart_burst_us(const struct sock *sk)
{
	if (!sk->sk_pacing_rate)
		return 0;
	return min(USEC_PER_MSEC, (__u64)sk->sk_gso_max_size * 4 * USEC_PER_SEC / sk->sk_pacing_rate);
}

/*
 * Reports whether a train of ACKs has filled the path: it is as long as half the round trip, or all of it with pacing.
 */
static __always_inline bool hystart_train_is_long(struct sock *sk, struct hystart *hy, __u32 min_rtt_us)
{
	__u32 now = clock_us(sk);
	__u32 limit = min_rtt_us + hystart_burst_us(sk);

	if ((__s32)(now - hy->last_ack_us) > (__s32)hystart_ack_delta)
		return false;
	hy->last_ack_us = now;
	if (sk->sk_pacing_status == SK_PACING_NONE)
		limit >>= 1;
	return (__s32)(now - hy->round_start_us) > (__s32)limit;
}

/* The rise of the delay that slow start tolerates: an eighth, within 4 and 16 ms. */
static __always_inline __u32 hystart_tolerance_us(__u32 min_rtt_us)
{
	return min(max(min_rtt_us >> 3, HYSTART_DELAY_MIN), HYSTART_DELAY_MAX);
}

/* Reports whether even the least delay of the round has risen. */
static __always_inline bool hystart_delay_rose(struct hystart *hy, __u32 rtt_us, __u32 min_rtt_us)
{
	hy->round_min_rtt_us = min(hy->round_min_rtt_us, rtt_us);
	if (hy->samples < HYSTART_SAMPLES) {
		hy->samples++;
		return false;
	}
	return hy->round_min_rtt_us > min_rtt_us + hystart_tolerance_us(min_rtt_us);
}

static __always_inline void hystart_update(struct sock *sk, struct hystart *hy, __u32 rtt_us, __u32 min_rtt_us)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (after(tp->snd_una, hy->round_end))
		hystart_new_round(sk, hy);
	if (tp->snd_cwnd < hystart_low_window)
		return;
	if (hystart_train && hystart_train_is_long(sk, hy, min_rtt_us))
		hy->found = 1;
	if (hystart_delay && hystart_delay_rose(hy, rtt_us, min_rtt_us))
		hy->found = 1;
	if (hy->found)
		tp->snd_ssthresh = tp->snd_cwnd;
}

static __always_inline void hystart_sample(struct sock *sk, struct hystart *hy, __u32 rtt_us, __u32 min_rtt_us)
{
	if (hystart && !hy->found && tcp_in_slow_start(tcp_sk(sk)))
		hystart_update(sk, hy, rtt_us, min_rtt_us);
}

#endif
