/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * DTPA's waiting period. A node that waits TXP before each window of its own sends c segments a second, as long as Reno
 * would send more. The header uses integers and nothing of a kernel, so a sensor's TCP can include it.
 *
 *    TXP = max(0, a / (c sqrt(p)) - RTT), a = sqrt(3/2)     (4.6), by the mean window that Reno has with the loss p
 *    TXP = max(0, window / c - RTT)                         by the window that there is
 *
 * c is in thousandths of a segment a second, and at least 1.
 */
#ifndef UNBLOAT_DTPA_PERIOD_H
#define UNBLOAT_DTPA_PERIOD_H

#include "integers.h"
#include "roots.h"

#define DTPA_A 1224745ULL	    /* sqrt(3/2), millionths: in us if c is in segments a second */
#define DTPA_MOST_SENT_A_LOSS 10000 /* p counts as 1/10000 at least ... */
#define DTPA_LONGEST_US 30000000    /* ... and the period is 30 s at most */
#define DTPA_RATIO_BITS 16	    /* 1/p is in 1/65536, so its root is in 1/256 */

/* The part of a turn, TXP + RTT, that is left for the wait. */
static __always_inline __u32 dtpa_rest_us(__u64 turn_us, __u32 rtt_us, __u32 longest_us)
{
	if (turn_us <= rtt_us)
		return 0;
	return turn_us - rtt_us < longest_us ? turn_us - rtt_us : longest_us;
}

/* The period with a window of `segments`, us. */
static __always_inline __u32 dtpa_window_period_us(__u32 segments, __u32 rtt_us, __u32 c)
{
	return dtpa_rest_us((__u64)segments * 1000000000 / c, rtt_us, ~0U);
}

/*
 * The period of a node, us, by its numbers of sent segments, retransmissions included, and of losses found by timeouts
 * and by duplicates. Before the first loss p is not known, and the period is 0.
 */
static __always_inline __u32 dtpa_period_us(__u32 sent, __u32 losses, __u32 rtt_us, __u32 c)
{
	__u64 ratio;

	if (!losses || !sent)
		return 0;
	ratio = ((__u64)sent << DTPA_RATIO_BITS) / losses;
	if (ratio > (__u64)DTPA_MOST_SENT_A_LOSS << DTPA_RATIO_BITS)
		ratio = (__u64)DTPA_MOST_SENT_A_LOSS << DTPA_RATIO_BITS;
	/* There are never more losses than segments, but a counter that has wrapped may show more. */
	return dtpa_rest_us((DTPA_A * 1000 * square_root(ratio | 1) / c) >> (DTPA_RATIO_BITS / 2), rtt_us,
			    DTPA_LONGEST_US);
}

#endif
