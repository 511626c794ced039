/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A window that grows and shrinks by fractions of a segment: an ACK changes it by x / cwnd segments. The header sums up
 * the x, and a sum of a whole window is a segment. The rest stays for the next ACK.
 */
#ifndef UNBLOAT_FRACTIONAL_GROWTH_H
#define UNBLOAT_FRACTIONAL_GROWTH_H

#include "control.h"

#define LEAST_WINDOW 2U

/* `sum` has x in 1/scale segment. Its magnitude is divided, for BPF has no signed division before version 4. */
static __always_inline void change_window(struct tcp_sock *tp, __s64 *sum, __u64 scale)
{
	__u64 a_segment = tp->snd_cwnd * scale;
	__u64 size = *sum < 0 ? -*sum : *sum;
	__u64 cwnd = tp->snd_cwnd, steps = size / a_segment;

	if (*sum < 0) {
		*sum += steps * a_segment;
		cwnd = max(cwnd - min(cwnd, steps), (__u64)LEAST_WINDOW);
		/*
		 * Below its threshold a window grows by slow start, whatever the delay, so a window that yields takes the threshold
		 * down.
		 */
		tp->snd_ssthresh = min(tp->snd_ssthresh, (__u32)cwnd);
	} else {
		*sum -= steps * a_segment;
		cwnd = max(cwnd + steps, (__u64)LEAST_WINDOW);
	}
	tp->snd_cwnd = min(cwnd, (__u64)tp->snd_cwnd_clamp);
}

#endif
