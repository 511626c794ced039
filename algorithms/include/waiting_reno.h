/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reno that waits before each of its windows, spread over it: pacing at a window in the period and an RTT. The
 * simulator can hold whole windows instead.
 */
#ifndef UNBLOAT_WAITING_RENO_H
#define UNBLOAT_WAITING_RENO_H

#include "control.h"

#define NO_PACING (~0UL)

static __always_inline void waiting_reno_init(struct sock *sk)
{
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
	sk->sk_pacing_rate = NO_PACING;
}

/* At the end of a repair the window is the one that the loss has left, whatever the repair needed. */
static __always_inline void waiting_reno_set_state(struct sock *sk, __u8 new_state)
{
	struct tcp_sock *tp = tcp_sk(sk);
	__u8 state = inet_csk(sk)->icsk_ca_state;

	if (new_state == TCP_CA_Open && (state == TCP_CA_CWR || state == TCP_CA_Recovery))
		tp->snd_cwnd = min(tp->snd_cwnd, tp->snd_ssthresh);
}

/*
 * A kernel leaves the window in a repair to a congestion control that paces. The first segment to be repaired always
 * leaves. Without SACK the state outlasts a reduction that was undone (tcp_try_undo_recovery). ssthresh then has its
 * earlier value, which may be endless.
 */
static __always_inline void waiting_reno_repair(struct tcp_sock *tp)
{
	__u32 window = min(tp->snd_ssthresh, max(tp->prior_cwnd, 2U));

	tp->snd_cwnd = max(window, tcp_packets_in_flight(tp) + !tp->prr_out);
}

static __always_inline void waiting_reno_grow(struct sock *sk, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

/*
 * Changes the window after an ACK. It grows only if it is in use, as in Linux; `acked_to` is the end of the segments
 * acknowledged before.
 */
static __always_inline void waiting_reno_acked(struct sock *sk, const struct rate_sample *rs, __u32 *acked_to,
					       bool in_use)
{
	struct tcp_sock *tp = tcp_sk(sk);
	__u8 state = inet_csk(sk)->icsk_ca_state;

	if (state == TCP_CA_CWR || state == TCP_CA_Recovery)
		waiting_reno_repair(tp);
	else if (after(tp->snd_una, *acked_to) && in_use)
		waiting_reno_grow(sk, rs->acked_sacked);
	*acked_to = tp->snd_una;
}

/* Paces `segments` segments in the period and an RTT. */
static __always_inline void waiting_reno_pace(struct sock *sk, __u32 segments, __u32 period_us)
{
	struct tcp_sock *tp = tcp_sk(sk);
	__u64 turn_us = (__u64)period_us + (tp->srtt_us >> 3);
	__u64 window = (__u64)segments * tp->mss_cache;

	if (period_us)
		sk->sk_pacing_rate = max((window * USEC_PER_SEC + turn_us / 2) / turn_us, (__u64)1);
	else
		sk->sk_pacing_rate = NO_PACING;
	SET_SIM(tp, period_us, period_us); /* for the simulator's gate */
}

#endif
