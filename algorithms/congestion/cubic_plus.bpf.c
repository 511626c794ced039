/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Cubic+: CUBIC behind the delayed window update, which keeps it from filling the buffer.
 *
 * From Min Wang and Lingyun Yuan, "TCP Delayed Window Update Mechanism for Fighting the Bufferbloat", KSII TIIS, 2016.
 * delayed_window_update.h describes the mechanism and each open choice of the paper; CUBIC is cubic.bpf.c.
 *
 * Departures: the paper says nothing of CUBIC's curve. Here a hold of the window stops the curve's clock,
 * `shift_epoch_on_hold`. Otherwise the first ACK after a hold would move the window to where the curve has gone
 * meanwhile. After a serious cut the curve starts again from the new window with W_max unchanged, `cut_ends_epoch`
 * [A16]. Otherwise the window would soon return to the old curve.
 */
#define CUBIC_AS_BASE
#include "cubic.bpf.c"

PARAM(bool, cut_ends_epoch, true, 0, 1, "", "a serious cut starts CUBIC's curve again");

#define DELAYED_WINDOW_CUT(sk)               \
	do {                                 \
		if (cut_ends_epoch)          \
			cubic_end_epoch(sk); \
	} while (0)
#define DELAYED_WINDOW_RELEASED(sk, jiffies) cubic_shift_epoch(sk, jiffies)
#define DELAYED_WINDOW_BASE cubic
#include "delayed_window_control.h"

SEC(".struct_ops.link")
struct tcp_congestion_ops cubic_plus = {
	DELAYED_WINDOW_CALLBACKS,
	.name = "cubic_plus",
};

char _license[] SEC("license") = "Dual BSD/GPL";
