/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Values that a window controller sees: a connection, and each acknowledgement of it. */
#ifndef UNBLOAT_WINDOW_FLOW_H
#define UNBLOAT_WINDOW_FLOW_H

#include "control.h"

#define WINDOW_STATE_WORDS 16
#define MOST_WINDOW (1 << 30) /* RFC 7323, section 2.3 */

/* A connection. */
struct window_flow {
	__u32 mss;		       /* payload of a full segment, bytes */
	__u64 own[WINDOW_STATE_WORDS]; /* the controller's own state, all zero at first */
};

/* An acknowledgement that is about to leave. */
struct window_ack {
	__u64 now_us;
	__u32 copied;	/* bytes that the application has read since the acknowledgement before */
	__u32 rtt_us;	/* the latest RTT measured since then; 0 without one */
	__u32 has_hole; /* a segment is missing */
	__u32 no_rtts;	/* no RTTs, because the connection has no timestamps */
};

/* A window of `bytes`, at most the largest window. */
static __always_inline __u32 window_of(__u64 bytes)
{
	return min(bytes, (__u64)MOST_WINDOW);
}

/* The controller's own part of a connection, as a pointer to one of its types. */
#define window_own(flow, type)                                                    \
	({                                                                        \
		_Static_assert(sizeof(type) <= sizeof((flow)->own), "too large"); \
		(type *)(flow)->own;                                              \
	})

#endif
