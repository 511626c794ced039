/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * BBR version 3: paces at the measured rate, and bounds what is in flight by what was in flight when it lost.
 *
 * From Cardwell, Swett, Beshay (editors), "BBR Congestion Control", draft-ietf-ccwg-bbr-06. The model of a path has the
 * largest delivery rate of two cycles (max_bw), the least RTT of ten seconds, and two pairs of bounds. `long` is the
 * number of packets in flight above which a probe lost too much. `short` holds the rate and the packets in flight that
 * losses since the last probe allow. The states, with their gains of rate and window:
 *
 *     STARTUP    2.77, 2     until three rounds bring less than a quarter more, or a round loses much
 *     DRAIN      0.5, 2      until no more is in flight than the pipe holds, at most three rounds
 *     DOWN       0.9, 2      until the pipe is just full, and 15 % of `long` are free
 *     CRUISE     1, 2        until 2 to 3 s after the last probe, or as many rounds as the pipe has packets, up to 63
 *     REFILL     1, 2        for a round, without `short`
 *     UP         1.25, 2.25  until the rate no longer grows, or a round loses more than 2 %; `long` may grow
 *     PROBE_RTT  1, 0.5      for 200 ms and a round, after five seconds without an RTT as low as the least
 *
 * `long` grows by 1, 2, 4, ... packets a round while it limits UP. After a probe that lost too much, the next UP ends
 * when `long` is in flight. If it loses nothing, another follows at once.
 *
 * A stock kernel lacks two things that the draft needs. It does not tell a congestion control which packet was lost. It
 * does not store with a packet how many were in flight or lost when it left. Google's kernel is patched for both. Hence
 *  - the packets in flight when the acknowledged one left are those delivered since then, and those lost in this round;
 *  - the loss rate is that of this round up to now, not of the time since the packet left;
 *  - losses are judged once for each ACK, so the number in flight at the first of them is not interpolated;
 *  - six ACKs with losses stand for six ranges lost in a round of STARTUP.
 *
 * Departures from the draft besides:
 *  - an undo forgets the `short` bounds, where the draft restores the former ones. The state would not fit the socket;
 *  - extra_acked is the largest of two times five rounds, in STARTUP of two rounds, as in bbr.bpf.c;
 *  - least RTTs begin with TCP's own, and jiffies count their age;
 *  - the growth of `long` follows from the window of now, not from that at the beginning of the round.
 *
 * The draft has no response to ECN. Kernels before 6.10 do not let a BPF program mark rate samples as limited by the
 * application. There the mark that PROBE_RTT sets is in private state, as in bbr.bpf.c.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf_tracing_net.h"
#include "control.h"
#include "control_programs.h"
#include "delivery_rate.h"

PARAM(u32, startup_gain, 2836, 1024, 10240, "/1024", "pacing gain of STARTUP");
PARAM(u32, drain_gain, 512, 1, 1024, "/1024", "pacing gain of DRAIN");
PARAM(u32, down_gain, 922, 1, 1024, "/1024", "pacing gain of DOWN");
PARAM(u32, up_gain, 1280, 1024, 10240, "/1024", "pacing gain of UP");
PARAM(u32, cwnd_gain, 2048, 1024, 10240, "/1024", "window over rate times least RTT");
PARAM(u32, up_cwnd_gain, 2304, 1024, 10240, "/1024", "the same in UP");
PARAM(u32, probe_rtt_gain, 512, 1, 1024, "/1024", "the same in PROBE_RTT");
PARAM(u32, loss_thresh, 2, 0, 100, "%", "losses of a round that are too many");
PARAM(u32, beta, 717, 1, 1024, "/1024", "share of a bound that a loss leaves at least");
PARAM(u32, headroom, 15, 0, 99, "%", "share of `long` that CRUISE leaves to others");
PARAM(u32, min_rtt_window, 10000000, 1000, 1000000000, "us", "time that the least RTT is taken over");
PARAM(u32, probe_rtt_interval, 5000000, 1000, 1000000000, "us", "time without a lower RTT before PROBE_RTT");
PARAM(u32, probe_rtt_time, 200000, 0, 10000000, "us", "how long PROBE_RTT lasts; 0 = never probes");
PARAM(u32, probe_wait, 2000, 1, 60000, "", "least time between probes for rate, ms");
PARAM(u32, probe_wait_more, 1000, 0, 5000, "", "and at most so much more, drawn, ms");
PARAM(u32, probe_rounds, 63, 1, 250, "", "most rounds between probes");
PARAM(u32, min_cwnd, 4, 1, 1000, "packets", "least window");
PARAM(u32, pacing_margin, 1, 0, 99, "%", "share by which pacing stays below the estimate");
PARAM(bool, paces, true, 0, 1, "", "pace without the qdisc fq too");

