/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RTTs as Vegas and its descendants sample them: the least ever, the least of a round trip, and the number of samples
 * of that round trip.
 */
#ifndef UNBLOAT_ROUND_RTT_H
#define UNBLOAT_ROUND_RTT_H

#include "control.h"

#define NO_RTT 0x7fffffff

struct round_rtt {
	__u32 base_us;	/* least ever */
	__u32 least_us; /* of this round */
	__u32 samples;	/* in this round */
};

static __always_inline void round_rtt_clear(struct round_rtt *rtt)
{
	rtt->least_us = NO_RTT;
	rtt->samples = 0;
}

static __always_inline void round_rtt_init(struct round_rtt *rtt)
{
	rtt->base_us = NO_RTT;
	round_rtt_clear(rtt);
}

static __always_inline void round_rtt_sample(struct round_rtt *rtt, const struct ack_sample *sample)
{
	if (sample->rtt_us < 0)
		return;
	__u32 rtt_us = sample->rtt_us + 1; /* never zero */

	rtt->base_us = min(rtt->base_us, rtt_us);
	rtt->least_us = min(rtt->least_us, rtt_us);
	rtt->samples++;
}

/* A round with no more than two samples says nothing. */
static __always_inline bool round_rtt_is_known(const struct round_rtt *rtt)
{
	return rtt->samples > 2;
}

#endif
