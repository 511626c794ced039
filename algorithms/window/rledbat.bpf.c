/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rledbat: LEDBAT++ at the receiver, which announces the window that a sender with low priority would have.
 *
 * From Bagnulo, Garcia-Martinez, Montenegro, Balasubramanian, "rLEDBAT: Receiver-Driven Low Extra Delay Background
 * Transport for TCP", RFC 9840, 2025. The sender may be any TCP: the smaller of its window and the announced one
 * counts. congestion/ledbat_pp.bpf.c describes LEDBAT++ and its slowdowns. The receiver measures RTTs by its own
 * timestamps, and takes a hole in the data for a loss, which halves the window.
 *
 * A receiver may not take back a window that it has announced. So a smaller one takes effect only when as many bytes
 * have arrived as it is smaller, and the RTT shows the effect one RTT later. Until then the window does not change.
 * A decrease is therefore that of a whole round trip, at most once in each, where LEDBAT++ spreads it.
 *
 * Departures and choices, held against the module of the RFC's authors (github.com/net-research/rledbat_module):
 *  - a hole in the data counts as a loss. The RFC waits for the retransmission, which its echoed timestamp shows;
 *  - the current RTT is the least of the last four, in the module of the last ten;
 *  - the first window is `initial_window`, in the module one segment. But what the stack announced in the handshake
 *    stays announced;
 *  - a window of which the sender used less than a quarter in a round trip does not grow;
 *  - the least window is two segments;
 *  - the RTT of waits and slowdowns is the smoothed one;
 *  - without timestamps the receiver cannot measure RTTs, and announces the stack's own window. Without SACK it sees
 *    no losses.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include "ledbat_pp.h"
#include "window_control.h"

PARAM(u32, initial_window, 10, 2, 1000, "packets", "first window");

#define LEAST_PACKETS 2U

/* Times are in us, modulo 2^32; windows in bytes. */
struct rledbat {
	__u64 window;
	struct delay_history rtts;
	__u32 threshold; /* to which slow start grows; 0: none */
	__u32 srtt_us;
	__u32 drain;	/* bytes to arrive before a smaller window is in effect */
	__u32 hold_us;	/* until then the window does not change */
	__u32 began_us; /* of the slowdown */
	__u32 until_us; /* end of this phase, if it has one */
	__u32 round_us; /* when this round trip began */
	__u32 copied;	/* bytes in it */
	__u32 copied_before;
	__u32 rest; /* bytes that have not grown the window */
	__u8 phase;
	__u8 had_hole;
};

static __always_inline bool rledbat_is_past(__u32 now, __u32 time)
{
	return (__s32)(now - time) >= 0;
}

static __always_inline void rledbat_sample(struct rledbat *ca, __u32 rtt_us, __u64 now_us)
{
	ca->srtt_us = ca->srtt_us ? ca->srtt_us - ca->srtt_us / 8 + rtt_us / 8 : rtt_us;
	delay_history_sample(&ca->rtts, rtt_us, now_us);
}

static __always_inline void rledbat_count(struct rledbat *ca, __u32 copied, __u32 now)
{
	ca->copied += copied;
	if (now - ca->round_us < ca->srtt_us)
		return;
	ca->copied_before = ca->copied;
	ca->copied = 0;
	ca->round_us = now;
}

static __always_inline void rledbat_enter(struct rledbat *ca, __u8 phase, __u32 until_us)
{
	ca->phase = phase;
	ca->until_us = until_us;
	ca->rest = 0;
}

static __always_inline void rledbat_shrink(struct rledbat *ca, __u64 window, __u32 least)
{
	window = max(window, (__u64)least);
	if (window >= ca->window)
		return;
	ca->drain = ca->window - window;
	ca->window = window;
	ca->rest = 0;
}

/* Returns false while a smaller window is not in effect, or its effect not measured. */
static __always_inline bool rledbat_is_settled(struct rledbat *ca, __u32 copied, __u32 now)
{
	if (ca->drain) {
		ca->drain -= min(ca->drain, copied);
		ca->hold_us = now + ca->srtt_us;
		if (!ca->drain && ca->phase == LEDBAT_PP_FROZEN)
			ca->until_us = now + FREEZE_RTTS * ca->srtt_us;
		return false;
	}
	return rledbat_is_past(now, ca->hold_us);
}