#define ONE 1024U /* gains are in 1/1024 */
#define NO_BOUND (~0U)
#define FULL_ROUNDS 3U
#define FULL_GROWTH 1280U
#define DRAIN_ROUNDS 3U
#define STARTUP_LOSSES 6U
#define EXTRA_ACKED_ROUNDS 5U
#define MOST_UP_ROUNDS 30U
#define BURST_MAX 65536U /* bytes */
#define LEAST_BURST 2U	 /* packets */
#define QUANTA 3U	 /* in the sender, in the network and in the receiver */
#define SEND_BUFFER 3	 /* windows: recovery may hold more than the usual two */

enum bbr3_state {
	STARTUP,
	DRAIN,
	DOWN,
	CRUISE,
	REFILL,
	UP,
	PROBE_RTT,
};

/* How the samples of a probe for rate come in. */
enum bbr3_acks {
	ACKS_INIT,
	ACKS_REFILLING,
	ACKS_STARTING, /* of UP, none has come */
	ACKS_FEEDBACK, /* they come */
	ACKS_STOPPING, /* UP is over, and they still come */
};

/* Packets, unless a name says us; stamps are jiffies. */
struct bbr3 {
	__u32 min_rtt_us; /* NO_BOUND: none yet */
	__u32 min_rtt_stamp;
	__u32 probe_rtt_min_us;
	__u32 probe_rtt_min_stamp;
	__u32 probe_rtt_end; /* jiffies; 0: too many are still in flight; afterwards see bbr3_is_app_limited() */
	__u32 round_end;     /* packets sent after this many were delivered belong to the next round */
	__u32 max_bw[2];     /* of the cycle before and of this one */
	__u32 bw_short;
	__u32 inflight_short;
	__u32 inflight_long;
	__u32 undo_inflight_long;
	__u32 bw_latest; /* the largest of this loss round */
	__u32 inflight_latest;
	__u32 loss_round_end;
	__u32 lost_before; /* this round */
	struct ack_aggregation aggregation;
	__u32 full_bw; /* the next rate has to exceed this one by a quarter */
	__u32 cycle_us;
	__u32 up_acked; /* that have not raised `long` */
	__u32 prior_cwnd;
	__u16 wait_ms; /* from the cycle's start to the next probe */
	__u8 rounds_since_probe;
	__u8 up_rounds;
	__u32 state : 3;
	__u32 acks : 3;
	__u32 undo_state : 3;  /* STARTUP or UP; DRAIN: none */
	__u32 prior_state : 3; /* enum tcp_ca_state, at the last ACK */
	__u32 full_count : 2;
	__u32 drain_rounds : 3;
	__u32 loss_events : 4; /* ACKs with losses in this round */
	__u32 full_now : 1;
	__u32 full_reached : 1;
	__u32 round_start : 1;
	__u32 loss_round_start : 1;
	__u32 loss_in_round : 1;
	__u32 probe_sample : 1; /* losses may be those of a probe */
	__u32 too_high : 1;	/* the last probe lost too much */
	__u32 precautionary : 1;
	__u32 idle_restart : 1;
	__u32 has_rtt : 1;
	__u32 probe_rtt_round_done : 1;
};

_Static_assert(sizeof(struct bbr3) <= sizeof(((struct inet_connection_sock *)0)->icsk_ca_priv),
	       "the state must fit the socket");

/* The model, and what follows from it. */

static __always_inline __u32 bbr3_max_bw(const struct bbr3 *bbr)
{
	return max(bbr->max_bw[0], bbr->max_bw[1]);
}

static __always_inline __u32 bbr3_bw(const struct bbr3 *bbr)
{
	return min(bbr3_max_bw(bbr), bbr->bw_short);
}

static __always_inline bool bbr3_probes_bw(const struct bbr3 *bbr)
{
	return bbr->state >= DOWN && bbr->state <= UP;
}

static __always_inline bool bbr3_accelerates(const struct bbr3 *bbr)
{
	return bbr->state == STARTUP || bbr->state == REFILL || bbr->state == UP;
}

static __always_inline __u32 bbr3_pacing_gain(const struct bbr3 *bbr)
{
	if (bbr->state == STARTUP)
		return startup_gain;
	if (bbr->state == DRAIN)
		return drain_gain;
	if (bbr->state == DOWN)
		return down_gain;
	return bbr->state == UP ? up_gain : ONE;
}

static __always_inline __u32 bbr3_window_gain(const struct bbr3 *bbr)
{
	if (bbr->state == PROBE_RTT)
		return probe_rtt_gain;
	return bbr->state == UP ? up_cwnd_gain : cwnd_gain;
}

