/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The receiver's estimate of the sender's window: the average of the data that arrives in a round trip. */
#ifndef UNBLOAT_RECEIVER_WINDOW_H
#define UNBLOAT_RECEIVER_WINDOW_H

#include "receiver_round.h"

#define Q8 256

struct receiver_window {
	struct receiver_round round;
	__u32 estimate; /* 1/256 packets; 0 before the first round trip */
	__u32 shown;	/* bytes; 0 before it */
};

/*
 * Takes a round trip, whose value has the weight `1024 - alpha` / 1024 in the estimate. Returns false if it says
 * nothing: no data came, or with `skip_holes` a loss was being repaired.
 */
static __always_inline bool receiver_window_counts(struct receiver_window *window, __u32 mss, __u32 alpha,
						   bool skip_holes)
{
	struct receiver_round *round = &window->round;
	bool had_hole = round->had_hole;
	__u64 sample = (__u64)round->copied_before * Q8 / mss;

	round->had_hole = 0;
	if (!sample || (had_hole && skip_holes))
		return false;
	window->estimate =
		window->estimate ? (alpha * (__u64)window->estimate + (1024 - alpha) * sample) / 1024 : sample;
	return true;
}

/* Sets the window shown, from 1/256 packets, to at least two packets and at most `most`. */
static __always_inline void receiver_window_show(struct receiver_window *window, __u64 packets, __u32 mss, __u32 most)
{
	__u64 within = min(max(packets, (__u64)2 * Q8), (__u64)most * Q8);

	window->shown = window_of(within * mss / Q8);
}

static __always_inline __u32 receiver_window_shown(const struct receiver_window *window, const struct window_ack *ack)
{
	return window->shown ?: receiver_first_window(ack);
}

#endif
