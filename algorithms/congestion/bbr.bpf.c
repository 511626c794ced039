/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * BBR: paces at the largest delivery rate, keeps about twice rate times least RTT in flight, and ignores most losses.
 *
 * From Cardwell, Cheng, Gunn, Yeganeh, Jacobson, "BBR: congestion-based congestion control", ACM Queue 14(5), 2016,
 * version 1 in the form that Linux gives it. BBR models the path by two numbers: the bottleneck's rate (largest of ten
 * rounds) and the path's RTT (least of ten seconds). It can measure each only while it disturbs the other. Four modes
 * take turns:
 *
 *     STARTUP    both gains 2.89, the rate doubles a round trip, until three rounds bring less than a quarter more
 *     DRAIN      paces at 1 / 2.89 until no more is in flight than the pipe holds
 *     PROBE_BW   eight phases of one least RTT: pace at 5/4 (is there more?), 3/4 (let the queue drain), then six times
 *                at 1
 *     PROBE_RTT  after ten seconds without a new least RTT: four packets in flight for 200 ms and a round
 *
 * Beside the model, BBR leaves room for ACKs that come in clumps (extra_acked), and detects token-bucket policers. Such
 * a policer passes a burst and then drops all that exceeds its rate. After two intervals with much loss at one rate,
 * BBR takes that rate for 48 rounds.
 *
 * Departures from the paper, all of them Linux's: the pacing margin, extra_acked, the policer, packet conservation in
 * the first round of a recovery.
 *
 * Departures from Linux:
 *  - A gain follows its mode at once; in Linux it does so with the next ACK.
 *  - The policer's clock counts microseconds, in Linux milliseconds, and its tolerance has no pacing margin.
 *  - An extra_acked of more than 65535 packets counts as 65535, where Linux takes its lower 16 bits.
 *  - In kernels before 6.10 a BPF program may not write the socket's mark of rate samples (app_limited). There the mark
 *    that PROBE_RTT sets is in private state, and covers its first round too.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf_tracing_net.h"
#include "bbr_model.h"
#include "control_programs.h"

PARAM(u32, bw_window, 10, 1, 1000, "", "rounds that the largest delivery rate is taken over");
PARAM(u32, min_rtt_window, 10000000, 1000, 1000000000, "us", "time that the least RTT is taken over");
PARAM(u32, probe_rtt_time, 200000, 0, 10000000, "us", "how long PROBE_RTT holds its floor; 0 = never probes");
PARAM(u32, min_cwnd, 4, 1, 1000, "packets", "least window, and the window of PROBE_RTT");
PARAM(u32, full_growth, 1280, 1024, 10240, "/1024", "growth of the rate without which the pipe counts as full ...");
PARAM(u32, full_rounds, 3, 1, 100, "", "... after so many rounds");
PARAM(u32, extra_acked_gain, 1024, 0, 10240, "/1024", "room for clumped ACKs, over what was measured; 0 = none");
PARAM(u32, extra_acked_window, 5, 1, 15, "", "rounds of each of the two windows that it is measured in");
PARAM(u32, extra_acked_limit, 100000, 0, 1000000, "us", "and at most the rate times this");
PARAM(bool, paces, true, 0, 1, "", "pace without the qdisc fq too, as Linux does since 4.13");
PARAM(bool, find_policer, true, 0, 1, "", "look for a token-bucket policer");

/* Pacing rate and window. */

/* Before the first rate sample: the window over the RTT, or over 1 ms without one. */
static __always_inline void bbr_pace_by_rtt(struct sock *sk, struct bbr *bbr)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	__u32 rtt_us = USEC_PER_MSEC;

	if (tp->srtt_us) {
		rtt_us = max(tp->srtt_us >> 3, 1U);
		bbr->has_rtt = 1;
	}
	sk->sk_pacing_rate = bbr_pacing_rate(sk, ((__u64)tp->snd_cwnd << RATE_BITS) / rtt_us, high_gain);
}