static __always_inline void rledbat_lose(struct rledbat *ca, __u32 least, __u32 now)
{
	if (ca->phase == LEDBAT_PP_FROZEN || ca->phase == LEDBAT_PP_RAMP) {
		ca->threshold = max(ca->threshold / 2, least);
		return;
	}
	rledbat_shrink(ca, ca->window / 2, least);
	if (ca->phase == LEDBAT_PP_SLOW_START)
		rledbat_enter(ca, LEDBAT_PP_STEADY, now + FIRST_SLOWDOWN_RTTS * ca->srtt_us);
}

/* Grows by `part` bytes for each `whole` that arrived. */
static __always_inline void rledbat_grow(struct rledbat *ca, __u32 copied, __u32 part, __u64 whole)
{
	__u64 bytes = ca->rest + (__u64)copied * part;

	if (4 * (__u64)max(ca->copied, ca->copied_before) < ca->window)
		return;
	ca->window += bytes / whole;
	ca->rest = bytes % whole;
	ca->window = min(ca->window, (__u64)MOST_WINDOW);
}

static __always_inline void rledbat_steer(struct rledbat *ca, __u32 copied, __u32 mss)
{
	__s64 change = ledbat_pp_change(&ca->rtts, ca->window / mss);

	if (change < 0)
		rledbat_shrink(ca, ca->window - (__u64)-change * mss / target, LEAST_PACKETS * mss);
	else
		rledbat_grow(ca, copied, mss, ca->window * ledbat_pp_divisor(&ca->rtts));
}

static __always_inline void rledbat_slow_down(struct rledbat *ca, __u32 least, __u32 now)
{
	ca->threshold = ca->window;
	ca->began_us = now;
	rledbat_enter(ca, LEDBAT_PP_FROZEN, now + FREEZE_RTTS * ca->srtt_us);
	rledbat_shrink(ca, least, least);
}

static __always_inline void rledbat_act(struct rledbat *ca, __u32 copied, __u32 mss, __u32 now)
{
	bool over = rledbat_is_past(now, ca->until_us);

	if (ca->phase == LEDBAT_PP_SLOW_START && ledbat_pp_ends_slow_start(&ca->rtts))
		rledbat_enter(ca, LEDBAT_PP_STEADY, now + FIRST_SLOWDOWN_RTTS * ca->srtt_us);
	else if (ca->phase == LEDBAT_PP_STEADY && over && slowdowns)
		rledbat_slow_down(ca, LEAST_PACKETS * mss, now);
	else if (ca->phase == LEDBAT_PP_FROZEN && over)
		rledbat_enter(ca, LEDBAT_PP_RAMP, now);
	else if (ca->phase == LEDBAT_PP_RAMP && ca->window >= ca->threshold)
		rledbat_enter(ca, LEDBAT_PP_STEADY, now + ledbat_pp_interval_us(now - ca->began_us));
	if (ca->phase == LEDBAT_PP_STEADY)
		rledbat_steer(ca, copied, mss);
	else if (ca->phase != LEDBAT_PP_FROZEN)
		rledbat_grow(ca, copied, 1, ledbat_pp_divisor(&ca->rtts));
}

static __always_inline __u32 rledbat_window(struct window_flow *flow, const struct window_ack *ack)
{
	struct rledbat *ca = window_own(flow, struct rledbat);
	__u32 now = ack->now_us, mss = flow->mss;
	bool begins = ack->has_hole && !ca->had_hole;

	if (ack->no_rtts)
		return 0;
	if (!ca->window) {
		ca->window = ca->copied_before = initial_window * mss;
		ca->round_us = now;
	}
	if (ack->rtt_us)
		rledbat_sample(ca, ack->rtt_us, ack->now_us);
	ca->had_hole = ack->has_hole;
	if (ca->rtts.has_current) {
		rledbat_count(ca, ack->copied, now);
		if (rledbat_is_settled(ca, ack->copied, now)) {
			if (begins)
				rledbat_lose(ca, LEAST_PACKETS * mss, now);
			else
				rledbat_act(ca, ack->copied, mss, now);
		}
	}
	return window_of(ca->window);
}

WINDOW_CONTROL(rledbat_window)

char _license[] SEC("license") = "Dual BSD/GPL";
