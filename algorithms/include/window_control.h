/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a receiver's window controller is told, and what it answers. The simulated receiver asks it before each
 * acknowledgement; in the kernel a program at the egress of the receiver's device can, which sees the same of a socket
 * or of the packets that pass. So nothing in a controller's file is about sockets.
 *
 * The window that an acknowledgement shows is the smaller of the stack's and the controller's, but what was offered is
 * never taken back (RFC 9293, section 3.8.6): whoever asks sees to that, and to the window scale.
 */
#ifndef UNBLOAT_WINDOW_CONTROL_H
#define UNBLOAT_WINDOW_CONTROL_H

#include "control.h"

#define WINDOW_STATE_WORDS 16

/* A connection. */
struct window_flow {
	__u32 mss;		       /* payload of a full segment, bytes */
	__u64 own[WINDOW_STATE_WORDS]; /* the controller's, all zero at first */
};

/* An acknowledgement that is about to leave. */
struct window_ack {
	__u64 now_us;
	__u32 copied;	/* bytes that the application has read since the one before */
	__u32 rtt_us;	/* the latest RTT that was measured since then; 0 without one */
	__u32 has_hole; /* a segment is missing */
};

/* The controller's own part of a connection, as a pointer to one of its types. */
#define window_own(flow, type)                                                    \
	({                                                                        \
		_Static_assert(sizeof(type) <= sizeof((flow)->own), "too large"); \
		(type *)(flow)->own;                                              \
	})

/* A file has one function that answers, with the largest window to show in bytes, or 0 for whatever the stack offers. */
#define WINDOW_CONTROL(function)                                                                  \
	__attribute__((visibility("default"))) __u32 unbloat_window(struct window_flow *flow,     \
								    const struct window_ack *ack) \
	{                                                                                         \
		return function(flow, ack);                                                       \
	}

#endif
