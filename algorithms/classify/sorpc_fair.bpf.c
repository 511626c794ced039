/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sorpc_fair: sorpc with a bound on the memory that an upload takes in the host, so that a later one gets its share at
 * once.
 *
 * Im's dissertation (see sorpc.bpf.c) describes a problem in section 3.4.4 and leaves it open. Of two uploads, the
 * second starts 10 s later and gets far less than the first for another 10 s. Its send buffer is half full within a few
 * hundred milliseconds. From then on it waits in the second queue behind all packets of the first. In a FIFO each flow
 * gets its share of the queue. The first upload has a thousand packets in it, and the second a window that has just
 * begun to grow.
 *
 * Here a connection whose data go last may have max_waiting of memory in the host. The classifier drops further packets
 * before the queue. Nothing is lost: the kernel reports the drop to TCP (NET_XMIT_DROP), which keeps the segment and
 * enters CWR. So all uploads have equal parts of the queue. A new upload reaches its part in a few round trips, because
 * the queue is short. The classifier never drops packets of the first queue, so interactive delay stays as with sorpc.
 *
 * After CWR a window has beta of its size, 0.7 with CUBIC. The link stays busy if that still fills the path, that is if
 * (1 - beta) / beta of the bandwidth-delay product may wait. The default, 256 kB, is some 109 packets with their
 * overhead. That is enough for 50 ms at 60 Mbit/s, and makes 52 ms of queue at 25 Mbit/s. Where TCP small queues limit
 * a flow, less waits anyway, and nothing is dropped.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include "send_buffer_ratio.h"

PARAM(u32, max_waiting, 256000, 5000, 1000000000, "bytes", "memory of a connection's packets in the host, at most");

static __always_inline __u32 sorpc_fair_band(struct classify_flow *flow, const struct classify_packet *packet)
{
	__u32 band = sorpc_band(flow, packet);

	return band == LAST && packet->in_host >= max_waiting ? band | CLASSIFY_DROP : band;
}

CLASSIFIER(sorpc_fair_band)

char _license[] SEC("license") = "Dual BSD/GPL";