/* Rate times least RTT times a gain, rounded up. */
static __always_inline __u32 bbr3_bdp(const struct bbr3 *bbr, __u32 bw, __u32 gain)
{
	if (bbr->min_rtt_us == NO_BOUND)
		return TCP_INIT_CWND;
	return ((__u64)bw * bbr->min_rtt_us * gain / ONE + (1U << RATE_BITS) - 1) >> RATE_BITS;
}

/* Packets of a burst: what the pacing rate sends in about a millisecond. */
static __always_inline __u32 bbr3_quantum(const struct sock *sk)
{
	__u64 bytes = min((__u64)sk->sk_pacing_rate >> sk->sk_pacing_shift, (__u64)BURST_MAX);

	return max((__u32)bytes / max(tcp_sk(sk)->mss_cache, 1U), LEAST_BURST);
}

static __always_inline __u32 bbr3_with_quanta(const struct sock *sk, const struct bbr3 *bbr, __u32 packets)
{
	packets = max(max(packets, QUANTA * bbr3_quantum(sk)), min_cwnd);
	return bbr->state == UP ? packets + 2 : packets;
}

static __always_inline __u32 bbr3_inflight(const struct sock *sk, const struct bbr3 *bbr, __u32 bw, __u32 gain)
{
	return bbr3_with_quanta(sk, bbr, bbr3_bdp(bbr, bw, gain));
}

static __always_inline __u32 bbr3_target(const struct sock *sk, const struct bbr3 *bbr)
{
	return min(bbr3_bdp(bbr, bbr3_bw(bbr), ONE), tcp_sk(sk)->snd_cwnd);
}

static __always_inline __u32 bbr3_with_headroom(const struct bbr3 *bbr)
{
	__u32 room = max((__u32)((__u64)bbr->inflight_long * headroom / 100), 1U);

	if (bbr->inflight_long == NO_BOUND)
		return NO_BOUND;
	return max(bbr->inflight_long - min(room, bbr->inflight_long), min_cwnd);
}

static __always_inline __u32 bbr3_lost(const struct tcp_sock *tp, const struct bbr3 *bbr)
{
	return tp->lost - bbr->lost_before;
}

/* The packets in flight when the acknowledged one left. */
static __always_inline __u32 bbr3_tx_in_flight(const struct tcp_sock *tp, const struct bbr3 *bbr,
					       const struct rate_sample *rs)
{
	return (rs->delivered > 0 ? rs->delivered : rs->prior_in_flight) + bbr3_lost(tp, bbr);
}

static __always_inline bool bbr3_is_too_high(const struct tcp_sock *tp, const struct bbr3 *bbr,
					     const struct rate_sample *rs)
{
	__u32 lost = bbr3_lost(tp, bbr);

	if (!BPF_CORE_READ_BITFIELD(tp, rx_opt.sack_ok))
		return lost > 0;
	return (__u64)lost * 100 > (__u64)bbr3_tx_in_flight(tp, bbr, rs) * loss_thresh;
}

/*
 * Reports whether the application, not the path, limited the rate. Older kernels do not mark the samples of PROBE_RTT.
 */
static __always_inline bool bbr3_is_app_limited(const struct bbr3 *bbr, const struct rate_sample *rs)
{
	if (rs->is_app_limited || unbloat_cong_control_has_ack)
		return rs->is_app_limited;
	return bbr->state == PROBE_RTT || (bbr->probe_rtt_end && !after(rs->prior_delivered, bbr->probe_rtt_end));
}

/* Pacing rate and window. */

static __always_inline __u64 bbr3_pacing_rate(const struct sock *sk, __u64 bw, __u32 gain)
{
	__u64 rate = bw * tcp_sk(sk)->mss_cache * gain / ONE;

	rate = (rate * (USEC_PER_SEC / 100 * (100 - pacing_margin))) >> RATE_BITS;
	return min(rate, (__u64)sk->sk_max_pacing_rate);
}

static __always_inline void bbr3_pace_by_rtt(struct sock *sk, struct bbr3 *bbr)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	__u32 rtt_us = USEC_PER_MSEC;

	if (tp->srtt_us) {
		rtt_us = max(tp->srtt_us >> 3, 1U);
		bbr->has_rtt = 1;
	}
	sk->sk_pacing_rate = bbr3_pacing_rate(sk, ((__u64)tp->snd_cwnd << RATE_BITS) / rtt_us, startup_gain);
}

/* Until the pipe is full the rate only rises. */
static __always_inline void bbr3_pace(struct sock *sk, struct bbr3 *bbr, __u32 gain)
{
	__u64 rate = bbr3_pacing_rate(sk, bbr3_bw(bbr), gain);

	if (!bbr->has_rtt && tcp_sk(sk)->srtt_us)
		bbr3_pace_by_rtt(sk, bbr);
	if (bbr->full_reached || rate > sk->sk_pacing_rate)
		sk->sk_pacing_rate = rate;
}

