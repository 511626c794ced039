/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sorpc_fair: sorpc with a bound on what an upload keeps in the host, so that a later one gets its share at once.
 *
 * Im's dissertation (see sorpc.bpf.c) finds a problem in section 3.4.4 and leaves it open: of two uploads the second,
 * 10 s later, gets far less than the first for another 10 s. Its send buffer is half full within a few hundred
 * milliseconds; from then on it waits in the second queue behind all packets of the first, and in a FIFO each flow gets
 * its share of the queue. The first has a thousand packets in it, and the second a window that has just begun to grow.
 *
 * Here a connection whose data go last may have max_waiting of memory in the host. A packet beyond that is dropped
 * before the queue, which is no loss: the kernel tells TCP (NET_XMIT_DROP), which keeps the segment and enters CWR. So
 * all uploads have equal parts of the queue, and a new one reaches its part in a few round trips, because the queue is
 * short. Packets of the first queue are never dropped, and interactive delay stays as it is with sorpc.
 *
 * After CWR a window has beta of its size, 0.7 with CUBIC. The link stays busy if that still fills the path, that is if
 * (1 - beta) / beta of the bandwidth-delay product may wait. The default, 256 kB, is some 109 packets with their
 * overhead, enough for 50 ms at 60 Mbit/s; it is 52 ms of queue at 25 Mbit/s. Where TCP small queues hold, less waits
 * anyway, and nothing is dropped.
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
