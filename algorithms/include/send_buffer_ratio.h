/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rule that sends connections that fill their send buffers last. sorpc.bpf.c and sorpc_fair.bpf.c share it; sorpc.bpf.c
 * names its source.
 */
#ifndef UNBLOAT_SEND_BUFFER_RATIO_H
#define UNBLOAT_SEND_BUFFER_RATIO_H

#include "classify.h"

#define FIRST 0
#define LAST 1

PARAM(u32, sor_threshold, 512, 0, 1024, "/1024", "share of the send buffer from which on data go last");
PARAM(bool, unsent_only, 0, 0, 1, "", "count only what was not sent yet");
PARAM(bool, no_overtake, 1, 0, 1, "", "never let a connection overtake its own packets");

struct sorpc {
	__u64 went_last; /* the latest data did */
};

static __always_inline bool sorpc_fills_its_buffer(const struct classify_packet *packet)
{
	__u64 queued = packet->wmem_queued;

	if (unsent_only && packet->held)
		queued = queued * packet->unsent / packet->held;
	return queued * 1024 >= (__u64)packet->sndbuf * sor_threshold;
}

static __always_inline __u32 sorpc_band(struct classify_flow *flow, const struct classify_packet *packet)
{
	struct sorpc *own = classify_own(flow, struct sorpc);

	if (packet->kind != PACKET_TCP_DATA)
		return FIRST;
	if (!packet->sndbuf)
		return LAST;
	if (!(no_overtake && own->went_last && packet->in_host))
		own->went_last = sorpc_fills_its_buffer(packet);
	return own->went_last ? LAST : FIRST;
}

#endif
