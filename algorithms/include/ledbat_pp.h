/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* LEDBAT++'s equations, phases and parameters, for its congestion control and for rLEDBAT's window controller. */
#ifndef UNBLOAT_LEDBAT_PP_H
#define UNBLOAT_LEDBAT_PP_H

#include "delay_history.h"

PARAM(u32, target, 60000, 1000, 1000000, "us", "queueing delay that it aims at");
PARAM(u32, most_divisor, 16, 1, 1024, "", "GAIN is at least 1 / most_divisor");
PARAM(bool, slowdowns, true, 0, 1, "", "empty the queue from time to time");
PARAM(u32, slowdown_interval, 9, 1, 1000, "", "time between slowdowns, in lengths of the last one");

#define FIRST_SLOWDOWN_RTTS 2U
#define FREEZE_RTTS 2U
#define LONGEST_INTERVAL (1ULL << 30) /* us: differences of two clocks of 32 bits have a sign */

enum ledbat_pp_phase {
	LEDBAT_PP_SLOW_START, /* the first */
	LEDBAT_PP_STEADY,
	LEDBAT_PP_FROZEN, /* a slowdown: two segments ... */
	LEDBAT_PP_RAMP,	  /* ... and then slow start */
};

/* 1 / GAIN. */
static __always_inline __u32 ledbat_pp_divisor(const struct delay_history *rtts)
{
	__u32 base_us = max(delay_history_base(rtts), 1U);

	return min((2 * target + base_us - 1) / base_us, most_divisor);
}

static __always_inline bool ledbat_pp_ends_slow_start(const struct delay_history *rtts)
{
	return delay_history_queueing(rtts) > target / 4 * 3;
}

/* Change of a window of `packets` in a round trip, 1 / target packets. */
static __always_inline __s64 ledbat_pp_change(const struct delay_history *rtts, __u32 packets)
{
	__s64 growth = target / ledbat_pp_divisor(rtts);
	__u32 queueing_us = delay_history_queueing(rtts);

	if (queueing_us <= target)
		return growth;
	__s64 decrease = (__s64)((__u64)packets * (queueing_us - target)) - growth;

	return -min(decrease, (__s64)((__u64)packets * target / 2));
}

/* Time until the next slowdown. */
static __always_inline __u32 ledbat_pp_interval_us(__u32 took_us)
{
	return min((__u64)slowdown_interval * took_us, LONGEST_INTERVAL);
}

#endif