/* Until the pipe is full the rate only rises. */
static __always_inline void bbr_pace(struct sock *sk, struct bbr *bbr, __u32 bw, __u32 gain)
{
	__u64 rate = bbr_pacing_rate(sk, bw, gain);

	if (!bbr->has_rtt && tcp_sk(sk)->srtt_us)
		bbr_pace_by_rtt(sk, bbr);
	if (bbr->full || rate > sk->sk_pacing_rate)
		sk->sk_pacing_rate = rate;
}

/* Remembers the window to return to. */
static __always_inline void bbr_save_window(const struct sock *sk, struct bbr *bbr)
{
	__u32 cwnd = tcp_sk(sk)->snd_cwnd;

	if (bbr->prior_state < TCP_CA_Recovery && bbr->mode != PROBE_RTT)
		bbr->prior_cwnd = cwnd;
	else
		bbr->prior_cwnd = max(bbr->prior_cwnd, cwnd);
}

/* The window less the losses; the start and the end of a recovery set another one. */
static __always_inline __u32 bbr_window_after_losses(struct sock *sk, struct bbr *bbr, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	__u8 state = BPF_CORE_READ_BITFIELD(inet_csk(sk), icsk_ca_state);
	__u32 cwnd = tp->snd_cwnd;

	if (rs->losses > 0)
		cwnd = cwnd > (__u32)rs->losses ? cwnd - rs->losses : 1;
	if (state == TCP_CA_Recovery && bbr->prior_state != TCP_CA_Recovery) {
		bbr->packet_conservation = 1;
		bbr->next_rtt_delivered = tp->delivered;
		cwnd = tcp_packets_in_flight(tp) + rs->acked_sacked;
	} else if (bbr->prior_state >= TCP_CA_Recovery && state < TCP_CA_Recovery) {
		cwnd = max(cwnd, bbr->prior_cwnd);
		bbr->packet_conservation = 0;
	}
	bbr->prior_state = state;
	return cwnd;
}

/* The additional packets in flight that keep the link busy while ACKs come in clumps. */
static __always_inline __u32 bbr_ack_aggregation_cwnd(const struct bbr *bbr)
{
	if (!bbr->full)
		return 0;
	__u32 limit = rate_times(bbr_bw(bbr), extra_acked_limit);

	return min(extra_acked_gain * ack_aggregation_max(&bbr->aggregation) / ONE, limit);
}

static __always_inline __u32 bbr_window(struct sock *sk, struct bbr *bbr, const struct rate_sample *rs, __u32 acked)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	__u32 cwnd = bbr_window_after_losses(sk, bbr, rs);

	if (bbr->packet_conservation)
		return max(cwnd, tcp_packets_in_flight(tp) + acked);
	__u32 target = bbr_bdp(bbr, bbr_bw(bbr), bbr_window_gain(bbr)) + bbr_ack_aggregation_cwnd(bbr);

	target = bbr_with_bursts(sk, bbr, target);
	if (bbr->full)
		cwnd = min(cwnd + acked, target);
	else if (cwnd < target || tp->delivered < TCP_INIT_CWND)
		cwnd += acked;
	return max(cwnd, min_cwnd);
}

static __always_inline void bbr_set_window(struct sock *sk, struct bbr *bbr, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	__u32 cwnd = rs->acked_sacked ? bbr_window(sk, bbr, rs, rs->acked_sacked) : tp->snd_cwnd;

	cwnd = min(cwnd, tp->snd_cwnd_clamp);
	tp->snd_cwnd = bbr->mode == PROBE_RTT ? min(cwnd, min_cwnd) : cwnd;
}

/* Modes. */

/* Begins at a random phase, but not the one that drains, because there is nothing to drain. */
static __always_inline void bbr_enter_probe_bw(const struct sock *sk, struct bbr *bbr)
{
	bbr->mode = PROBE_BW;
	bbr->cycle_idx = (2 + bpf_get_prandom_u32() % (CYCLE_LEN - 1)) % CYCLE_LEN;
	bbr->cycle_mstamp = tcp_sk(sk)->delivered_mstamp;
}

