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

#include "window_flow.h"

/* A file has one function that answers, with the largest window to show in bytes, or 0 for what the stack offers. */
#define WINDOW_CONTROL(function)                                                                                \
	__attribute__((visibility("default"))) __noinline __u32 unbloat_window(struct window_flow *flow,        \
									       const struct window_ack *ack)    \
	{                                                                                                       \
		/* The kernel's verifier looks at this function by itself, and knows nothing of its callers. */ \
		return flow && ack ? function(flow, ack) : 0;                                                   \
	}

__u32 unbloat_window(struct window_flow *flow, const struct window_ack *ack);

#ifdef __bpf__
#include "window_program.h"
#endif

#endif
