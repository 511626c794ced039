/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rtac_auto: RTAC that measures its path's rate and round-trip time itself, and follows their changes.
 *
 * From Im, "TCP Performance Enhancement in Wireless Networks", dissertation, Seoul National University, 2015,
 * chapter 2. The RTAC of that chapter (rtac.bpf.c) needs the path's bandwidth-delay product as a parameter.
 * Sections 2.6 and 5.2 leave open how to estimate it; the method here is the project's own.
 *
 * RTAC's window is right for the product B that its K was computed from (2.11). The data that arrives in a round trip
 * does not measure B, because beside another flow it is only a share of the path. A flow that takes its share as the
 * path announces a smaller window, gets less, and starves.
 *
 * So this controller probes. Once in `probe_rounds` round trips, and soon after the RTT has grown, it announces half of
 * the data of the last round trip. The probe lasts three round trips, of which the controller evaluates the third:
 *
 *     the same rate arrives, and the RTT is shorter    the queue was its own: the arriving rate is the path's rate
 *     less arrives                                     another flow has filled the gap, or there was no queue
 *     neither, or the RTT has grown                    the path has changed meanwhile: it probes again soon
 *
 * Between probes the controller accepts a higher rate than the known one at once, because data cannot arrive faster
 * than the path carries it. Then
 *
 *    B = rate x base,   window = sqrt(3/2) RTT / base / sqrt(K (Q + 1)),   K = 3/2 / ((theta - 1) B^3)
 *
 * The window is at least twice the arriving data, as with auto-tuning, while the RTT is near the base. The same applies
 * while that data still grows by a quarter in a round trip. This serves the start, and a path that has become faster. A
 * longer RTT widens the window only after a probe has found that other flows keep the queue.
 *
 * Beside others: if halving the window shortens the RTT by an eighth, a good part of the queue is the flow's own. The
 * estimate of the path's rate then falls by an eighth. If not, and the RTT is seven times the base, the estimate rises
 * by a quarter, because holding back gains nothing there. So of several such flows the larger yield and the smaller
 * grow.
 *
 * The base is not the least RTT, which on radio links is rare and half of the usual one. The base follows the mean RTTs
 * of round trips. It falls at any time, but rises only in a probe, when the flow has no queue of its own. Even then it
 * rises in two cases only. In the first no other flow has a queue either (below theta). In the second half of the
 * window has not changed the RTT at all, because the path has become longer, or is full of others' packets.
 *
 * Cost: a probe takes a third of the rate for two round trips, 1 % with the default of 64.
 *
 * Limits: After the path has become slower the queue is too long until the probe has ended, some four of the longer
 * round trips. Beside auto-tuning the flow gets less than RTAC where RTTs are only a few times the base. With eight
 * flows or more, none can tell what its own window does to the RTT, and their queue grows. A flow that arrives at a
 * queue that others fill takes it as the path.
 *
 * Departures: this controller has no Delta, because its base is not the least RTT. All others are those of RTAC.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include "rtac_window.h"
#include "window_control.h"

PARAM(u32, theta, 138, 101, 1000, "%", "RTT to rest at, of the base");
PARAM(u32, probe_rounds, 64, 8, 10000, "", "round trips from one try to the next");
PARAM(u32, alpha, 128, 0, 1023, "/1024", "weight of the old value in what comes in a round trip");
PARAM(u32, rtt_weight, 128, 1, 1024, "/1024", "weight of a new RTT in the smoothed one");
PARAM(u32, most, 1810, 2, 100000, "packets", "largest window");

#define SOON_ROUNDS 8  /* from a probe to the next after the RTT has grown; twice as many after each without success, */
#define LATE_ROUNDS 32 /* but at most this many, */
#define AGAIN_ROUNDS 2 /* and few after one without a result */
#define TRY_ROUNDS 3   /* the first is as before, the second passes, the third shows the effect of the smaller window */
#define RECOVER_ROUNDS 2 /* likewise, back */
#define LEAST_BDP 4	 /* packets; below, an acknowledgement for every second packet leaves the path idle */
#define LARGEST_BDP 20000
#define FASTEST (1ULL << 36) /* bytes per second */

enum phase {
	FOLLOWS,
	TRIES,
	RECOVERS
};

struct rtac_auto {
	struct receiver_window window;
	__u64 rate;	   /* smoothed, bytes per second; in a try that of its first round trip */
	__u64 path_rate;   /* the path's */
	__u64 rtt_sum;	   /* of the RTTs of this round trip, us */
	__u32 rtt_count;   /* ... and their number */
	__u32 base_us;	   /* RTT without a queue */
	__u32 rtt_try_us;  /* the largest of a try before the last round trip */
	__u32 shown_usual; /* before a try */
	__u32 rounds;	   /* of this phase */
	__u8 phase;
	__u8 soon; /* round trips to the next try, if the RTT has grown; 0 at first */
};

