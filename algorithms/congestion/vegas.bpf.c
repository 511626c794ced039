/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Vegas: compares the window with what an empty queue would need, once a round trip, and keeps two to four segments
 * queued.
 *
 * From Brakmo, Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE JSAC 13(8), 1995, in
 * the form that Linux gives it.
 *
 * Departures from the paper, all of them Linux's; parameters take back the first three:
 *  - the segments in the queue are estimated as cwnd (rtt - base) / base, a little more than the paper's cwnd (rtt -
 *    base) / rtt, `queued_over_rtt`;
 *  - slow start doubles every round trip, not every second one, `slow_start_every_second`;
 *  - a loss halves the window; the paper's Vegas leaves three quarters after a loss that duplicate ACKs show, `kept`;
 *  - the retransmission timer of the paper is not used.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf_tracing_net.h"
#include "control.h"
#include "control_programs.h"
#include "round_rtt.h"

PARAM(u32, alpha, 2, 1, 10000, "packets", "fewer queued: the window grows");
PARAM(u32, beta, 4, 1, 10000, "packets", "more queued: the window shrinks");
PARAM(u32, gamma, 1, 0, 10000, "packets", "more queued: slow start ends");
PARAM(bool, queued_over_rtt, false, 0, 1, "",
      "queued segments are the excess of RTT over the RTT itself, not its least");
PARAM(bool, slow_start_every_second, false, 0, 1, "", "slow start grows in every second round trip");
PARAM(u32, kept, 50, 1, 100, "%", "window that a loss leaves");

struct vegas {
	struct round_rtt rtt;
	__u32 round_end; /* sequence number */
	__u8 enabled;	 /* not while losses are repaired */
	__u8 rests;	 /* slow start does not grow in this round trip */
};

static __always_inline void vegas_enable(struct sock *sk)
{
	struct vegas *ca = inet_csk_ca(sk);

	ca->enabled = 1;
	ca->round_end = tcp_sk(sk)->snd_nxt;
	round_rtt_clear(&ca->rtt);
}

static __always_inline void vegas_init(struct sock *sk)
{
	struct vegas *ca = inet_csk_ca(sk);

	round_rtt_init(&ca->rtt);
	vegas_enable(sk);
}

static __always_inline void vegas_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct vegas *ca = inet_csk_ca(sk);

	round_rtt_sample(&ca->rtt, sample);
}

static __always_inline void vegas_set_state(struct sock *sk, __u8 new_state)
{
	struct vegas *ca = inet_csk_ca(sk);

	if (new_state == TCP_CA_Open)
		vegas_enable(sk);
	else
		ca->enabled = 0;
}

/* After a pause the path may be another. */
static __always_inline void vegas_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_CWND_RESTART || event == CA_EVENT_TX_START)
		vegas_init(sk);
}

static __always_inline void vegas_slow_start(struct tcp_sock *tp, const struct vegas *ca, __u32 acked)
{
	if (!ca->rests)
		tcp_slow_start(tp, acked);
}

static __always_inline __u32 vegas_ssthresh(struct sock *sk)
{
	return max((__u32)((__u64)tcp_sk(sk)->snd_cwnd * kept / 100), 2U);
}

static __always_inline void vegas_adjust(struct tcp_sock *tp, const struct vegas *ca, __u32 acked)
{
	__u32 cwnd = tp->snd_cwnd, rtt = ca->rtt.least_us, base = ca->rtt.base_us;
	__u64 queued = (__u64)cwnd * (rtt - base) / (queued_over_rtt ? rtt : base);

	if (tcp_in_slow_start(tp)) {
		if (queued > gamma) {
			__u64 fitting = (__u64)cwnd * base / rtt;

			tp->snd_cwnd = min((__u64)cwnd, fitting + 1);
			tp->snd_ssthresh = min(tp->snd_ssthresh, tp->snd_cwnd);
		} else {
			vegas_slow_start(tp, ca, acked);
		}
	} else if (queued > beta) {
		tp->snd_cwnd = cwnd - 1;
		tp->snd_ssthresh = min(tp->snd_ssthresh, tp->snd_cwnd);
	} else if (queued < alpha) {
		tp->snd_cwnd = cwnd + 1;
	}
	tp->snd_cwnd = min(max(tp->snd_cwnd, 2U), tp->snd_cwnd_clamp);
	tp->snd_ssthresh = max(tp->snd_ssthresh, (tp->snd_cwnd >> 1) + (tp->snd_cwnd >> 2));
}

static __always_inline void vegas_cong_avoid(struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct vegas *ca = inet_csk_ca(sk);

	if (!ca->enabled) {
		tcp_reno_cong_avoid(sk, ack, acked);
	} else if (after(ack, ca->round_end)) {
		ca->round_end = tp->snd_nxt;
		ca->rests = slow_start_every_second && !ca->rests;
		if (round_rtt_is_known(&ca->rtt))
			vegas_adjust(tp, ca, acked);
		else
			tcp_reno_cong_avoid(sk, ack, acked);
		round_rtt_clear(&ca->rtt);
	} else if (tcp_in_slow_start(tp)) {
		vegas_slow_start(tp, ca, acked);
	}
}

#ifndef VEGAS_AS_BASE
INIT_PROGRAM(vegas_init)
CONG_AVOID_PROGRAM(vegas_cong_avoid)
SSTHRESH_PROGRAM(vegas_ssthresh)
SET_STATE_PROGRAM(vegas_set_state)
CWND_EVENT_PROGRAM(vegas_cwnd_event)
PKTS_ACKED_PROGRAM(vegas_pkts_acked)
UNDO_CWND_PROGRAM(tcp_reno_undo_cwnd)

SEC(".struct_ops.link")
struct tcp_congestion_ops vegas = {
	.init = (void *)init,
	.cong_avoid = (void *)cong_avoid,
	.ssthresh = (void *)ssthresh,
	.set_state = (void *)set_state,
	.cwnd_event = (void *)cwnd_event,
	.pkts_acked = (void *)pkts_acked,
	.undo_cwnd = (void *)undo_cwnd,
	.name = CONTROL_NAME("vegas"),
};

char _license[] SEC("license") = "Dual BSD/GPL";
#endif