static __always_inline void bbr3_save_window(const struct sock *sk, struct bbr3 *bbr)
{
	__u32 cwnd = tcp_sk(sk)->snd_cwnd;

	if (bbr->prior_state < TCP_CA_Recovery && bbr->state != PROBE_RTT)
		bbr->prior_cwnd = cwnd;
	else
		bbr->prior_cwnd = max(bbr->prior_cwnd, cwnd);
}

static __always_inline void bbr3_restore_window(struct tcp_sock *tp, const struct bbr3 *bbr)
{
	tp->snd_cwnd = max(tp->snd_cwnd, bbr->prior_cwnd);
}

/* What the model allows in flight at most. */
static __always_inline __u32 bbr3_cap(const struct bbr3 *bbr)
{
	__u32 cap = NO_BOUND;

	if (bbr->state == CRUISE || bbr->state == PROBE_RTT)
		cap = bbr3_with_headroom(bbr);
	else if (bbr3_probes_bw(bbr))
		cap = bbr->inflight_long;
	return max(min(cap, bbr->inflight_short), min_cwnd);
}

static __always_inline void bbr3_set_window(struct sock *sk, struct bbr3 *bbr, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	__u8 state = BPF_CORE_READ_BITFIELD(inet_csk(sk), icsk_ca_state);
	__u32 acked = rs->acked_sacked;

	if (bbr->prior_state >= TCP_CA_Recovery && state < TCP_CA_Recovery)
		bbr3_restore_window(tp, bbr);
	bbr->prior_state = state;
	__u32 cwnd = tp->snd_cwnd;
	__u32 most = bbr3_bdp(bbr, bbr3_bw(bbr), bbr3_window_gain(bbr));

	most = bbr3_with_quanta(sk, bbr, most + ack_aggregation_max(&bbr->aggregation));
	if (bbr->full_reached)
		cwnd = min(cwnd + acked, most);
	else if (cwnd < most || tp->delivered < TCP_INIT_CWND)
		cwnd += acked;
	cwnd = min(max(cwnd, min_cwnd), bbr3_cap(bbr));
	if (bbr->state == PROBE_RTT)
		cwnd = min(cwnd, max(bbr3_bdp(bbr, bbr3_bw(bbr), probe_rtt_gain), min_cwnd));
	tp->snd_cwnd = min(cwnd, tp->snd_cwnd_clamp);
}

/* States. */

static __always_inline void bbr3_start_round(const struct tcp_sock *tp, struct bbr3 *bbr)
{
	bbr->round_end = tp->delivered;
}

static __always_inline void bbr3_reset_full(struct bbr3 *bbr)
{
	bbr->full_bw = 0;
	bbr->full_count = 0;
	bbr->full_now = 0;
}

static __always_inline void bbr3_reset_short(struct bbr3 *bbr)
{
	bbr->bw_short = NO_BOUND;
	bbr->inflight_short = NO_BOUND;
}

static __always_inline void bbr3_enter_down(const struct sock *sk, struct bbr3 *bbr)
{
	bbr->loss_in_round = 0;
	bbr->bw_latest = 0;
	bbr->inflight_latest = 0;
	bbr->rounds_since_probe = bpf_get_prandom_u32() & 1;
	bbr->wait_ms = probe_wait + bpf_get_prandom_u32() % (probe_wait_more + 1);
	bbr->cycle_us = clock_us(sk);
	bbr->acks = ACKS_STOPPING;
	bbr3_start_round(tcp_sk(sk), bbr);
	bbr->state = DOWN;
}

static __always_inline void bbr3_enter_refill(const struct sock *sk, struct bbr3 *bbr)
{
	bbr3_reset_short(bbr);
	bbr->up_rounds = 0;
	bbr->up_acked = 0;
	bbr->precautionary = 0;
	bbr->acks = ACKS_REFILLING;
	bbr3_start_round(tcp_sk(sk), bbr);
	bbr->state = REFILL;
}

static __always_inline void bbr3_raise_slope(struct bbr3 *bbr)
{
	bbr->up_rounds = min(bbr->up_rounds + 1U, MOST_UP_ROUNDS);
}

static __always_inline void bbr3_enter_up(const struct sock *sk, struct bbr3 *bbr, __u32 bw)
{
	bbr->probe_sample = 1;
	bbr->acks = ACKS_STARTING;
	bbr3_start_round(tcp_sk(sk), bbr);
	bbr3_reset_full(bbr);
	bbr->full_bw = bw;
	bbr->state = UP;
	bbr3_raise_slope(bbr);
}

/* A probe has put too much in flight. */
static __always_inline void bbr3_handle_too_high(const struct sock *sk, struct bbr3 *bbr, const struct rate_sample *rs)
{
	__u32 least = (__u64)bbr3_target(sk, bbr) * beta / ONE;

	bbr->too_high = 1;
	bbr->probe_sample = 0;
	if (!bbr3_is_app_limited(bbr, rs))
		bbr->inflight_long = max(bbr3_tx_in_flight(tcp_sk(sk), bbr, rs), least);
	if (bbr->state == UP) {
		bbr->undo_state = UP;
		bbr3_enter_down(sk, bbr);
	}
}