static __always_inline bool bbr_is_next_cycle_phase(const struct sock *sk, const struct bbr *bbr,
						    const struct rate_sample *rs)
{
	bool full_length = (__u32)tcp_sk(sk)->delivered_mstamp - bbr->cycle_mstamp > bbr->min_rtt_us;
	__u32 gain = bbr_pacing_gain(bbr);

	if (gain == ONE)
		return full_length;
	__u32 in_network = bbr_in_network(sk, bbr, rs->prior_in_flight);

	/* The queue that the upper gain would make may take longer than a round trip to build ... */
	if (gain > ONE)
		return full_length && (rs->losses || in_network >= bbr_inflight_target(sk, bbr, gain));
	/* ... and drain earlier. */
	return full_length || in_network <= bbr_inflight_target(sk, bbr, ONE);
}

static __always_inline void bbr_update_cycle_phase(const struct sock *sk, struct bbr *bbr, const struct rate_sample *rs)
{
	if (bbr->mode != PROBE_BW || !bbr_is_next_cycle_phase(sk, bbr, rs))
		return;
	bbr->cycle_idx = (bbr->cycle_idx + 1) % CYCLE_LEN;
	bbr->cycle_mstamp = tcp_sk(sk)->delivered_mstamp;
}

/*
 * Reports whether the application, not the path, limited the rate. Older kernels do not mark the samples of PROBE_RTT.
 */
static __always_inline bool bbr_is_app_limited(const struct bbr *bbr, const struct rate_sample *rs)
{
	if (rs->is_app_limited || unbloat_cong_control_has_ack)
		return rs->is_app_limited;
	return bbr->mode == PROBE_RTT || (bbr->probe_rtt_end && !after(rs->prior_delivered, bbr->probe_rtt_end));
}

static __always_inline void bbr_check_full(struct bbr *bbr, const struct rate_sample *rs)
{
	if (bbr->full || !bbr->round_start || bbr_is_app_limited(bbr, rs))
		return;
	if (bbr_max_bw(bbr) >= (__u64)bbr->full_bw * full_growth / ONE) {
		bbr->full_bw = bbr_max_bw(bbr);
		bbr->full_count = 0;
		return;
	}
	bbr->full_count++;
	bbr->full = bbr->full_count >= full_rounds;
}

static __always_inline void bbr_check_drain(struct sock *sk, struct bbr *bbr)
{
	if (bbr->mode == STARTUP && bbr->full) {
		bbr->mode = DRAIN;
		tcp_sk(sk)->snd_ssthresh = bbr_inflight_target(sk, bbr, ONE);
	}
	if (bbr->mode == DRAIN &&
	    bbr_in_network(sk, bbr, tcp_packets_in_flight(tcp_sk(sk))) <= bbr_inflight_target(sk, bbr, ONE))
		bbr_enter_probe_bw(sk, bbr);
}

/* The end of the packets sent up to now: with so few in flight they say nothing about the rate. */
static __always_inline __u32 bbr_limited_until(const struct tcp_sock *tp)
{
	return (tp->delivered + tcp_packets_in_flight(tp)) ?: 1;
}

static __always_inline void bbr_leave_probe_rtt(struct sock *sk, struct bbr *bbr)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!bbr->probe_rtt_end || !after(tcp_jiffies32, bbr->probe_rtt_end))
		return;
	bbr->min_rtt_stamp = tcp_jiffies32;
	tp->snd_cwnd = max(tp->snd_cwnd, bbr->prior_cwnd);
	if (!unbloat_cong_control_has_ack)
		bbr->probe_rtt_end = bbr_limited_until(tp);
	if (bbr->full)
		bbr_enter_probe_bw(sk, bbr);
	else
		bbr->mode = STARTUP;
}

static __always_inline void bbr_hold_floor(struct sock *sk, struct bbr *bbr)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (unbloat_cong_control_has_ack)
		tp->app_limited = bbr_limited_until(tp);
	if (!bbr->probe_rtt_end && tcp_packets_in_flight(tp) <= min_cwnd) {
		bbr->probe_rtt_end = tcp_jiffies32 + probe_rtt_time / USEC_PER_JIFFY;
		bbr->probe_rtt_round_done = 0;
		bbr->next_rtt_delivered = tp->delivered;
	} else if (bbr->probe_rtt_end) {
		bbr->probe_rtt_round_done |= bbr->round_start;
		if (bbr->probe_rtt_round_done)
			bbr_leave_probe_rtt(sk, bbr);
	}
}

