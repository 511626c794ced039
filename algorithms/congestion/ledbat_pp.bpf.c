/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * LEDBAT++: low priority like LEDBAT, but flows share evenly, and a latecomer does not take all.
 *
 * From Balasubramanian, Ertugay, Havey, Bagnulo, "LEDBAT++: Congestion Control for Background Traffic",
 * draft-irtf-iccrg-ledbat-plus-plus, in segments. LEDBAT is in ledbat.bpf.c; LEDBAT++ differs in these points:
 *  - the delay is the RTT, so that the clocks of both ends do not matter. The target is 60 ms of queue;
 *  - the window grows by GAIN = 1 / min(16, ceil(2 target / base)) segments a round trip, at most as fast as Reno's.
 *    The base is the least RTT of ten minutes;
 *  - above the target the decrease is multiplicative: in a round trip the window changes by
 *
 *        GAIN - cwnd (queueing / target - 1), but at least by -cwnd / 2
 *
 *  - slow start grows by GAIN for each segment acknowledged. The first one ends at three quarters of the target;
 *  - slowdowns empty the queue, so that each flow sees the path's own RTT. Two RTTs after slow start the window is two
 *    segments, for two RTTs. Then slow start brings it back. The next slowdown begins after nine times as long as this
 *    one took, so that they cost at most a tenth of the throughput.
 *
 * Departures and choices; the constants are those of Apple's tcp_ledbat.c, which follows draft -01:
 *  - the current RTT is the least of the last four, as in LEDBAT;
 *  - the change of a round trip is spread over the segments acknowledged in it;
 *  - Apple defers a slowdown for 30 s after a decrease, and lets a delay end the slow start of one. The draft does not;
 *  - "RTT" of a slowdown is TCP's smoothed one when it begins;
 *  - a window that is not in use does not grow, and the first window is at most two segments;
 *  - a loss during a slowdown halves the window to return to, and the slowdown goes on. A timeout and a pause are
 *    followed by slow start to the threshold, which counts as a slowdown.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf_tracing_net.h"
#include "control.h"
#include "delay_history.h"
#include "fractional_growth.h"
#include "ledbat_pp.h"

PARAM(u32, initial_window, 2, 1, 1000, "packets", "largest window at the start");

struct ledbat_pp {
	__s64 sum; /* of changes that have not become a segment, 1 / target segment */
	struct delay_history rtts;
	__u32 began_us; /* of the slowdown */
	__u32 until_us; /* end of this phase, if it has one */
	__u16 rest;	/* segments acknowledged that have not become one of slow start */
	__u8 phase;
};

static __always_inline bool ledbat_pp_is_over(const struct ledbat_pp *ca, __u32 now)
{
	return (__s32)(now - ca->until_us) >= 0;
}

static __always_inline void ledbat_pp_enter(const struct sock *sk, struct ledbat_pp *ca, __u8 phase, __u32 rtts)
{
	ca->phase = phase;
	ca->until_us = clock_us(sk) + rtts * (tcp_sk(sk)->srtt_us >> 3);
	ca->sum = 0;
	ca->rest = 0;
}

static __always_inline void ledbat_pp_slow_down(struct sock *sk, struct tcp_sock *tp, struct ledbat_pp *ca)
{
	tp->snd_ssthresh = max(tp->snd_cwnd, LEAST_WINDOW);
	tp->snd_cwnd = LEAST_WINDOW;
	ca->began_us = clock_us(sk);
	ledbat_pp_enter(sk, ca, LEDBAT_PP_FROZEN, FREEZE_RTTS);
}

/* Slow start to the threshold, which counts as a slowdown. */
static __always_inline void ledbat_pp_ramp(struct sock *sk, struct ledbat_pp *ca)
{
	ca->began_us = clock_us(sk);
	ledbat_pp_enter(sk, ca, LEDBAT_PP_RAMP, 0);
}

static __always_inline void ledbat_pp_end_slowdown(struct sock *sk, struct ledbat_pp *ca)
{
	__u32 took_us = clock_us(sk) - ca->began_us;

	ledbat_pp_enter(sk, ca, LEDBAT_PP_STEADY, 0);
	ca->until_us += ledbat_pp_interval_us(took_us);
}

static __always_inline void ledbat_pp_slow_start(struct tcp_sock *tp, struct ledbat_pp *ca, __u32 acked)
{
	__u32 divisor = ledbat_pp_divisor(&ca->rtts);
	__u32 sum = ca->rest + acked;

	ca->rest = sum % divisor;
	tp->snd_cwnd = min(min(tp->snd_cwnd + sum / divisor, tp->snd_ssthresh), tp->snd_cwnd_clamp);
}

