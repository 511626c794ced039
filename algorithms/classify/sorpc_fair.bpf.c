/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sorpc_fair: sorpc, and no upload keeps more than a bound in the host, so that a later one gets its share at once.
 *
 * Im's dissertation (see sorpc.bpf.c) leaves open what it finds in section 3.4.4: of two uploads the second, 10 s later,
 * gets far less than the first for as long again. Its send buffer is half full within a few hundred milliseconds; from
 * then on it waits in the second queue behind all that the first has there, and in a FIFO each gets what its part of the
 * queue is. The first has a thousand packets in it, and the second a window that has just begun to grow.
 *
 * Here a connection whose data go last may have max_waiting of memory in the host. More is dropped before the queue,
 * which is no loss: the kernel tells TCP (NET_XMIT_DROP), which keeps the segment and enters CWR. So each upload has
 * as large a part of the queue as every other, and a new one reaches that in a few round trips, for the queue is short.
 * What goes first is never dropped, and interactive delay stays what it is with sorpc.
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

	return band == LAST && packet->in_host >= max_waiting ? CLASSIFY_DROP : band;
}

CLASSIFIER(sorpc_fair_band)

char _license[] SEC("license") = "Dual BSD/GPL";
