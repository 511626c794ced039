/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Detector of a token-bucket policer on the path, and of the rate that it passes. Such a device lets a burst through
 * and then drops all that exceeds its rate. Two intervals in a row with much loss and one rate show it. After some
 * rounds the detector drops the verdict and tries the path anew, as Linux's BBR does (bbr_lt_bw_sampling).
 */
#ifndef UNBLOAT_LONG_TERM_BW_H
#define UNBLOAT_LONG_TERM_BW_H

#include "control.h"
#include "delivery_rate.h"

#define LT_BW_MIN_ROUNDS 4U  /* of the shortest interval; the longest has four times as many */
#define LT_BW_LOSS 50U	     /* of 256 delivered: much */
#define LT_BW_SAME 500U	     /* bytes a second: rates this close count as one, as do those an eighth apart */
#define LT_BW_MAX_ROUNDS 48U /* rounds for which a verdict holds */

struct lt_bw {
	__u32 bw;	 /* rate of the last interval with much loss, or of the policer */
	__u32 start;	 /* us, of this interval ... */
	__u32 delivered; /* ... and the socket's counts then */
	__u32 lost;
	__u8 rounds;   /* of this interval, or since the verdict */
	__u8 sampling; /* an interval runs */
	__u8 in_use;
};

static __always_inline void lt_bw_start_interval(const struct tcp_sock *tp, struct lt_bw *lt)
{
	lt->start = tp->delivered_mstamp;
	lt->delivered = tp->delivered;
	lt->lost = tp->lost;
	lt->rounds = 0;
}

static __always_inline void lt_bw_reset(const struct tcp_sock *tp, struct lt_bw *lt)
{
	lt->bw = 0;
	lt->in_use = 0;
	lt->sampling = 0;
	lt_bw_start_interval(tp, lt);
}

static __always_inline bool lt_bw_same(const struct tcp_sock *tp, __u32 rate, __u32 before)
{
	__u32 apart = rate > before ? rate - before : before - rate;

	return 8 * (__u64)apart <= before || ((__u64)apart * tp->mss_cache * USEC_PER_SEC) >> RATE_BITS <= LT_BW_SAME;
}

/* An interval with much loss has passed this rate. */
static __always_inline void lt_bw_judge(const struct tcp_sock *tp, struct lt_bw *lt, __u32 rate)
{
	if (lt->bw && lt_bw_same(tp, rate, lt->bw)) {
		lt->bw = ((__u64)rate + lt->bw) / 2;
		lt->in_use = 1;
		lt->rounds = 0;
		return;
	}
	lt->bw = rate;
	lt_bw_start_interval(tp, lt);
}

static __always_inline void lt_bw_end_interval(const struct tcp_sock *tp, struct lt_bw *lt)
{
	__u32 lost = tp->lost - lt->lost;
	__u32 delivered = tp->delivered - lt->delivered;
	__u32 us = (__u32)tp->delivered_mstamp - lt->start;

	if (delivered && us >= USEC_PER_MSEC && 256 * (__u64)lost >= (__u64)LT_BW_LOSS * delivered)
		lt_bw_judge(tp, lt, rate_of(delivered, us));
}

/*
 * Takes a sample until a verdict is reached. An interval begins and ends with a loss, so that the policer's bucket is
 * empty at both ends.
 */
static __always_inline void lt_bw_sample(const struct tcp_sock *tp, struct lt_bw *lt, bool round_start, bool lost,
					 bool app_limited)
{
	if (!lt->sampling) {
		if (!lost)
			return;
		lt_bw_start_interval(tp, lt);
		lt->sampling = 1;
	}
	lt->rounds += round_start;
	if (app_limited || lt->rounds > 4 * LT_BW_MIN_ROUNDS)
		lt_bw_reset(tp, lt);
	else if (lost && lt->rounds >= LT_BW_MIN_ROUNDS)
		lt_bw_end_interval(tp, lt);
}

#endif
