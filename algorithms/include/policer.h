/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Is there a token-bucket policer on the path, and what rate does it pass? Such a device lets a burst through and then
 * drops what is above its rate. Two intervals in a row with much loss and one rate betray it; after some rounds the
 * verdict is dropped and the path tried anew. As Linux's BBR has it (bbr_lt_bw_sampling).
 */
#ifndef UNBLOAT_POLICER_H
#define UNBLOAT_POLICER_H

#include "control.h"
#include "delivery_rate.h"

#define POLICER_ROUNDS 4U /* of the shortest interval; the longest has four times as many */
#define POLICER_LOSS 50U  /* of 256 delivered: much */
#define POLICER_SAME 500U /* bytes a second: rates so close are one, as are those an eighth apart */
#define POLICER_TRUST 48U /* rounds that a verdict holds */

struct policer {
	__u32 rate;	 /* of the last interval with much loss, or what the policer passes */
	__u32 start;	 /* us, of this interval ... */
	__u32 delivered; /* ... and the socket's counts then */
	__u32 lost;
	__u8 rounds;   /* of this interval, or since the verdict */
	__u8 sampling; /* an interval runs */
	__u8 found;
};

static __always_inline void policer_start_interval(const struct tcp_sock *tp, struct policer *policer)
{
	policer->start = tp->delivered_mstamp;
	policer->delivered = tp->delivered;
	policer->lost = tp->lost;
	policer->rounds = 0;
}

static __always_inline void policer_forget(const struct tcp_sock *tp, struct policer *policer)
{
	policer->rate = 0;
	policer->found = 0;
	policer->sampling = 0;
	policer_start_interval(tp, policer);
}

static __always_inline bool policer_same(const struct tcp_sock *tp, __u32 rate, __u32 before)
{
	__u32 apart = rate > before ? rate - before : before - rate;

	return 8 * (__u64)apart <= before || ((__u64)apart * tp->mss_cache * USEC_PER_SEC) >> RATE_BITS <= POLICER_SAME;
}

/* An interval with much loss has passed this rate. */
static __always_inline void policer_judge(const struct tcp_sock *tp, struct policer *policer, __u32 rate)
{
	if (policer->rate && policer_same(tp, rate, policer->rate)) {
		policer->rate = ((__u64)rate + policer->rate) / 2;
		policer->found = 1;
		policer->rounds = 0;
		return;
	}
	policer->rate = rate;
	policer_start_interval(tp, policer);
}

static __always_inline void policer_end_interval(const struct tcp_sock *tp, struct policer *policer)
{
	__u32 lost = tp->lost - policer->lost;
	__u32 delivered = tp->delivered - policer->delivered;
	__u32 us = (__u32)tp->delivered_mstamp - policer->start;

	if (delivered && us >= USEC_PER_MSEC && 256 * (__u64)lost >= (__u64)POLICER_LOSS * delivered)
		policer_judge(tp, policer, rate_of(delivered, us));
}

/*
 * While there is no verdict. An interval begins and ends with a loss, so that the policer's bucket is empty at both
 * ends.
 */
static __always_inline void policer_watch(const struct tcp_sock *tp, struct policer *policer, bool round_start,
					  bool lost, bool app_limited)
{
	if (!policer->sampling) {
		if (!lost)
			return;
		policer_start_interval(tp, policer);
		policer->sampling = 1;
	}
	policer->rounds += round_start;
	if (app_limited || policer->rounds > 4 * POLICER_ROUNDS)
		policer_forget(tp, policer);
	else if (lost && policer->rounds >= POLICER_ROUNDS)
		policer_end_interval(tp, policer);
}

#endif
