/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * DRWA: announces a few times what arrives in a round trip, and less the more the RTT exceeds the least.
 *
 * From Jiang, Wang, Lee, Rhee, "Tackling Bufferbloat in 3G/4G Networks", IMC 2012 (dynamic receive window adjustment):
 * once a round trip
 *
 *    window = lambda RTT_min / RTT w,  lambda = 3
 *
 * where w is the average of the data that arrives in a round trip. The RTT settles at lambda RTT_min. Beside flows that
 * fill the buffer the RTT stays above that, and DRWA starves, as Vegas does.
 *
 * Departures: the window is also bounded by a number of segments, where the paper has tcp_rmem_max.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include "receiver_window.h"
#include "window_control.h"

PARAM(u32, lambda, 3, 1, 100, "", "RTT that it rests at, in least RTTs");
PARAM(u32, alpha, 896, 0, 1023, "/1024", "weight of the old value in what comes in a round trip");
PARAM(u32, rtt_weight, 128, 1, 1024, "/1024", "weight of a new RTT in the smoothed one");
PARAM(u32, most, 1810, 2, 100000, "packets", "largest window");

/* 1/256 packets. */
static __always_inline __u64 drwa_target(__u32 rtt_us, __u32 rtt_min_us, __u32 estimate)
{
	return (__u64)lambda * estimate * rtt_min_us / rtt_us;
}

static __always_inline __u32 drwa_window(struct window_flow *flow, const struct window_ack *ack)
{
	struct receiver_window *ca = window_own(flow, struct receiver_window);
	struct receiver_round *round = &ca->round;

	if (ack->rtt_us)
		receiver_round_rtt(round, ack->rtt_us, rtt_weight);
	if (receiver_round_ends(round, ack) && receiver_window_counts(ca, flow->mss, alpha, false))
		receiver_window_show(ca, drwa_target(round->rtt_us, round->rtt_min_us, ca->estimate), flow->mss, most);
	return receiver_window_shown(ca, ack);
}

WINDOW_CONTROL(drwa_window)

char _license[] SEC("license") = "Dual BSD/GPL";