static __always_inline void ledbat_pp_steer(struct sock *sk, struct tcp_sock *tp, struct ledbat_pp *ca, __u32 acked)
{
	__s64 change = ledbat_pp_change(&ca->rtts, tp->snd_cwnd);

	if (change > 0 && !tcp_is_cwnd_limited(sk))
		return;
	ca->sum += change * acked;
	change_window(tp, &ca->sum, target);
}

static __always_inline void ledbat_pp_acked(struct sock *sk, struct tcp_sock *tp, struct ledbat_pp *ca, __u32 acked)
{
	bool over = ledbat_pp_is_over(ca, clock_us(sk));

	if (ca->phase == LEDBAT_PP_SLOW_START && (!tcp_in_slow_start(tp) || ledbat_pp_ends_slow_start(&ca->rtts))) {
		tp->snd_ssthresh = min(tp->snd_ssthresh, tp->snd_cwnd);
		ledbat_pp_enter(sk, ca, LEDBAT_PP_STEADY, FIRST_SLOWDOWN_RTTS);
	} else if (ca->phase == LEDBAT_PP_STEADY && over && slowdowns) {
		ledbat_pp_slow_down(sk, tp, ca);
	} else if (ca->phase == LEDBAT_PP_FROZEN && over) {
		ca->phase = LEDBAT_PP_RAMP;
	} else if (ca->phase == LEDBAT_PP_RAMP && !tcp_in_slow_start(tp)) {
		ledbat_pp_end_slowdown(sk, ca);
	}
	if (ca->phase == LEDBAT_PP_STEADY)
		ledbat_pp_steer(sk, tp, ca, acked);
	else if (ca->phase != LEDBAT_PP_FROZEN && tcp_is_cwnd_limited(sk))
		ledbat_pp_slow_start(tp, ca, acked);
}

SEC("struct_ops")
void BPF_PROG(init, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	*(struct ledbat_pp *)inet_csk_ca(sk) = (struct ledbat_pp){};
	tp->snd_cwnd = min(tp->snd_cwnd, initial_window);
}

SEC("struct_ops")
void BPF_PROG(pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct ledbat_pp *ca = inet_csk_ca(sk);

	if (sample->rtt_us > 0)
		delay_history_sample(&ca->rtts, sample->rtt_us, tcp_sk(sk)->tcp_mstamp);
}

SEC("struct_ops")
void BPF_PROG(cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct ledbat_pp *ca = inet_csk_ca(sk);

	if (ca->rtts.has_current)
		ledbat_pp_acked(sk, tcp_sk(sk), ca, acked);
}

SEC("struct_ops")
__u32 BPF_PROG(ssthresh, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat_pp *ca = inet_csk_ca(sk);
	bool slowed = ca->phase == LEDBAT_PP_FROZEN || ca->phase == LEDBAT_PP_RAMP;

	ca->sum = 0;
	return max((slowed ? tp->snd_ssthresh : tp->snd_cwnd) / 2, LEAST_WINDOW);
}

/* After a repair the stack sets the window to the threshold, also during a slowdown. */
SEC("struct_ops")
void BPF_PROG(cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat_pp *ca = inet_csk_ca(sk);

	if (event == CA_EVENT_COMPLETE_CWR && ca->phase == LEDBAT_PP_FROZEN) {
		tp->snd_cwnd = LEAST_WINDOW;
	} else if (event == CA_EVENT_CWND_RESTART) {
		ca->rtts.has_current = 0;
		if (ca->phase != LEDBAT_PP_SLOW_START)
			ledbat_pp_ramp(sk, ca);
	}
}

SEC("struct_ops")
void BPF_PROG(set_state, struct sock *sk, __u8 new_state)
{
	if (new_state == TCP_CA_Loss)
		ledbat_pp_ramp(sk, inet_csk_ca(sk));
}

SEC("struct_ops")
__u32 BPF_PROG(undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops ledbat_pp = {
	.init = (void *)init,
	.pkts_acked = (void *)pkts_acked,
	.cong_avoid = (void *)cong_avoid,
	.ssthresh = (void *)ssthresh,
	.cwnd_event = (void *)cwnd_event,
	.set_state = (void *)set_state,
	.undo_cwnd = (void *)undo_cwnd,
	.name = "ledbat_pp",
};

char _license[] SEC("license") = "Dual BSD/GPL";