static __always_inline void bbr_update_min_rtt(struct sock *sk, struct bbr *bbr, const struct rate_sample *rs)
{
	bool expired = after(tcp_jiffies32, bbr->min_rtt_stamp + (__u32)(min_rtt_window / USEC_PER_JIFFY));
	bool smaller = rs->rtt_us < (long)bbr->min_rtt_us;

	if (rs->rtt_us >= 0 && (smaller || (expired && !rs->is_ack_delayed))) {
		bbr->min_rtt_us = rs->rtt_us;
		bbr->min_rtt_stamp = tcp_jiffies32;
	}
	if (probe_rtt_time && expired && !bbr->idle_restart && bbr->mode != PROBE_RTT) {
		bbr_save_window(sk, bbr);
		bbr->mode = PROBE_RTT;
		bbr->probe_rtt_end = 0;
	}
	if (bbr->mode == PROBE_RTT)
		bbr_hold_floor(sk, bbr);
	if (rs->delivered > 0)
		bbr->idle_restart = 0;
}

/* Measurements. */

/* A verdict on a policer holds for a number of rounds; then BBR tries the path anew. */
static __always_inline void bbr_sample_lt_bw(const struct sock *sk, struct bbr *bbr, bool lost, bool app_limited)
{
	struct lt_bw *lt = &bbr->lt;

	if (!lt->in_use) {
		if (find_policer)
			lt_bw_sample(tcp_sk(sk), lt, bbr->round_start, lost, app_limited);
	} else if (bbr->mode == PROBE_BW && bbr->round_start && ++lt->rounds >= LT_BW_MAX_ROUNDS) {
		lt_bw_reset(tcp_sk(sk), lt);
		bbr_enter_probe_bw(sk, bbr);
	}
}

static __always_inline void bbr_update_bw(struct sock *sk, struct bbr *bbr, const struct rate_sample *rs)
{
	bbr->round_start = 0;
	if (rs->delivered < 0 || rs->interval_us <= 0)
		return;
	if (!before(rs->prior_delivered, bbr->next_rtt_delivered)) {
		bbr->next_rtt_delivered = tcp_sk(sk)->delivered;
		bbr->rtt_cnt++;
		bbr->round_start = 1;
		bbr->packet_conservation = 0;
	}
	bool limited = bbr_is_app_limited(bbr, rs);

	if (!unbloat_cong_control_has_ack && bbr->mode != PROBE_RTT && !limited)
		bbr->probe_rtt_end = 0;
	bbr_sample_lt_bw(sk, bbr, rs->losses > 0, limited);
	__u32 bw = rate_of(rs->delivered, rs->interval_us);

	if (!limited || bw >= bbr_max_bw(bbr))
		windowed_max_update(&bbr->bw, bw_window, bbr->rtt_cnt, bw);
}

static __always_inline void bbr_update_ack_aggregation(const struct sock *sk, struct bbr *bbr,
						       const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (!extra_acked_gain || !rs->acked_sacked || rs->delivered < 0 || rs->interval_us <= 0)
		return;
	if (bbr->round_start)
		ack_aggregation_new_round(&bbr->aggregation, extra_acked_window);
	ack_aggregation_update(&bbr->aggregation, bbr_bw(bbr), tp->delivered_mstamp, rs->acked_sacked, tp->snd_cwnd);
}

/* Callbacks. */

