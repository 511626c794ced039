/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Input and answer of a window controller. The simulated receiver calls it before each acknowledgement. In a kernel a
 * program at the egress of the receiver's device calls it, which sees the same values of a socket or of the packets
 * that pass. So a controller's file does not touch sockets.
 *
 * An acknowledgement announces the smaller of the stack's window and the controller's. The caller never takes back an
 * offered window (RFC 9293, section 3.8.6), and handles the window scale.
 */
#ifndef UNBLOAT_WINDOW_CONTROL_H
#define UNBLOAT_WINDOW_CONTROL_H

#include "window_flow.h"

/* Names the one function of a file that answers, with the largest window to show in bytes, or 0 for the stack's own. */
#define WINDOW_CONTROL(function)                                                                             \
	__attribute__((visibility("default"))) __noinline __u32 unbloat_window(struct window_flow *flow,     \
									       const struct window_ack *ack) \
	{                                                                                                    \
		/* The kernel's verifier checks this function by itself, without its callers. */             \
		return flow && ack ? function(flow, ack) : 0;                                                \
	}

__u32 unbloat_window(struct window_flow *flow, const struct window_ack *ack);

#ifdef __bpf__
#include "window_program.h"
#endif

#endif
