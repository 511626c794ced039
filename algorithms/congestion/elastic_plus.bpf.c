/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Elastic+: Elastic-TCP behind the delayed window update, which keeps it from filling the buffer.
 *
 * From the future work of Min Wang and Lingyun Yuan, "TCP Delayed Window Update Mechanism for Fighting the
 * Bufferbloat", KSII TIIS, 2016: the mechanism on another base. The file delayed_window_update.h describes the
 * mechanism, and elastic.bpf.c describes Elastic-TCP.
 *
 * Departures: the paper gives no parameters for this base, so they are those of Cubic+. Elastic-TCP has no clock that a
 * hold could stop, and goes on measuring RTTs during a hold.
 */
#define ELASTIC_AS_BASE
#include "elastic.bpf.c"

#define elastic_cwnd_event(sk, event)
#define DELAYED_WINDOW_BASE elastic
#include "delayed_window_control.h"

SEC(".struct_ops.link")
struct tcp_congestion_ops elastic_plus = {
	DELAYED_WINDOW_CALLBACKS,
	.name = "elastic_plus",
};

char _license[] SEC("license") = "Dual BSD/GPL";