static __always_inline void bbr3_save_for_undo(const struct sock *sk, struct bbr3 *bbr)
{
	bbr3_save_window(sk, bbr);
	bbr->undo_state = DRAIN;
	bbr->undo_inflight_long = bbr->inflight_long;
}

static __always_inline void bbr3_handle_losses(const struct sock *sk, struct bbr3 *bbr, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (!bbr->loss_in_round) {
		bbr->loss_round_end = tp->delivered;
		bbr3_save_for_undo(sk, bbr);
	}
	bbr->loss_in_round = 1;
	bbr->loss_events = min(bbr->loss_events + 1U, 15U);
	if (bbr->probe_sample && bbr3_is_too_high(tp, bbr, rs))
		bbr3_handle_too_high(sk, bbr, rs);
}

/* `long` grows by 1, 2, 4, ... packets a round while it limits what is in flight. */
static __always_inline void bbr3_raise_long(const struct tcp_sock *tp, struct bbr3 *bbr, __u32 acked)
{
	if (!BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited) || tp->snd_cwnd < bbr->inflight_long)
		return;
	__u32 step = max(tp->snd_cwnd >> ((bbr->up_rounds ?: 1U) - 1), 1U);

	bbr->up_acked += acked;
	bbr->inflight_long += bbr->up_acked / step;
	bbr->up_acked %= step;
	if (bbr->round_start)
		bbr3_raise_slope(bbr);
}

/* Returns true if it has changed the state. */
static __always_inline bool bbr3_adapt_long(const struct sock *sk, struct bbr3 *bbr, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (bbr->acks == ACKS_STARTING && bbr->round_start)
		bbr->acks = ACKS_FEEDBACK;
	if (bbr->acks == ACKS_STOPPING && bbr->round_start) {
		bbr->probe_sample = 0;
		bbr->acks = ACKS_INIT;
		if (bbr3_probes_bw(bbr) && !bbr3_is_app_limited(bbr, rs) && bbr->max_bw[1]) {
			bbr->max_bw[0] = bbr->max_bw[1];
			bbr->max_bw[1] = 0;
		}
		if (bbr3_probes_bw(bbr) && bbr->precautionary && !bbr->too_high) {
			bbr3_enter_refill(sk, bbr);
			return true;
		}
	}
	if (bbr3_is_too_high(tp, bbr, rs) || bbr->inflight_long == NO_BOUND)
		return false;
	bbr->inflight_long = max(bbr->inflight_long, bbr3_tx_in_flight(tp, bbr, rs));
	if (bbr->state == UP)
		bbr3_raise_long(tp, bbr, rs->acked_sacked);
	return false;
}

static __always_inline bool bbr3_is_time_to_probe(const struct sock *sk, const struct bbr3 *bbr)
{
	return clock_us(sk) - bbr->cycle_us > bbr->wait_ms * USEC_PER_MSEC ||
	       bbr->rounds_since_probe >= min(bbr3_target(sk, bbr), probe_rounds);
}

static __always_inline bool bbr3_is_time_to_cruise(const struct sock *sk, const struct bbr3 *bbr)
{
	__u32 in_flight = tcp_packets_in_flight(tcp_sk(sk));

	return in_flight <= bbr3_with_headroom(bbr) && in_flight <= bbr3_inflight(sk, bbr, bbr3_max_bw(bbr), ONE);
}

static __always_inline bool bbr3_is_time_to_go_down(const struct sock *sk, struct bbr3 *bbr, __u32 bw)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (bbr->too_high && tcp_packets_in_flight(tp) >= bbr->inflight_long) {
		bbr->precautionary = 1;
		return true;
	}
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited) && tp->snd_cwnd >= bbr->inflight_long) {
		bbr3_reset_full(bbr);
		bbr->full_bw = bw;
		return false;
	}
	return bbr->full_now;
}

static __always_inline void bbr3_cycle(const struct sock *sk, struct bbr3 *bbr, const struct rate_sample *rs, __u32 bw)
{
	if (!bbr->full_reached || bbr3_adapt_long(sk, bbr, rs))
		return;
	if (bbr->state == DOWN || bbr->state == CRUISE) {
		if (bbr3_is_time_to_probe(sk, bbr))
			bbr3_enter_refill(sk, bbr);
		else if (bbr->state == DOWN && bbr3_is_time_to_cruise(sk, bbr))
			bbr->state = CRUISE;
	} else if (bbr->state == REFILL && bbr->round_start) {
		bbr3_enter_up(sk, bbr, bw);
	} else if (bbr->state == UP && bbr3_is_time_to_go_down(sk, bbr, bw)) {
		bbr->too_high = 0;
		bbr3_enter_down(sk, bbr);
	}
}