/* The measurements of a round trip. */
struct rtac_auto_round {
	__u64 rate;
	__u32 rtt_us; /* mean */
};

static __always_inline struct rtac_auto_round rtac_auto_round(struct rtac_auto *ca, __u64 lasted_us)
{
	struct receiver_round *measured = &ca->window.round;
	struct rtac_auto_round round = {
		.rate = (__u64)measured->copied_before * USEC_PER_SEC / (lasted_us ?: 1),
		.rtt_us = ca->rtt_count ? ca->rtt_sum / ca->rtt_count : measured->rtt_us,
	};

	ca->rtt_sum = 0;
	ca->rtt_count = 0;
	return round;
}

/* Reports whether an RTT exceeds the base by this percentage of theta's excess. */
static __always_inline bool rtac_auto_waits(const struct rtac_auto *ca, __u32 rtt_us, __u32 percent)
{
	return rtt_us > ca->base_us + (__u64)ca->base_us * (theta - 100) * percent / 10000;
}

/* Eighths of a packet. */
static __always_inline __u64 rtac_auto_bdp(const struct rtac_auto *ca, __u32 mss)
{
	__u64 bdp = ca->path_rate * ca->base_us / (USEC_PER_SEC / 8) / mss;

	return min(max(bdp, (__u64)8 * LEAST_BDP), (__u64)8 * LARGEST_BDP);
}

static __always_inline void rtac_auto_enter(struct rtac_auto *ca, enum phase phase)
{
	ca->phase = phase;
	ca->rounds = 0;
}

/* Sets the window by equation 2.8 for the path as estimated. */
static __always_inline void rtac_auto_show(struct rtac_auto *ca, bool grows, __u32 mss)
{
	struct receiver_window *window = &ca->window;
	__u32 rtt_us = max(window->round.rtt_us, ca->base_us);
	__u64 k = rtac_inverse_k_of_eighths(rtac_auto_bdp(ca, mss), theta);
	__u64 target = rtac_target(rtt_us, ca->base_us, window->estimate, k);

	if (!rtac_auto_waits(ca, rtt_us, grows ? 100 : 25))
		target = max(target, (__u64)2 * window->estimate);
	/* A longer RTT widens the window beside others only, and a try has to find them first. */
	if (rtac_auto_waits(ca, rtt_us, 200) && ca->soon <= SOON_ROUNDS && window->shown)
		target = min(target, (__u64)window->shown * Q8 / mss);
	receiver_window_show(window, target, mss, most);
}

/* Learns the rate from a round trip that is no part of a try. */
static __always_inline void rtac_auto_learn_rate(struct rtac_auto *ca, const struct rtac_auto_round *round)
{
	ca->rate = ca->rate ? (3 * ca->rate + round->rate) / 4 : round->rate;
	ca->path_rate = max(ca->path_rate, ca->rate);
}

/* A shorter RTT counts in tries, too: a flow that began in a queue of its own sees the empty path only there. */
static __always_inline void rtac_auto_learn_base(struct rtac_auto *ca, const struct rtac_auto_round *round)
{
	ca->base_us = ca->base_us ?: round->rtt_us;
	if (round->rtt_us < ca->base_us)
		ca->base_us -= (ca->base_us - round->rtt_us) / 4;
}

static __always_inline bool rtac_auto_is_time(const struct rtac_auto *ca)
{
	__u32 rtt_us = ca->window.round.rtt_us;

	if (rtac_auto_waits(ca, rtt_us, 200) && ca->rounds >= ca->soon)
		return true;
	return rtac_auto_waits(ca, rtt_us, 50) && ca->rounds >= probe_rounds;
}

/* A round trip outside a try has ended. */
static __always_inline void rtac_auto_follow(struct rtac_auto *ca, const struct rtac_auto_round *round, __u32 mss)
{
	bool grows = 4 * round->rate > 5 * ca->rate;

	rtac_auto_learn_rate(ca, round);
	rtac_auto_show(ca, grows, mss);
	if (!rtac_auto_waits(ca, round->rtt_us, 100))
		ca->soon = SOON_ROUNDS;
	if (rtac_auto_is_time(ca)) {
		ca->shown_usual = ca->window.shown;
		receiver_window_show(&ca->window, ca->window.estimate / 2, mss, most);
		ca->rtt_try_us = 0;
		rtac_auto_enter(ca, TRIES);
	}
}

/* Reports whether half the window has shortened the RTT by an eighth. */
static __always_inline bool rtac_auto_moved(const struct rtac_auto *ca, const struct rtac_auto_round *round)
{
	return round->rtt_us < ca->rtt_try_us - ca->rtt_try_us / 8;
}

