/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * autotuning: announces twice the most data that ever arrived in a round trip.
 *
 * From Im, "TCP Performance Enhancement in Wireless Networks", dissertation, Seoul National University, 2015, equation
 * 2.12, the part of dynamic right-sizing (Feng, Fisk, Gardner, Weigle, 2002) that matters for a long download:
 *
 *    window = min(2 w_max, tcp_rmem_max)
 *
 * The window never becomes smaller, so a sender may fill whatever buffer is on the path.
 *
 * Departures: tcp_rmem_max is a number of segments. A flow without `window_controller` has Linux's own
 * auto-tuning.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include "receiver_round.h"
#include "window_control.h"

PARAM(u32, rtt_weight, 128, 1, 1024, "/1024", "weight of a new RTT in the smoothed one");
PARAM(u32, most, 1810, 2, 100000, "packets", "largest window");

struct autotuning {
	struct receiver_round round;
	__u32 copied_max; /* bytes in a round trip */
};

static __always_inline __u32 autotuning_window(struct window_flow *flow, const struct window_ack *ack)
{
	struct autotuning *ca = window_own(flow, struct autotuning);

	if (ack->rtt_us)
		receiver_round_rtt(&ca->round, ack->rtt_us, rtt_weight);
	if (receiver_round_ends(&ca->round, ack))
		ca->copied_max = max(ca->copied_max, ca->round.copied_before);
	if (!ca->copied_max)
		return receiver_first_window(ack);
	return window_of(min((__u64)2 * ca->copied_max, (__u64)most * flow->mss));
}

WINDOW_CONTROL(autotuning_window)

char _license[] SEC("license") = "Dual BSD/GPL";