static __always_inline void bbr3_check_full(struct bbr3 *bbr, const struct rate_sample *rs, __u32 bw)
{
	if (bbr->full_now || !bbr->round_start || bbr3_is_app_limited(bbr, rs))
		return;
	if (bw >= (__u64)bbr->full_bw * FULL_GROWTH / ONE) {
		bbr3_reset_full(bbr);
		bbr->full_bw = bw;
		return;
	}
	bbr->full_count++;
	bbr->full_now = bbr->full_count >= FULL_ROUNDS;
	bbr->full_reached |= bbr->full_now;
}

/* A round of STARTUP, in a recovery that began before it, has lost much. */
static __always_inline void bbr3_check_startup_losses(const struct sock *sk, struct bbr3 *bbr,
						      const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	bool has_sack = BPF_CORE_READ_BITFIELD(tp, rx_opt.sack_ok);

	if (bbr->prior_state != TCP_CA_Recovery || !bbr3_is_too_high(tp, bbr, rs))
		return;
	if (has_sack && (!bbr->loss_round_start || bbr->loss_events < STARTUP_LOSSES))
		return;
	bbr->undo_state = STARTUP;
	bbr->full_reached = 1;
	bbr->inflight_long = max(bbr3_bdp(bbr, bbr3_bw(bbr), ONE), bbr->inflight_latest);
}

static __always_inline void bbr3_check_drain(struct sock *sk, struct bbr3 *bbr, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (bbr->state == STARTUP)
		bbr3_check_startup_losses(sk, bbr, rs);
	if (bbr->state == STARTUP && bbr->full_reached) {
		bbr->state = DRAIN;
		bbr->drain_rounds = 0;
		tp->snd_ssthresh = bbr3_inflight(sk, bbr, bbr3_max_bw(bbr), ONE);
	} else if (bbr->state == DRAIN && bbr->round_start) {
		bbr->drain_rounds = min(bbr->drain_rounds + 1U, DRAIN_ROUNDS + 1);
	}
	if (bbr->state == DRAIN && (tcp_packets_in_flight(tp) <= bbr3_inflight(sk, bbr, bbr3_bw(bbr), ONE) ||
				    bbr->drain_rounds > DRAIN_ROUNDS))
		bbr3_enter_down(sk, bbr);
}

/* The end of the packets sent up to now: with few in flight they say nothing about the rate. */
static __always_inline __u32 bbr3_limited_until(const struct tcp_sock *tp)
{
	return (tp->delivered + tcp_packets_in_flight(tp)) ?: 1;
}

static __always_inline void bbr3_check_probe_rtt_done(struct sock *sk, struct bbr3 *bbr)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!bbr->probe_rtt_end || !after(tcp_jiffies32, bbr->probe_rtt_end))
		return;
	bbr->probe_rtt_min_stamp = tcp_jiffies32;
	bbr3_restore_window(tp, bbr);
	bbr3_reset_short(bbr);
	if (!unbloat_cong_control_has_ack)
		bbr->probe_rtt_end = bbr3_limited_until(tp);
	if (bbr->full_reached) {
		bbr3_enter_down(sk, bbr);
		bbr->state = CRUISE;
	} else {
		bbr->state = STARTUP;
	}
}

static __always_inline void bbr3_handle_probe_rtt(struct sock *sk, struct bbr3 *bbr)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (unbloat_cong_control_has_ack)
		tp->app_limited = bbr3_limited_until(tp);
	if (!bbr->probe_rtt_end &&
	    tcp_packets_in_flight(tp) <= max(bbr3_bdp(bbr, bbr3_bw(bbr), probe_rtt_gain), min_cwnd)) {
		bbr->probe_rtt_end = (tcp_jiffies32 + probe_rtt_time / USEC_PER_JIFFY) ?: 1;
		bbr->probe_rtt_round_done = 0;
		bbr3_start_round(tp, bbr);
	} else if (bbr->probe_rtt_end) {
		bbr->probe_rtt_round_done |= bbr->round_start;
		if (bbr->probe_rtt_round_done)
			bbr3_check_probe_rtt_done(sk, bbr);
	}
}

