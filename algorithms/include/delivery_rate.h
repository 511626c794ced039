/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Delivery rates in fixed point: the largest of the recent ones, and how far aggregated acknowledgements run ahead of a
 * rate.
 */
#ifndef UNBLOAT_DELIVERY_RATE_H
#define UNBLOAT_DELIVERY_RATE_H

#include "bpf_tracing_net.h"

/* Rates are packets a microsecond, times two to this power: 32 bits hold 256 packets a microsecond. */
#define RATE_BITS 24

static __always_inline __u32 rate_of(__u32 packets, __u64 us)
{
	return ((__u64)packets << RATE_BITS) / us;
}

/* Packets in a time, rounded down. */
static __always_inline __u32 rate_times(__u32 rate, __u32 us)
{
	return ((__u64)rate * us) >> RATE_BITS;
}

/*
 * Kathleen Nichols' filter, as in Linux's lib/minmax.c: the largest of a window of any length, in three samples.
 * best[0] is the answer; best[1] is the largest after it, and best[2] the largest after that. They replace it when it
 * grows too old.
 */
struct windowed_sample {
	__u32 at;
	__u32 value;
};

struct windowed_max {
	struct windowed_sample best[3];
};

/* The newest sample becomes the second after a quarter of the window without one, or the third after half of it. */
static __always_inline void windowed_max_age(struct windowed_max *filter, struct windowed_sample new, __u32 window)
{
	struct windowed_sample *best = filter->best;
	__u32 age = new.at - best[0].at;

	if (age > window) {
		best[0] = best[1];
		best[1] = best[2];
		best[2] = new;
		if (new.at - best[0].at > window) {
			best[0] = best[1];
			best[1] = best[2];
		}
	} else if (best[1].at == best[0].at && age > window / 4) {
		best[2] = best[1] = new;
	} else if (best[2].at == best[1].at && age > window / 2) {
		best[2] = new;
	}
}

/* Takes in a value of the moment `at`, which counts in the unit of `window`. */
static __always_inline void windowed_max_update(struct windowed_max *filter, __u32 window, __u32 at, __u32 value)
{
	struct windowed_sample *best = filter->best;
	struct windowed_sample new = {.at = at, .value = value};

	if (value >= best[0].value || at - best[2].at > window) {
		best[0] = best[1] = best[2] = new;
		return;
	}
	if (value >= best[1].value)
		best[2] = best[1] = new;
	else if (value >= best[2].value)
		best[2] = new;
	windowed_max_age(filter, new, window);
}

/*
 * Packets acknowledged since an epoch began. Those beyond the rate were aggregated. Counts are in packets.
 */
struct ack_aggregation {
	__u32 epoch_start; /* us */
	__u32 acked;	   /* since then */
	__u16 largest;	   /* excess of this window ... */
	__u16 prior;	   /* ... and of the one before */
	__u8 rounds;	   /* of this window */
};

#define LONGEST_EPOCH (1U << 20) /* packets */

static __always_inline __u32 ack_aggregation_max(const struct ack_aggregation *aggregation)
{
	return max(aggregation->largest, aggregation->prior);
}

static __always_inline void ack_aggregation_start_epoch(struct ack_aggregation *aggregation, __u32 now_us)
{
	aggregation->epoch_start = now_us;
	aggregation->acked = 0;
}

/* `window` rounds have their own maximum, and the answer is the larger of the last two. */
static __always_inline void ack_aggregation_new_round(struct ack_aggregation *aggregation, __u32 window)
{
	if (++aggregation->rounds < window)
		return;
	aggregation->rounds = 0;
	aggregation->prior = aggregation->largest;
	aggregation->largest = 0;
}

/* The epoch ends when there is no excess. */
static __always_inline void ack_aggregation_update(struct ack_aggregation *aggregation, __u32 rate, __u32 now_us,
						   __u32 acked, __u32 cwnd)
{
	__u32 expected = rate_times(rate, now_us - aggregation->epoch_start);

	if (aggregation->acked <= expected || aggregation->acked + acked >= LONGEST_EPOCH) {
		ack_aggregation_start_epoch(aggregation, now_us);
		expected = 0;
	}
	aggregation->acked += acked;
	aggregation->largest = max(aggregation->largest, min(min(aggregation->acked - expected, cwnd), 65535U));
}

#endif