static __always_inline void bbr_start(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct bbr *bbr = inet_csk_ca(sk);

	*bbr = (struct bbr){
		.min_rtt_us = tp->rtt_min.s[0].v,
		.min_rtt_stamp = tcp_jiffies32,
		.next_rtt_delivered = tp->delivered,
	};
	ack_aggregation_start_epoch(&bbr->aggregation, clock_us(sk));
	lt_bw_start_interval(tp, &bbr->lt);
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	bbr_pace_by_rtt(sk, bbr);
	if (paces && sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

static __always_inline void bbr_control(struct sock *sk, const struct rate_sample *rs)
{
	struct bbr *bbr = inet_csk_ca(sk);

	bbr_update_bw(sk, bbr, rs);
	bbr_update_ack_aggregation(sk, bbr, rs);
	bbr_update_cycle_phase(sk, bbr, rs);
	bbr_check_full(bbr, rs);
	bbr_check_drain(sk, bbr);
	bbr_update_min_rtt(sk, bbr, rs);
	bbr_pace(sk, bbr, bbr_bw(bbr), bbr_pacing_gain(bbr));
	bbr_set_window(sk, bbr, rs);
}

/* After a pause the queue is empty, so BBR paces as fast as the path, and no faster. */
static __always_inline void bbr_event(struct sock *sk, enum tcp_ca_event event)
{
	struct bbr *bbr = inet_csk_ca(sk);

	if (event != CA_EVENT_TX_START || !tcp_sk(sk)->app_limited)
		return;
	bbr->idle_restart = 1;
	ack_aggregation_start_epoch(&bbr->aggregation, clock_us(sk));
	if (bbr->mode == PROBE_BW)
		bbr_pace(sk, bbr, bbr_bw(bbr), ONE);
	else if (bbr->mode == PROBE_RTT)
		bbr_leave_probe_rtt(sk, bbr);
}

/* After a timeout BBR measures the pipe anew, and a round starts. */
static __always_inline void bbr_enter(struct sock *sk, __u8 new_state)
{
	struct bbr *bbr = inet_csk_ca(sk);

	if (new_state != TCP_CA_Loss)
		return;
	bbr->prior_state = TCP_CA_Loss;
	bbr->full_bw = 0;
	bbr->round_start = 1;
	bbr_sample_lt_bw(sk, bbr, true, false);
}

static __always_inline __u32 bbr_threshold(struct sock *sk)
{
	bbr_save_window(sk, inet_csk_ca(sk));
	return tcp_sk(sk)->snd_ssthresh;
}

/*
 * Undoes the effects of a spurious loss on the search for the full pipe and the policer. The window was never cut.
 */
static __always_inline __u32 bbr_undo(struct sock *sk)
{
	struct bbr *bbr = inet_csk_ca(sk);

	bbr->full_bw = 0;
	bbr->full_count = 0;
	lt_bw_reset(tcp_sk(sk), &bbr->lt);
	return tcp_sk(sk)->snd_cwnd;
}

/* Send buffer in windows: recovery may hold more than the usual two. */
#define BBR_SEND_BUFFER 3

#ifndef BBR_AS_BASE
INIT_PROGRAM(bbr_start)

SEC("struct_ops")
void BPF_PROG(cong_control, struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs)
{
	bbr_control(sk, rs);
}

SEC("struct_ops")
__u32 BPF_PROG(sndbuf_expand, struct sock *sk)
{
	return BBR_SEND_BUFFER;
}

UNDO_CWND_PROGRAM(bbr_undo)
CWND_EVENT_PROGRAM(bbr_event)
SSTHRESH_PROGRAM(bbr_threshold)

SEC("struct_ops")
__u32 BPF_PROG(min_tso_segs, struct sock *sk)
{
	return bbr_least_burst(sk);
}

SET_STATE_PROGRAM(bbr_enter)

SEC(".struct_ops.link")
struct tcp_congestion_ops bbr = {
	.init = (void *)init,
	.cong_control = (void *)cong_control,
	.sndbuf_expand = (void *)sndbuf_expand,
	.undo_cwnd = (void *)undo_cwnd,
	.cwnd_event = (void *)cwnd_event,
	.ssthresh = (void *)ssthresh,
	.min_tso_segs = (void *)min_tso_segs,
	.set_state = (void *)set_state,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = CONTROL_NAME("bbr"),
};

char _license[] SEC("license") = "Dual BSD/GPL";
#endif