static __always_inline void bbr3_update_min_rtt(struct sock *sk, struct bbr3 *bbr, const struct rate_sample *rs)
{
	__u32 now = tcp_jiffies32;
	bool expired = after(now, bbr->probe_rtt_min_stamp + (__u32)(probe_rtt_interval / USEC_PER_JIFFY));

	if (rs->rtt_us >= 0 && (rs->rtt_us < (long)bbr->probe_rtt_min_us || (expired && !rs->is_ack_delayed))) {
		bbr->probe_rtt_min_us = rs->rtt_us;
		bbr->probe_rtt_min_stamp = now;
	}
	if (bbr->probe_rtt_min_us < bbr->min_rtt_us ||
	    after(now, bbr->min_rtt_stamp + (__u32)(min_rtt_window / USEC_PER_JIFFY))) {
		bbr->min_rtt_us = bbr->probe_rtt_min_us;
		bbr->min_rtt_stamp = bbr->probe_rtt_min_stamp;
	}
	if (probe_rtt_time && expired && !bbr->idle_restart && bbr->state != PROBE_RTT) {
		bbr3_save_window(sk, bbr);
		bbr->state = PROBE_RTT;
		bbr->probe_rtt_end = 0;
		bbr->acks = ACKS_STOPPING;
		bbr3_start_round(tcp_sk(sk), bbr);
	}
	if (bbr->state == PROBE_RTT)
		bbr3_handle_probe_rtt(sk, bbr);
	if (rs->delivered > 0)
		bbr->idle_restart = 0;
}

/* Measurements. */

static __always_inline void bbr3_update_round(const struct tcp_sock *tp, struct bbr3 *bbr, const struct rate_sample *rs)
{
	if (before(rs->prior_delivered, bbr->round_end))
		return;
	bbr3_start_round(tp, bbr);
	bbr->round_start = 1;
	bbr->rounds_since_probe = min(bbr->rounds_since_probe + 1U, 255U);
}

/* What the losses of a round leave of rate and packets in flight, when no probe explains them. */
static __always_inline void bbr3_adapt_short(const struct sock *sk, struct bbr3 *bbr)
{
	if (bbr3_accelerates(bbr) || !bbr->loss_in_round)
		return;
	if (bbr->bw_short == NO_BOUND)
		bbr->bw_short = bbr3_max_bw(bbr);
	if (bbr->inflight_short == NO_BOUND)
		bbr->inflight_short = tcp_sk(sk)->snd_cwnd;
	bbr->bw_short = max(bbr->bw_latest, (__u32)((__u64)bbr->bw_short * beta / ONE));
	bbr->inflight_short = max(bbr->inflight_latest, (__u32)((__u64)bbr->inflight_short * beta / ONE));
}

static __always_inline void bbr3_update_bw(const struct sock *sk, struct bbr3 *bbr, const struct rate_sample *rs,
					   __u32 bw)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	bool limited = bbr3_is_app_limited(bbr, rs);

	bbr->bw_latest = max(bbr->bw_latest, bw);
	bbr->inflight_latest = max(bbr->inflight_latest, (__u32)rs->delivered);
	if (!before(rs->prior_delivered, bbr->loss_round_end)) {
		bbr->loss_round_end = tp->delivered;
		bbr->loss_round_start = 1;
	}
	bbr3_update_round(tp, bbr, rs);
	if (!unbloat_cong_control_has_ack && bbr->state != PROBE_RTT && !limited)
		bbr->probe_rtt_end = 0;
	if (!limited || bw >= bbr3_max_bw(bbr))
		bbr->max_bw[1] = max(bbr->max_bw[1], bw);
}

static __always_inline void bbr3_update_ack_aggregation(const struct sock *sk, struct bbr3 *bbr,
							const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (bbr->round_start)
		ack_aggregation_new_round(&bbr->aggregation, bbr->full_reached ? EXTRA_ACKED_ROUNDS : 1);
	ack_aggregation_update(&bbr->aggregation, bbr3_bw(bbr), tp->delivered_mstamp, rs->acked_sacked, tp->snd_cwnd);
}

/* At the end of a round its losses have been judged. */
static __always_inline void bbr3_end_rounds(const struct tcp_sock *tp, struct bbr3 *bbr, const struct rate_sample *rs,
					    __u32 bw)
{
	if (!bbr->loss_round_start)
		return;
	bbr->bw_latest = bw;
	bbr->inflight_latest = rs->delivered;
	bbr->lost_before = tp->lost;
	bbr->loss_events = 0;
}

static __always_inline void bbr3_update_model(struct sock *sk, struct bbr3 *bbr, const struct rate_sample *rs)
{
	__u32 bw = rate_of(rs->delivered, rs->interval_us);

	bbr3_update_bw(sk, bbr, rs, bw);
	if (bbr->loss_round_start) {
		bbr3_adapt_short(sk, bbr);
		bbr->loss_in_round = 0;
	}
	if (rs->acked_sacked)
		bbr3_update_ack_aggregation(sk, bbr, rs);
	bbr3_check_full(bbr, rs, bw);
	bbr3_check_drain(sk, bbr, rs);
	bbr3_cycle(sk, bbr, rs, bw);
	bbr3_end_rounds(tcp_sk(sk), bbr, rs, bw);
}

/* Callbacks. */