/* The queue was the flow's own: the arriving rate is the path's, which gives the window to rest at. */
static __always_inline void rtac_auto_own(struct rtac_auto *ca, const struct rtac_auto_round *round, __u32 mss)
{
	ca->path_rate = round->rate;
	ca->rate = round->rate;
	ca->soon = SOON_ROUNDS;
	ca->window.estimate = rtac_auto_bdp(ca, mss) * theta * (Q8 / 8) / 100;
	receiver_window_show(&ca->window, ca->window.estimate, mss, most);
}

/* The queue was not the flow's own: the RTT is one without such a queue. */
static __always_inline void rtac_auto_not_own(struct rtac_auto *ca, const struct rtac_auto_round *round)
{
	bool unmoved = round->rtt_us >= ca->rtt_try_us - ca->rtt_try_us / 16;
	bool is_long = rtac_auto_waits(ca, ca->rtt_try_us, 200);

	if (is_long && rtac_auto_moved(ca, round))
		ca->path_rate = max(ca->path_rate - ca->path_rate / 8, ca->rate);
	else if (rtac_auto_waits(ca, ca->rtt_try_us, 1600))
		ca->path_rate = min(ca->path_rate + ca->path_rate / 4, FASTEST);
	if (round->rtt_us > ca->base_us && (unmoved || !rtac_auto_waits(ca, round->rtt_us, 100)))
		ca->base_us += min(round->rtt_us - ca->base_us, ca->base_us / 2) / 4;
	if (is_long)
		ca->soon = min(max(2 * ca->soon, 2 * SOON_ROUNDS), LATE_ROUNDS);
	ca->window.shown = ca->shown_usual;
}

/* The probe has no result, because the path has changed meanwhile. */
static __always_inline void rtac_auto_void(struct rtac_auto *ca)
{
	ca->soon = AGAIN_ROUNDS;
	ca->window.shown = ca->shown_usual;
}

/* A round trip of a try has ended. */
static __always_inline void rtac_auto_try(struct rtac_auto *ca, const struct rtac_auto_round *round, __u32 mss)
{
	bool keeps_rate = 4 * round->rate >= 3 * ca->rate;

	if (ca->rounds == 1)
		ca->rate = round->rate;
	if (ca->rounds < TRY_ROUNDS || (keeps_rate && !rtac_auto_moved(ca, round) && ca->rounds < 2 * TRY_ROUNDS)) {
		ca->rtt_try_us = max(ca->rtt_try_us, round->rtt_us);
		return;
	}
	if (keeps_rate && rtac_auto_moved(ca, round) && rtac_auto_waits(ca, ca->rtt_try_us, 100))
		rtac_auto_own(ca, round, mss);
	else if (!keeps_rate && round->rtt_us <= ca->rtt_try_us + ca->rtt_try_us / 8)
		rtac_auto_not_own(ca, round);
	else
		rtac_auto_void(ca);
	rtac_auto_enter(ca, RECOVERS);
}

/* A round trip in which a segment was missing says nothing, and ends a try. */
static __always_inline void rtac_auto_skip(struct rtac_auto *ca)
{
	ca->window.round.had_hole = 0;
	if (ca->phase == TRIES) {
		ca->window.shown = ca->shown_usual;
		rtac_auto_enter(ca, RECOVERS);
	}
}

static __always_inline void rtac_auto_step(struct rtac_auto *ca, const struct rtac_auto_round *round, __u32 mss)
{
	ca->rounds++;
	if (ca->window.round.had_hole || !round->rate) {
		rtac_auto_skip(ca);
		return;
	}
	rtac_auto_learn_base(ca, round);
	if (ca->phase == TRIES)
		rtac_auto_try(ca, round, mss);
	else if (ca->phase == RECOVERS && ca->rounds >= RECOVER_ROUNDS)
		rtac_auto_enter(ca, FOLLOWS);
	else if (ca->phase == FOLLOWS && receiver_window_counts(&ca->window, mss, alpha, true))
		rtac_auto_follow(ca, round, mss);
}

static __always_inline __u32 rtac_auto_window(struct window_flow *flow, const struct window_ack *ack)
{
	struct rtac_auto *ca = window_own(flow, struct rtac_auto);
	__u64 began_us = ca->window.round.began_us;

	if (ack->rtt_us) {
		receiver_round_rtt(&ca->window.round, ack->rtt_us, rtt_weight);
		ca->rtt_sum += ack->rtt_us;
		ca->rtt_count++;
	}
	if (receiver_round_ends(&ca->window.round, ack)) {
		struct rtac_auto_round round = rtac_auto_round(ca, ack->now_us - began_us);

		rtac_auto_step(ca, &round, flow->mss);
	} else if (began_us && ca->window.round.began_us != began_us) {
		ca->rtt_sum = 0;
		ca->rtt_count = 0;
	}
	return receiver_window_shown(&ca->window, ack);
}

WINDOW_CONTROL(rtac_auto_window)

char _license[] SEC("license") = "Dual BSD/GPL";
