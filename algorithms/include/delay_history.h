/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Delays as RFC 6817 filters them: the base is the least of ten minutes, the current delay the least of the last four.
 * Delays are in us, and only their differences count, modulo 2^32.
 */
#ifndef UNBLOAT_DELAY_HISTORY_H
#define UNBLOAT_DELAY_HISTORY_H

#include "one_way_delay.h"

#define BASE_HISTORY 10
#define CURRENT_FILTER 4
#define MINUTE_US (60 * USEC_PER_SEC)

/* All zero before the first delay. */
struct delay_history {
	__u32 base[BASE_HISTORY];      /* the least of each minute, the latest last */
	__u32 current[CURRENT_FILTER]; /* the latest last */
	__u32 minute;		       /* of the latest */
	__u8 has_base;
	__u8 has_current;
};

/*
 * Drops the oldest delay and moves the others, because the verifier allows no computed index into a list of the socket.
 */
static __always_inline void delays_append(__u32 *delays, int count, __u32 delay)
{
	for (int i = 1; i < count; i++)
		delays[i - 1] = delays[i];
	delays[count - 1] = delay;
}

static __always_inline void delays_fill(__u32 *delays, int count, __u32 delay)
{
	for (int i = 0; i < count; i++)
		delays[i] = delay;
}

static __always_inline __u32 delays_least(const __u32 *delays, int count)
{
	__u32 least = delays[0];

	for (int i = 1; i < count; i++)
		least = before(delays[i], least) ? delays[i] : least;
	return least;
}

static __always_inline __u32 delay_history_base(const struct delay_history *history)
{
	return delays_least(history->base, BASE_HISTORY);
}

/* The queueing delay that section 2.4.2 of the RFC calls current less base, us. */
static __always_inline __u32 delay_history_queueing(const struct delay_history *history)
{
	return queueing_us(delays_least(history->current, CURRENT_FILTER), delay_history_base(history));
}

/*
 * Fills an empty list with its first delay. That changes no minimum while this delay is in the list, and it leaves
 * last.
 */
static __always_inline void delay_history_sample(struct delay_history *history, __u32 delay, __u64 now_us)
{
	__u32 minute = now_us / MINUTE_US;
	__u32 *latest = &history->base[BASE_HISTORY - 1];

	if (!history->has_base)
		delays_fill(history->base, BASE_HISTORY, delay);
	else if (minute != history->minute)
		delays_append(history->base, BASE_HISTORY, delay);
	else if (before(delay, *latest))
		*latest = delay;
	if (history->has_current)
		delays_append(history->current, CURRENT_FILTER, delay);
	else
		delays_fill(history->current, CURRENT_FILTER, delay);
	history->minute = minute;
	history->has_base = history->has_current = 1;
}

#endif
