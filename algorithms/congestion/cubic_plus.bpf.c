/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Cubic+: CUBIC behind the delayed window update, which keeps it from filling the buffer.
 *
 * From Min Wang and Lingyun Yuan, "TCP Delayed Window Update Mechanism for Fighting the Bufferbloat", KSII TIIS, 2016.
 * delayed_window_update.h describes the mechanism and each open choice of the paper; CUBIC is cubic.bpf.c.
 *
 * Departures: while the window is held the curve's clock stands still, and after a serious cut the curve starts again
 * from the new window with W_max unchanged. The paper says neither; without the first, the first ACK after a hold would
 * move the window to where the curve has gone meanwhile.
 */
#define CUBIC_AS_BASE
#include "cubic.bpf.c"

#define DELAYED_WINDOW_CUT(sk) cubic_end_epoch(sk)
#define DELAYED_WINDOW_RELEASED(sk, jiffies) cubic_shift_epoch(sk, jiffies)
#define DELAYED_WINDOW_BASE cubic
#include "delayed_window_control.h"

SEC(".struct_ops.link")
struct tcp_congestion_ops cubic_plus = {
	DELAYED_WINDOW_CALLBACKS,
	.name = "cubic_plus",
};

char _license[] SEC("license") = "Dual BSD/GPL";
