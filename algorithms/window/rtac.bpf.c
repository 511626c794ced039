/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RTAC: announces the window that a Reno flow would have behind a queue that marks in proportion to its length.
 *
 * From Im, "TCP Performance Enhancement in Wireless Networks", dissertation, Seoul National University, 2015, chapter 2
 * (receiver-side TCP adaptive queue control). Once a round trip the receiver estimates how much of its flow is in the
 * queue,
 *
 *    Q = w (1 - RTT_m / RTT)                                  (2.10)
 *
 * from w, the data that arrives in a round trip, and RTT_m, the least RTT. It takes Q as the length of a virtual queue
 * that loses each packet with probability q = K (Q + 1) (2.6), and announces the window at which a Reno flow settles,
 *
 *    window = sqrt(3/2) RTT / RTT_m / sqrt(q)                 (2.8)
 *
 * in packets. Beside flows that fill the buffer RTT / RTT_m grows with their queue. So RTAC keeps its share, where DRWA
 * starves. K sets the length of the queue. With K = 3/2 / ((theta - 1) BDP^3) (2.11) the RTT settles a little below
 * theta RTT_m. RTAC does not measure the path's bandwidth-delay product: it is a parameter.
 *
 * Departures from the text:
 *  - Equation 2.14 has its 1 outside the product with K, which cannot be what ran. RTAC follows 2.6, 2.8, 2.10 and
 *    Algorithm 1.
 *  - RTAC leaves out a round trip in which a segment was missing (skip_on_hole), because the data that arrives then is
 *    not the sender's window.
 *  - On radio links the least RTT is rare. The dissertation compensates for that by adding Delta, here rtt_min_add: 18
 *    ms on LTE, 8 ms on Wi-Fi.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include "rtac_window.h"
#include "window_control.h"

PARAM(u32, bdp, 236, 1, 20000, "packets", "what the path holds without a queue");
PARAM(u32, theta, 138, 101, 1000, "%", "RTT to rest at, of the least one");
PARAM(u32, inverse_k, 0, 0, 4294967295, "", "1/K in packets; 0 = what bdp and theta make it");
PARAM(u32, alpha, 128, 0, 1023, "/1024", "weight of the old value in what comes in a round trip");
PARAM(u32, rtt_weight, 128, 1, 1024, "/1024", "weight of a new RTT in the smoothed one");
PARAM(u32, rtt_min_add, 0, 0, 1000000, "us", "Delta: what the least RTT is taken to be above the least measured");
PARAM(bool, skip_on_hole, 1, 0, 1, "", "leave out round trips in which a segment was missing");
PARAM(u32, most, 1810, 2, 100000, "packets", "largest window");

NEEDS_PARAM("bdp,inverse_k", "set bdp to the path's bandwidth-delay product in packets, or use rtac_auto, which "
			     "measures it");

static __always_inline __u32 rtac_window(struct window_flow *flow, const struct window_ack *ack)
{
	struct receiver_window *ca = window_own(flow, struct receiver_window);
	struct receiver_round *round = &ca->round;

	if (ack->rtt_us)
		receiver_round_rtt(round, ack->rtt_us, rtt_weight);
	if (receiver_round_ends(round, ack) && receiver_window_counts(ca, flow->mss, alpha, skip_on_hole)) {
		__u32 base_us = round->rtt_min_us + rtt_min_add;
		__u64 k = inverse_k ?: rtac_inverse_k(bdp, theta);
		__u32 rtt_us = max(round->rtt_us, base_us);

		receiver_window_show(ca, rtac_target(rtt_us, base_us, ca->estimate, k), flow->mss, most);
	}
	return receiver_window_shown(ca, ack);
}

WINDOW_CONTROL(rtac_window)

char _license[] SEC("license") = "Dual BSD/GPL";
