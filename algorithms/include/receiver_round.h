/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Measurements of a receiver in each round trip: its length, and the bytes that arrived in it. */
#ifndef UNBLOAT_RECEIVER_ROUND_H
#define UNBLOAT_RECEIVER_ROUND_H

#include "window_flow.h"

/*
 * The window before the end of the first round trip, bytes: half of tcp_rmem[1], as Linux offers it then. A larger one
 * could not be taken back.
 */
#define FIRST_WINDOW 65535

/* All zero before the first RTT. */
struct receiver_round {
	__u64 began_us;
	__u32 rtt_us; /* smoothed */
	__u32 rtt_min_us;
	__u32 copied;	     /* bytes in this round up to now ... */
	__u32 copied_before; /* ... and in the one that ended last */
	__u32 had_hole;	     /* since somebody looked */
};

/* The window before the end of the first round trip; the stack's own if the receiver cannot measure round trips. */
static __always_inline __u32 receiver_first_window(const struct window_ack *ack)
{
	return ack->no_rtts ? 0 : FIRST_WINDOW;
}

/* Takes an RTT, which has the weight `weight` / 1024 in the smoothed one. */
static __always_inline void receiver_round_rtt(struct receiver_round *round, __u32 rtt_us, __u32 weight)
{
	__u64 old = round->rtt_us ?: rtt_us;

	round->rtt_us = ((1024 - weight) * old + (__u64)weight * rtt_us) / 1024;
	round->rtt_min_us = min(round->rtt_min_us ?: rtt_us, rtt_us);
}

static __always_inline void receiver_round_begin(struct receiver_round *round, const struct window_ack *ack)
{
	round->copied = 0;
	round->began_us = ack->now_us;
}

/*
 * Counts the bytes read from the first RTT on. Returns true when a round trip has ended, whose bytes are in
 * `copied_before`. A round trip that took two RTTs had a pause in it. It shows the rate of the sender's application,
 * not the window, so it is left out with its holes.
 */
static __always_inline bool receiver_round_ends(struct receiver_round *round, const struct window_ack *ack)
{
	__u64 lasted_us = ack->now_us - round->began_us;

	if (!round->rtt_us)
		return false;
	if (!round->began_us || lasted_us > (__u64)2 * round->rtt_us) {
		round->had_hole = ack->has_hole;
		receiver_round_begin(round, ack);
		return false;
	}
	round->copied += ack->copied;
	round->had_hole |= ack->has_hole;
	if (lasted_us < round->rtt_us)
		return false;
	round->copied_before = round->copied;
	receiver_round_begin(round, ack);
	return true;
}

#endif
