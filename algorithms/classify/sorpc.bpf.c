/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sorpc: sends what fills its send buffer behind everything else.
 *
 * From Im, "TCP Performance Enhancement in Wireless Networks", dissertation, Seoul National University, 2015, chapter 3
 * (SOR-based packet classification). Who uploads a file writes faster than the path carries, and the send buffer fills;
 * who sends a message does not. So the ratio
 *
 *    SOR = Q / sndbuf                                         (3.1)
 *
 * of what is in the send buffer to its size tells the two apart, without a look into packets: from sor_threshold on a
 * connection's data wait in the second queue, which is served when the first is empty. UDP, acknowledgements without
 * data and all that is not TCP go first.
 *
 * What the text leaves open: Q is "the amount of data piled up in the sendbuffer", here all that the buffer holds,
 * unsent or unacknowledged, as the kernel counts it; unsent_only takes the unsent part. A connection that falls below
 * the threshold would overtake its own packets, which looks like loss to TCP; with no_overtake it stays in the second
 * queue until none of its packets is left in the host. Data whose socket is elsewhere, such as what a router forwards,
 * go last.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
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

CLASSIFIER(sorpc_band)

char _license[] SEC("license") = "Dual BSD/GPL";