static __always_inline void bbr3_start(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct bbr3 *bbr = inet_csk_ca(sk);

	*bbr = (struct bbr3){
		.min_rtt_us = tp->rtt_min.s[0].v,
		.min_rtt_stamp = tcp_jiffies32,
		.probe_rtt_min_us = tp->rtt_min.s[0].v,
		.probe_rtt_min_stamp = tcp_jiffies32,
		.round_end = tp->delivered,
		.loss_round_end = tp->delivered,
		.lost_before = tp->lost,
		.inflight_long = NO_BOUND,
		.undo_inflight_long = NO_BOUND,
		.undo_state = DRAIN,
	};
	bbr3_reset_short(bbr);
	ack_aggregation_start_epoch(&bbr->aggregation, clock_us(sk));
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	bbr3_pace_by_rtt(sk, bbr);
	if (paces && sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

static __always_inline void bbr3_control(struct sock *sk, const struct rate_sample *rs)
{
	struct bbr3 *bbr = inet_csk_ca(sk);

	bbr->round_start = 0;
	bbr->loss_round_start = 0;
	if (rs->losses > 0)
		bbr3_handle_losses(sk, bbr, rs);
	if (rs->delivered >= 0 && rs->interval_us > 0)
		bbr3_update_model(sk, bbr, rs);
	bbr3_update_min_rtt(sk, bbr, rs);
	bbr3_pace(sk, bbr, bbr3_pacing_gain(bbr));
	if (rs->acked_sacked)
		bbr3_set_window(sk, bbr, rs);
}

static __always_inline void bbr3_event(struct sock *sk, enum tcp_ca_event event)
{
	struct bbr3 *bbr = inet_csk_ca(sk);

	if (event != CA_EVENT_TX_START || !tcp_sk(sk)->app_limited)
		return;
	bbr->idle_restart = 1;
	ack_aggregation_start_epoch(&bbr->aggregation, clock_us(sk));
	if (bbr3_probes_bw(bbr))
		bbr3_pace(sk, bbr, ONE);
	else if (bbr->state == PROBE_RTT)
		bbr3_check_probe_rtt_done(sk, bbr);
}

/* A recovery or a timeout begins. The window does not follow this threshold. */
static __always_inline __u32 bbr3_threshold(struct sock *sk)
{
	bbr3_save_for_undo(sk, inet_csk_ca(sk));
	return tcp_sk(sk)->snd_ssthresh;
}

static __always_inline void bbr3_enter(struct sock *sk, __u8 new_state)
{
	struct bbr3 *bbr = inet_csk_ca(sk);

	if (new_state == TCP_CA_Loss)
		bbr->prior_state = TCP_CA_Loss;
}

/* The losses were none: back to the state before, and to its window. */
static __always_inline __u32 bbr3_undo(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct bbr3 *bbr = inet_csk_ca(sk);

	bbr->loss_in_round = 0;
	bbr3_reset_full(bbr);
	bbr3_reset_short(bbr);
	bbr->inflight_long = max(bbr->inflight_long, bbr->undo_inflight_long);
	if (bbr->undo_state == STARTUP && bbr->state != STARTUP) {
		bbr->full_reached = 0;
		if (bbr->state != PROBE_RTT)
			bbr->state = STARTUP;
	} else if (bbr->undo_state == UP && bbr->state != UP && bbr->state != PROBE_RTT) {
		bbr3_enter_refill(sk, bbr);
	}
	bbr->undo_state = DRAIN;
	return max(tp->snd_cwnd, bbr->prior_cwnd);
}

INIT_PROGRAM(bbr3_start)

SEC("struct_ops")
void BPF_PROG(cong_control, struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs)
{
	bbr3_control(sk, rs);
}

SEC("struct_ops")
__u32 BPF_PROG(sndbuf_expand, struct sock *sk)
{
	return SEND_BUFFER;
}

UNDO_CWND_PROGRAM(bbr3_undo)
CWND_EVENT_PROGRAM(bbr3_event)
SSTHRESH_PROGRAM(bbr3_threshold)

SEC("struct_ops")
__u32 BPF_PROG(min_tso_segs, struct sock *sk)
{
	return LEAST_BURST;
}

SET_STATE_PROGRAM(bbr3_enter)

SEC(".struct_ops.link")
struct tcp_congestion_ops bbr3 = {
	.init = (void *)init,
	.cong_control = (void *)cong_control,
	.sndbuf_expand = (void *)sndbuf_expand,
	.undo_cwnd = (void *)undo_cwnd,
	.cwnd_event = (void *)cwnd_event,
	.ssthresh = (void *)ssthresh,
	.min_tso_segs = (void *)min_tso_segs,
	.set_state = (void *)set_state,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "bbr3",
};

char _license[] SEC("license") = "Dual BSD/GPL";
