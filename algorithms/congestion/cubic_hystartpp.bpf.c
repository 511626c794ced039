/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CUBIC with HyStart++, which leaves slow start when the delay rises, and goes back when it was only jitter.
 *
 * From RFC 9406, "HyStart++: Modified Slow Start for TCP", 2023. A round ends when the data in flight at its start are
 * acknowledged. After eight RTT samples of a round its least RTT counts. If that is above the last round's by an eighth
 * of it, within 4 and 16 ms, then conservative slow start (CSS) begins, in which the window grows a quarter as fast. A
 * round of CSS with a lesser RTT than the one that began it shows jitter, and slow start goes on. The fifth round of
 * CSS ends slow start; the round in which CSS began is the first. An ACK counts as at most 8 segments, or as all of its
 * own where the sender paces. After slow start it is CUBIC, see cubic.bpf.c.
 *
 * The RFC leaves open where HyStart++ acts. Here it acts until the first loss or mark, as the RFC recommends, and not
 * in the slow start after a timeout, whose threshold is known. A window that is not in use does not grow.
 *
 * Departures: none. A kernel has all that the RFC needs.
 */
#define CUBIC_AS_BASE
#define CUBIC_OTHER_SLOW_START
#include "cubic.bpf.c"

PARAM(u32, min_rtt_thresh, 4000, 0, 1000000, "us", "least rise of a round's RTT that counts");
PARAM(u32, max_rtt_thresh, 16000, 0, 1000000, "us", "a rise of so much counts on any path");
PARAM(u32, min_rtt_divisor, 8, 1, 1000, "", "between the two, a rise counts that is this part of the last round's RTT");
PARAM(u32, n_rtt_sample, 8, 1, 255, "", "RTT samples before a round says anything");
PARAM(u32, css_growth_divisor, 4, 2, 255, "", "growth of slow start over growth of conservative slow start");
PARAM(u32, css_rounds, 5, 1, 255, "", "rounds of conservative slow start");
PARAM(u32, ack_limit, 8, 0, 1000000, "packets", "most that an ACK grows a window that is not paced; 0: no limit");

#define NO_RTT (~0U)

struct cubic_hystartpp {
	struct cubic cubic;
	__u32 round_end; /* sequence number */
	__u32 last_round_rtt_us;
	__u32 round_rtt_us;    /* least of this round */
	__u32 css_baseline_us; /* RTT that began conservative slow start; NO_RTT: slow start */
	__u8 samples;	       /* of this round */
	__u8 rounds_in_css;
	__u8 css_rest; /* segments acknowledged that have not grown the window */
};

static __always_inline bool hystartpp_is_active(const struct tcp_sock *tp)
{
	return tp->snd_ssthresh >= TCP_INFINITE_SSTHRESH;
}

static __always_inline void hystartpp_new_round(const struct tcp_sock *tp, struct cubic_hystartpp *ca)
{
	ca->round_end = tp->snd_nxt;
	ca->last_round_rtt_us = ca->round_rtt_us;
	ca->round_rtt_us = NO_RTT;
	ca->samples = 0;
}

/* The rise of the RTT that is more than jitter. */
static __always_inline __u32 hystartpp_threshold_us(__u32 last_round_rtt_us)
{
	return max(min_rtt_thresh, min(last_round_rtt_us / min_rtt_divisor, max_rtt_thresh));
}

static __always_inline void hystartpp_judge(struct cubic_hystartpp *ca)
{
	if (ca->samples < n_rtt_sample || ca->last_round_rtt_us == NO_RTT)
		return;
	if (ca->css_baseline_us != NO_RTT) {
		if (ca->round_rtt_us < ca->css_baseline_us)
			ca->css_baseline_us = NO_RTT;
	} else if (ca->round_rtt_us >= ca->last_round_rtt_us + hystartpp_threshold_us(ca->last_round_rtt_us)) {
		ca->css_baseline_us = ca->round_rtt_us;
		ca->rounds_in_css = 0;
		ca->css_rest = 0;
	}
}

/* An ACK that ends a round belongs to it. */
static __always_inline void hystartpp_end_round(struct tcp_sock *tp, struct cubic_hystartpp *ca)
{
	if (ca->css_baseline_us != NO_RTT && ++ca->rounds_in_css >= css_rounds)
		tp->snd_ssthresh = tp->snd_cwnd;
	hystartpp_new_round(tp, ca);
}

static __always_inline void hystartpp_grow(const struct sock *sk, struct tcp_sock *tp, struct cubic_hystartpp *ca,
					   __u32 acked)
{
	if (ack_limit && sk->sk_pacing_status == SK_PACING_NONE)
		acked = min(acked, ack_limit);
	if (ca->css_baseline_us != NO_RTT) {
		acked += ca->css_rest;
		ca->css_rest = acked % css_growth_divisor;
		acked /= css_growth_divisor;
	}
	tp->snd_cwnd = min(tp->snd_cwnd + acked, tp->snd_cwnd_clamp);
}

static __always_inline void cubic_hystartpp_init(struct sock *sk)
{
	struct cubic_hystartpp *ca = inet_csk_ca(sk);

	cubic_init(sk);
	ca->round_rtt_us = NO_RTT;
	ca->css_baseline_us = NO_RTT;
	hystartpp_new_round(tcp_sk(sk), ca);
}

static __always_inline void cubic_hystartpp_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct cubic_hystartpp *ca = inet_csk_ca(sk);

	cubic_pkts_acked(sk, sample);
	if (!hystartpp_is_active(tp))
		return;
	if (sample->rtt_us >= 0) {
		ca->round_rtt_us = min(ca->round_rtt_us, (__u32)sample->rtt_us);
		ca->samples = min(ca->samples + 1U, 255U);
		hystartpp_judge(ca);
	}
	if (!before(tp->snd_una, ca->round_end))
		hystartpp_end_round(tp, ca);
}

static __always_inline void cubic_hystartpp_cong_avoid(struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!hystartpp_is_active(tp))
		cubic_cong_avoid(sk, ack, acked);
	else if (tcp_is_cwnd_limited(sk))
		hystartpp_grow(sk, tp, inet_csk_ca(sk), acked);
}

INIT_PROGRAM(cubic_hystartpp_init)
CONG_AVOID_PROGRAM(cubic_hystartpp_cong_avoid)
SSTHRESH_PROGRAM(cubic_ssthresh)
SET_STATE_PROGRAM(cubic_set_state)
CWND_EVENT_PROGRAM(cubic_cwnd_event)
PKTS_ACKED_PROGRAM(cubic_hystartpp_pkts_acked)
UNDO_CWND_PROGRAM(tcp_reno_undo_cwnd)

SEC(".struct_ops.link")
struct tcp_congestion_ops cubic_hystartpp = {
	.init = (void *)init,
	.cong_avoid = (void *)cong_avoid,
	.ssthresh = (void *)ssthresh,
	.set_state = (void *)set_state,
	.cwnd_event = (void *)cwnd_event,
	.pkts_acked = (void *)pkts_acked,
	.undo_cwnd = (void *)undo_cwnd,
	.name = "cubic_hystartpp",
};

char _license[] SEC("license") = "Dual BSD/GPL";
