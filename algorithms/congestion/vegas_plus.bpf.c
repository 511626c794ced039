/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Vegas+: Vegas behind the delayed window update.
 *
 * From the future work of Min Wang and Lingyun Yuan, "TCP Delayed Window Update Mechanism for Fighting the
 * Bufferbloat", KSII TIIS, 2016: the mechanism on another base. The file delayed_window_update.h describes the
 * mechanism, and vegas.bpf.c describes Vegas.
 *
 * Departures: the paper gives no parameters for this base, so they are those of Cubic+. The gate closes Vegas's window
 * update altogether, so during a hold Vegas does not shrink the window either.
 */
#define VEGAS_AS_BASE
#include "vegas.bpf.c"

#define DELAYED_WINDOW_BASE vegas
#include "delayed_window_control.h"

SEC(".struct_ops.link")
struct tcp_congestion_ops vegas_plus = {
	DELAYED_WINDOW_CALLBACKS,
	.name = "vegas_plus",
};

char _license[] SEC("license") = "Dual BSD/GPL";
